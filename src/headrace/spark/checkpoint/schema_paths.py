"""The absolute paths of state schemas in Spark's metadata of operators, for a checkpoint that was moved."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.durable.atomic import replace


def mend(query: Path, to: Path | None = None) -> None:
    """Update the paths of state schemas in the metadata of a query's operators, to the current folder of the query or to its future one.

    Spark finds everything else in its checkpoint from there.
    """
    for file in query.glob("state/*/_metadata/v2/*"):
        if not file.name.isdigit():
            continue
        version, _, text = file.read_text(encoding="utf-8").partition("\n")
        metadata = json.loads(text)
        for store in metadata["stateStoreInfo"]:
            store["stateSchemaFilePaths"] = [_below(to or query, path) for path in store["stateSchemaFilePaths"]]
        if metadata != json.loads(text):
            # another file manager than ours may have written a checksum
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
            replace(file, f"{version}\n{json.dumps(metadata, separators=(',', ':'))}")


@contextmanager
def readable(query: Path) -> Iterator[Path]:
    """Give a folder that shows a query with the right paths, wherever it was written: links, and metadata of its own."""
    with tempfile.TemporaryDirectory(prefix="headrace-state-") as place:
        shown = Path(place, query.name)
        _link(query, shown)
        mend(shown)
        yield shown


def _link(folder: Path, to: Path) -> None:
    """Make a folder with links to all that another has, but with copies of metadata."""
    to.mkdir()
    for path in folder.iterdir():
        if path.name == "_metadata":
            shutil.copytree(path, to / path.name)
        elif path.is_dir() and (path.name == "state" or path.parent.name == "state"):
            _link(path, to / path.name)
        else:
            (to / path.name).symlink_to(path, target_is_directory=path.is_dir())


def _below(query: Path, path: str) -> str:
    """Return the same file below this folder."""
    _, mark, inside = path.rpartition("/state/")
    return f"file:{query}{mark}{inside}" if mark else path
