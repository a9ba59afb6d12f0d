"""hr.committed_paths: the files of a files sink's result, wherever its folder is."""

from __future__ import annotations

import os
from typing import Any

from headrace.durable.manifest import committed_files
from headrace.ports import sink_class


def committed_paths(folder: str | os.PathLike[str]) -> list[str]:
    """Lists the data files of all complete epochs in the folder of a files sink, as strings. The folder may be a URI such as
    `s3a://bucket/out`.

    For a local folder it returns the same files as `hr.committed_files`. A URI other than `file://` starts the session.

    Args:
        folder: The folder or URI that the sink writes.

    Raises:
        ConnectorError: `OUTPUT_MISSING` if a manifest other than the newest is missing; `STORE_FAILED` if the object store cannot be read;
            `UNKNOWN_FILE_SYSTEM` if Spark does not know the scheme of the URI.
        CheckpointError: `MANIFEST_FORMAT` for a manifest of a later version, `CHECKPOINT_UNREADABLE` for a damaged one.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
        >>> _ = hr.job("written", charges.write.files("written", format="json")).run(progress=False)
        >>> hr.committed_paths("written")
        ['written/part-00000000000000000000-00000.json']
    """
    place = os.fspath(folder)
    if "://" not in place or place.startswith("file://"):
        return [str(path) for path in committed_files(place.removeprefix("file://"))]
    files: Any = sink_class("files")
    paths: list[str] = files.committed(place)
    return paths
