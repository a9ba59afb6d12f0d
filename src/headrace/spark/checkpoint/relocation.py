"""A checkpoint in another place than it was written in: Spark's metadata of operators names files by where they lay then."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.durable.atomic import replace


def mend(query: Path, to: Path | None = None) -> None:
    """Have the metadata of a query's operators name the schemas of their state in the folder of the query as it is now, or as it will be.

    All else in Spark's checkpoint is found from there.
    """
    for file in query.glob("state/*/_metadata/v2/*"):
        if not file.name.isdigit():
            continue
        version, _, text = file.read_text(encoding="utf-8").partition("\n")
        told = json.loads(text)
        for store in told["stateStoreInfo"]:
            store["stateSchemaFilePaths"] = [_below(to or query, path) for path in store["stateSchemaFilePaths"]]
        if told != json.loads(text):
            # another file manager than ours may have written a checksum
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
            replace(file, f"{version}\n{json.dumps(told, separators=(',', ':'))}")


def _below(query: Path, path: str) -> str:
    """The same file below this folder."""
    _, mark, inside = path.rpartition("/state/")
    return f"file:{query}{mark}{inside}" if mark else path
