"""The number of a line in a file, for people: a source knows its byte."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse

from headrace.ops import Source

_WITH_LINES = ("csv", "json", "text")
_BLOCK = 1 << 20


def line_of(source: Source, file: str | None, position: int | None) -> int | None:
    """Return the number of the line at a byte of a file, from 1 on; None if the file is not here, or has no lines."""
    if file is None or position is None or source.connector != "files" or source.options.get("format") not in _WITH_LINES:
        return None
    place = urlparse(file)
    path = Path(unquote(place.path))
    if place.scheme not in ("", "file") or path.suffix in (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate") or not path.is_file():
        return None
    lines, left = 1, position
    with path.open("rb") as content:
        while left > 0 and (block := content.read(min(_BLOCK, left))):
            lines += block.count(b"\n")
            left -= len(block)
    return lines
