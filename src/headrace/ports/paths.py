"""Paths and patterns as a user writes them, on this file system, and as Hadoop takes them.

A part with `* ? [ ] { }` begins a pattern, unless a file or folder of exactly that name exists.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

SIGNS = re.compile(r"[*?\[\]{}]")


def local(path: str) -> Path | None:
    """The absolute path on this file system; None for a store that is reached by a URI.

    >>> local("file:///data/a%20b"), local("s3://bucket/in")
    (PosixPath('/data/a b'), None)
    """
    parts = urlsplit(path)
    if parts.scheme == "file":
        return Path(os.path.abspath(url2pathname(parts.path)))
    if parts.scheme and "://" in path:
        return None
    return Path(os.path.abspath(Path(path).expanduser()))


def last(path: Any) -> str:
    """The last part of a path or an address.

    >>> last("out/best/"), last("s3a://bucket/alerts"), last(".")
    ('best', 'alerts', '')
    """
    return str(path).replace("\\", "/").rstrip("/").rpartition("/")[2].strip(".")


def literal(path: str | os.PathLike[str]) -> str:
    """The text that Hadoop's `Path` parses as this exact path: unlike in a URI, no character is an escape.

    >>> literal("/data/a b%20")
    'file:///data/a b%20'
    """
    return "file://" + os.path.abspath(path)


def escaped(path: str | os.PathLike[str]) -> str:
    """The same for Spark's readers, which parse every path as a pattern. Their option against that makes them read such a file several
    times.

    >>> print(escaped("/data/[1]"))
    file:///data/\\[1\\]
    """
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", literal(path))


def split(path: Path) -> tuple[Path, str | None]:
    """The leading part of an absolute path without patterns, and the pattern after it, if any.

    >>> split(Path("/tmp/*.json")), split(Path("/tmp/a/b"))
    ((PosixPath('/tmp'), '*.json'), (PosixPath('/tmp/a/b'), None))
    """
    name = Path(path.anchor)
    parts = path.parts[1:]
    for number, part in enumerate(parts):
        if SIGNS.search(part) and not (name / part).exists():
            return name, "/".join(parts[number:])
        name /= part
    return name, None


def for_hadoop(path: str) -> tuple[str, bool]:
    """The path as Hadoop takes it, and whether it is a pattern.

    >>> for_hadoop("/tmp/*.json"), for_hadoop("s3://bucket/*.json"), for_hadoop("/tmp")
    (('file:///tmp/*.json', True), ('s3://bucket/*.json', True), ('file:///tmp', False))
    """
    place = local(path)
    if place is None:
        return path, bool(SIGNS.search(path))
    return (literal(place), False) if split(place)[1] is None else (for_reader(path), True)


def for_reader(path: str) -> str:
    """The path or pattern as Spark's readers take it, with literal parts escaped."""
    place = local(path)
    if place is None:
        return path
    name, pattern = split(place)
    return escaped(name) if pattern is None else f"{escaped(name)}/{pattern}"


def listed(path: str, options: Mapping[str, str]) -> list[Path] | None:
    """The files that Spark reads from a path or pattern with these reader options; None for a store that is reached by a URI."""
    place = local(path)
    return None if place is None else _listed(place, options)[0]


def passed_over(path: str, options: Mapping[str, str]) -> list[Path]:
    """The files in subfolders of a path or pattern that Spark does not read; empty for a store that is reached by a URI."""
    place = local(path)
    return [] if place is None else _listed(place, options)[1]


def ignored(folder: Path) -> list[str]:
    """The names of files in a folder that Spark ignores because of how they begin, without those that Hadoop writes beside data."""
    names = (file.name for file in folder.iterdir() if file.name.startswith((".", "_")) and file.is_file())
    return sorted(name for name in names if _hidden(name) and not (name.startswith("_SUCCESS") or name.endswith(".crc")))


def reads(path: str, options: Mapping[str, str], file: PurePosixPath) -> bool:
    """Whether Spark would read a file from a path or pattern with these reader options. Links are resolved in `file`.

    >>> out = PurePosixPath("/data/out/part-0.json")
    >>> reads("/data/out", {}, out), reads("/data/*", {}, out), reads("/data/*/*.json", {}, out), reads("/data", {}, out)
    (True, True, True, False)
    """
    place = local(path)
    name, pattern = _split_uri(path) if place is None else split(place)
    name = name.resolve() if isinstance(name, Path) else name
    if not file.is_relative_to(name) or not _filtered(file.name, options):
        return False
    parts = file.relative_to(name).parts
    for one in [()] if pattern is None else [tuple(one.split("/")) for one in _alternatives(pattern)]:
        below = parts[len(one) :]
        if len(one) <= len(parts) and all(map(fnmatch.fnmatchcase, parts, one)) and not any(map(_hidden, below)):
            deep = _recursive(options) or any("=" in folder for folder in below[:-1])
            if deep or len(below) <= 1:
                return True
    return False


def _split_uri(path: str) -> tuple[PurePosixPath, str | None]:
    """Like `split`, for a path in a store."""
    parts = PurePosixPath(path).parts
    first = next((number for number, part in enumerate(parts) if SIGNS.search(part)), len(parts))
    return PurePosixPath(*parts[:first]), "/".join(parts[first:]) or None


def _lower(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _filtered(name: str, options: Mapping[str, str]) -> bool:
    """Whether the reader's filter accepts a file's name."""
    return any(fnmatch.fnmatchcase(name, one) for one in _alternatives(_lower(options).get("pathglobfilter", "*")))


def _recursive(options: Mapping[str, str]) -> bool:
    return _lower(options).get("recursivefilelookup", "").lower() == "true"


def _listed(place: Path, options: Mapping[str, str]) -> tuple[list[Path], list[Path]]:
    """The files that are read, and those in subfolders that are not. Spark reads subfolders if an option says so, or if a folder is named
    after a column and its value.
    """
    name, pattern = split(place)
    each = [] if pattern is None else _alternatives(pattern)
    # Hadoop's patterns also match folders whose names begin with a dot
    fitting = [path for one in each for path in sorted(glob.iglob(one, root_dir=name, include_hidden=True))]
    folders_by_file: dict[Path, tuple[str, ...]] = {}  # with the folders between the root and the file
    for root in [name] if pattern is None else [name / one for one in fitting]:
        for file in [root] if root.is_file() else sorted(root.rglob("*")):
            parts = file.relative_to(root).parts
            if file.is_file() and not any(_hidden(part) for part in (*parts, file.name)):
                folders_by_file[file] = parts[:-1]
    deep = _recursive(options) or any("=" in folder for folders in folders_by_file.values() for folder in folders)
    fits = [file for file in folders_by_file if _filtered(file.name, options)]
    return [file for file in fits if deep or not folders_by_file[file]], [file for file in fits if folders_by_file[file] and not deep]


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _alternatives(pattern: str) -> list[str]:
    """The patterns that a pattern with alternatives in braces stands for in Hadoop."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        return [pattern]
    start, end = braces.span()
    return [one for part in braces[1].split(",") for one in _alternatives(pattern[:start] + part + pattern[end:])]


def unwritable(folder: Path) -> str | None:
    """The reason why a folder of this file system cannot be created or written to, in the system's words; None if it can.

    >>> unwritable(Path(__file__) / "out")
    'Not a directory'
    """
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        return os.strerror(errno.ENOTDIR)
    return None if os.access(there, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)
