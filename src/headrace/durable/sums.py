"""JSON files with a checksum inside: reading detects a file that was cut, emptied or changed by a single bit."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError

CURE = "restore the whole checkpoint from a copy made while no job was running on it, or start over with fresh=True"
_SUM = "crc32"


def text_of(value: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return the text of a file, on one line unless `indent` is given.

    >>> text_of({"epoch": 3})
    '{"epoch":3,"crc32":"e44cf0fb"}'
    """
    separators = (",", ":") if indent is None else None
    return json.dumps({**value, _SUM: _sum(value)}, indent=indent, separators=separators)


def value_of(text: str, file: Path) -> dict[str, Any]:
    """Parse the text of a file. Raises CHECKPOINT_UNREADABLE if it is no JSON object or its checksum is wrong. A text without a checksum,
    by an earlier version, is accepted.

    >>> value_of('{"epoch": 3, "crc32": "e44cf0fb"}', Path("7.json")), value_of('{"epoch": 4}', Path("7.json"))
    ({'epoch': 3}, {'epoch': 4})
    """
    try:
        value = json.loads(text)
    except (RecursionError, ValueError) as problem:
        raise unreadable(file, str(problem)) from None
    if not isinstance(value, dict):
        raise unreadable(file, "it is not a JSON object")
    written = value.pop(_SUM, None)
    damaged = any(map(_is_damaged_sum, value)) if written is None else written != _sum(value)
    if damaged:
        raise unreadable(file, "its checksum is not that of what was written")
    return value


def read(file: Path) -> dict[str, Any] | None:
    """Read a file; None if it does not exist."""
    try:
        return value_of(text_in(file), file)
    except FileNotFoundError:
        return None


def text_in(file: Path) -> str:
    """Read the text of a file. Raises CHECKPOINT_UNREADABLE if it is not UTF-8."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise unreadable(file, str(problem)) from None


def unreadable(file: Path, why: str) -> HeadraceError:
    """Return the error for a damaged file of a checkpoint, or a damaged manifest."""
    return HeadraceError(
        "CHECKPOINT_UNREADABLE",
        f"{file} cannot be read: {why}",
        hint=CURE,
    )


def _is_damaged_sum(name: str) -> bool:
    """Return whether a name is that of the checksum with one character changed: a damaged name hides the checksum."""
    return len(name) == len(_SUM) and sum(map(str.__ne__, name, _SUM)) == 1


def _sum(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x}"
