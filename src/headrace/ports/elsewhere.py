"""Places for what is thrown away: where a copy of a job reads and writes while it is certified, and never where the user's own rows are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Elsewhere:
    """A place of one source's or sink's own: a name that nothing else has (letters, digits and `_`), a folder that is not there yet, in
    one that is, the server that was given for the connector, if one was, and for a sink the mode it is written with.

    >>> Elsewhere("headrace_1f3a_out", Path("/tmp/1f3a/out"))
    Elsewhere(name='headrace_1f3a_out', folder=PosixPath('/tmp/1f3a/out'), server=None, mode='append')
    """

    name: str
    folder: Path
    server: str | None = None
    mode: str = "append"
