"""hr.committed_paths: the committed files of a files sink, in any store."""

from __future__ import annotations

import os
from typing import Any

from headrace.durable.manifest import committed_files
from headrace.ports import sink_class


def committed_paths(folder: str | os.PathLike[str]) -> list[str]:
    """What `hr.committed_files` lists as texts, also for a folder in a store that is reached by a URI, `s3a://bucket/out`; that starts the
    session.

    >>> import tempfile
    >>> committed_paths(tempfile.mkdtemp())
    []
    """
    place = os.fspath(folder)
    if "://" not in place or place.startswith("file://"):
        return [str(path) for path in committed_files(place.removeprefix("file://"))]
    files: Any = sink_class("files")
    paths: list[str] = files.committed(place)
    return paths
