"""Places in the user's code and files, for nodes and errors."""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PACKAGE = str(Path(__file__).parent) + "/"
_PASSING = re.compile(r"(contextlib|py4j|pyspark)(\.|$)")
"""Modules that call this package on behalf of the user: for its context managers, and for operators of PySpark with its operands."""
_WRITTEN_IN = (".py", ".ipynb", ".sql", ".yaml", ".yml")
DEMO = PACKAGE + "demo/"
_COMMANDS = PACKAGE + "cli/"


@dataclass(frozen=True)
class Site:
    """A place in the user's code. A place in a file that is read and not run, such as YAML, also has a column, counted from 1.

    >>> str(Site("job.py", 12, 'charges.filter("amount > 3")')), str(Site("job.yaml", 12, "filter: amount > 3", 9))
    ('job.py:12', 'job.yaml:12:9')
    """

    file: str
    line: int
    text: str = ""
    column: int = 0

    def __str__(self) -> str:
        return f"{shown_path(self.file)}:{self.line}" + (f":{self.column}" if self.column else "")

    @classmethod
    def parse(cls, text: str) -> Site:
        """Parse `str(site)`; the line's text is read again if the file still exists."""
        match = re.fullmatch(r"(.+?):(\d+)(?::(\d+))?", text)
        if match is None:
            return cls(text, 0)
        file, line, column = match[1], int(match[2]), int(match[3] or 0)
        # A text may name any file, even an endless one, so only files of jobs are read, and those that Python has read already.
        if file not in linecache.cache and (Path(file).suffix not in _WRITTEN_IN or not os.path.isfile(file)):
            return cls(file, line, "", column)
        linecache.checkcache(file)  # the file may have changed since it was read
        return cls(file, line, linecache.getline(file, line).strip(), column)


def ours(file: str) -> bool:
    """Return whether a file belongs to this package. The demo does not count, because its programs are like a user's."""
    return file.startswith(PACKAGE) and not file.startswith(DEMO)


Inside = Callable[[int, int], Site]
_placed: ContextVar[tuple[Site, Inside | None] | None] = ContextVar("headrace_place", default=None)


@contextlib.contextmanager
def standing(place: Site, inside: Inside | None = None) -> Iterator[None]:
    """Give all that is built inside this place in a file, in place of the line of Python that reads the file.

    `inside` returns the place of a line and column, counted from 1, of the text at this place.
    """
    token = _placed.set((place, inside))
    try:
        yield
    except Exception as error:
        if getattr(error, "site", place) is None:
            error.site = place  # type: ignore[attr-defined]  # errors of headrace have a site
        raise
    finally:
        _placed.reset(token)


def here(line: int | None = None, column: int | None = None) -> Site | None:
    """Return the user's place: the innermost line outside this package and PySpark, or the place that `standing` has set.

    It is None if a command of `headrace` calls, without any line of the user's. `line` and `column` are those in the text with the error,
    such as a query.
    """
    placed = _placed.get()
    if placed is not None:
        place, inside = placed
        return place if inside is None or line is None or column is None else inside(line, column)
    frame = sys._getframe(1)
    while frame is not None and (ours(frame.f_code.co_filename) or _PASSING.match(frame.f_globals.get("__name__") or "")):
        if frame.f_back is None or frame.f_code.co_filename.startswith(_COMMANDS):
            return None
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    return Site(file, line, linecache.getline(file, line, frame.f_globals).strip())


def shown_path(file: str) -> str:
    """Return a path for people: relative to the current folder if it lies below; a notebook's cell is `cell`."""
    if "ipykernel_" in file:
        return "cell"
    if file.startswith("<") or not os.path.isabs(file):
        return file
    try:
        return _below(os.getcwd(), file)
    except OSError:
        return file


@lru_cache
def _below(folder: str, file: str) -> str:
    """Return a path relative to a folder if it lies below. A plan has thousands of places in a few files."""
    try:
        return str(Path(file).relative_to(folder))
    except ValueError:
        return file
