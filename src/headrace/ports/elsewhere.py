"""Temporary places: where a copy of a job reads and writes during certification, never where the user's own rows are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Elsewhere:
    """A place for one source or sink alone: a unique name (letters, digits and `_`), a folder that does not exist yet in one that does, the
    server given for the connector, if any, and for a sink the mode it is written with.

    >>> Elsewhere("headrace_1f3a_out", Path("/tmp/1f3a/out"))
    Elsewhere(name='headrace_1f3a_out', folder=PosixPath('/tmp/1f3a/out'), server=None, mode='append')
    """

    name: str
    folder: Path
    server: str | None = None
    mode: str = "append"
