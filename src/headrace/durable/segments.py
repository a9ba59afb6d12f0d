"""Merged manifests: the number of files grows only with the logarithm of the number of epochs.

    00000000000000000207.json                                the manifest of epoch 207
    00000000000000000000-00000000000000000099.1.jsonl        a hundred manifests, one a line
    00000000000000000000-00000000000000009999.2.jsonl        a hundred of those
    withdrawing-00000000000000000024-5f1c77ab                the epochs from 24 on are withdrawn and are being moved aside

At least the newest hundred manifests stay files of their own. A segment is written before its parts are deleted, and a part within a
segment is ignored, so a crash between the two changes nothing for a reader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headrace.durable.atomic import replace
from headrace.durable.sums import text_in, text_of, unreadable, value_of
from headrace.errors import CheckpointError, ConnectorError

FORMAT = 3
"""The format of manifests. In format 1 they have no identity, and empty epochs have one too. In format 2 they do not
name the previous one.
"""

REPLACING = 4
"""The format of a manifest whose files are all of the result: earlier versions, which would read the files before it too, refuse it."""

FAN = 100
_NAME = re.compile(r"(\d{20})(?:\.json|-(\d{20})\.(\d+)\.jsonl)")
_END = re.compile(r"withdrawing-(\d{20})-(\w+)")


@dataclass(frozen=True, order=True)
class Span:
    """A file with the manifests of the epochs from `first` to `last`. Level 0 is a single manifest."""

    first: int
    last: int
    level: int

    @property
    def name(self) -> str:
        """
        >>> Span(0, 99, 1).name
        '00000000000000000000-00000000000000000099.1.jsonl'
        """
        return f"{self.first:020}.json" if self.level == 0 else f"{self.first:020}-{self.last:020}.{self.level}.jsonl"


def spans(names: Iterable[str]) -> list[Span]:
    """Return the files of manifests among these names, in order, without those that another contains.

    >>> [span.level for span in spans([Span(0, 0, 0).name, Span(7, 7, 0).name, Span(0, 5, 1).name, "owner.json"])]
    [1, 0]
    """
    kept: list[Span] = []
    for span in sorted(_all(names), key=lambda one: (one.first, -one.level)):
        if not kept or kept[-1].last < span.last:
            kept.append(span)
    return kept


def due(there: Sequence[Span]) -> Sequence[Span]:
    """Return the files to merge next; none while each level has few."""
    for level in range(1 + max((span.level for span in there), default=-1)):
        alike = [span for span in there if span.level == level]
        if len(alike) >= (FAN if level else 2 * FAN):
            return alike[:FAN]
    return ()


@dataclass(frozen=True)
class End:
    """The end of the valid manifests: the epoch `first` and all later ones are being moved aside. `tag` tells it from other ends."""

    first: int
    tag: str

    @property
    def name(self) -> str:
        return f"withdrawing-{self.first:020}-{self.tag}"


class Segments:
    """The manifests in a folder, single or merged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # So many that the first call of `compact` lists the folder.
        self._alone = 2 * FAN

    def last(self) -> dict[str, Any] | None:
        """Return the manifest of the last epoch that has one."""
        there, end = self._there()
        if not there:
            return None
        newest = there[-1]
        return [*self.entries(newest.last - 1 if end is None or newest.last < end.first else newest.first - 1)][-1]

    def entries(self, after: int = -1, *, withdrawn: bool = False, linked: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the manifests of the epochs after `after`, in order; a writer may merge them meanwhile. `withdrawn` includes those that are
        being moved aside. `linked` raises OUTPUT_MISSING for one that is gone.
        """
        there, end = self._there(withdrawn)
        broken = -1
        while there:
            span = there.pop(0)
            if span.last <= after:
                continue
            try:
                read = self.read(span)
            except FileNotFoundError:
                there, end = self._there(withdrawn)
                continue
            lacking = unlinked(read, after) if linked else None
            if lacking is not None and lacking["epoch"] != broken:
                # A listing made while a writer adds or merges manifests may lack one: list again.
                broken = lacking["epoch"]
                there, end = self._there(withdrawn)
                continue
            if lacking is not None:
                raise link_gone(self._folder, lacking)
            yield from (entry for entry in read if entry["epoch"] > after and (end is None or entry["epoch"] < end.first))
            after = span.last

    def check_newest(self) -> None:
        """Raise OUTPUT_MISSING if a single manifest is gone, or the merged file before them."""
        there, _ = self._there()
        whole = [span.last for span in there if span.level]
        for _ in self.entries(max(whole, default=-1), linked=True):
            pass

    def read(self, span: Span) -> list[dict[str, Any]]:
        """Read the manifests in a file."""
        text = text_in(self._folder / span.name)
        read = [self._entry(span, line) for line in (text.splitlines() if span.level else [text])]
        if not read or (read[0]["epoch"], read[-1]["epoch"]) != (span.first, span.last):
            raise unreadable(self._folder / span.name, "it does not hold the manifests of the epochs in its name")
        return read

    def end(self) -> End | None:
        """Return the end of the valid manifests, while later ones are being moved aside."""
        return _end(self._names())

    def cut(self, end: End) -> None:
        """Remove the manifests from an end on."""
        for span in sorted(_all(self._names()), reverse=True):
            if span.last < end.first:
                continue
            kept = [entry for entry in self.read(span) if entry["epoch"] < end.first]
            if kept:
                short = Span(span.first, kept[-1]["epoch"], span.level)
                replace(self._folder / short.name, "".join(text_of(entry) + "\n" for entry in kept))
            (self._folder / span.name).unlink()

    def before(self, epoch: int) -> list[Span]:
        """Return the files of manifests of earlier epochs, the newest first."""
        return sorted((span for span in _all(self._names()) if span.last < epoch), reverse=True)

    def remove(self, span: Span) -> None:
        (self._folder / span.name).unlink(missing_ok=True)

    def compact(self) -> None:
        """Merge manifests if there are many; called once for each new one."""
        self._alone += 1
        if self._alone < 2 * FAN:
            return
        names = self._names()
        there = spans(names)
        # Left by a crash, or by a process that was replaced.
        for span in set(_all(names)).difference(there):
            (self._folder / span.name).unlink(missing_ok=True)
        while parts := due(there):
            try:
                text = "".join(map(self._lines, parts))
            except FileNotFoundError:
                # Another process is merging them.
                return
            whole = Span(parts[0].first, parts[-1].last, parts[0].level + 1)
            replace(self._folder / whole.name, text)
            for part in parts:
                (self._folder / part.name).unlink(missing_ok=True)
            there = sorted([whole, *(span for span in there if span not in parts)])
        self._alone = sum(1 for span in there if span.level == 0)

    def _there(self, withdrawn: bool = False) -> tuple[list[Span], End | None]:
        names = self._names()
        end = None if withdrawn else _end(names)
        return [span for span in spans(names) if end is None or span.first < end.first], end

    def _names(self) -> list[str]:
        return os.listdir(self._folder) if self._folder.is_dir() else []

    def _lines(self, span: Span) -> str:
        file = self._folder / span.name
        text = text_in(file)
        if span.level:
            return text
        # Manifests of format 1 have no time: take that of the file.
        entry = {"at": moment(file.stat().st_mtime), **self._entry(span, text)}
        return text_of(entry) + "\n"

    def _entry(self, span: Span, text: str) -> dict[str, Any]:
        file = self._folder / span.name
        entry = of_this_format(value_of(text, file), file)
        if not entry.keys() >= {"epoch", "files"}:
            raise unreadable(file, "it is not a manifest")
        return entry


def current(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the manifests that count: the last one that replaces all rows before it, and those after it.

    >>> current([{"epoch": 2}, {"epoch": 5, "whole": True}, {"epoch": 9}])
    [{'epoch': 5, 'whole': True}, {'epoch': 9}]
    """
    counting: list[dict[str, Any]] = []
    for entry in entries:
        if entry.get("whole"):
            counting.clear()
        counting.append(entry)
    return counting


def unlinked(entries: Iterable[dict[str, Any]], last: int) -> dict[str, Any] | None:
    """Return the first manifest whose predecessor, named by its `after`, is missing. `last` is the epoch before the first one. Manifests of
    earlier versions name no predecessor.

    >>> unlinked([{"epoch": 2, "after": -1}, {"epoch": 5, "after": 2}, {"epoch": 9, "after": 7}], -1)
    {'epoch': 9, 'after': 7}
    """
    for entry in entries:
        if entry.get("after", -1) > last:
            return entry
        last = max(last, entry["epoch"])
    return None


def link_gone(place: object, entry: dict[str, Any]) -> ConnectorError:
    """Return the error for a missing manifest that a later one names."""
    return ConnectorError(
        "OUTPUT_MISSING",
        f"{place} lacks the manifest of epoch {entry['after']}, after which epoch {entry['epoch']} was written",
        hint="restore the manifest, or start the job that wrote it with fresh=True to write the output again",
    )


def of_this_format(entry: dict[str, Any], place: object) -> dict[str, Any]:
    """Check that this version reads an entry's format. Raises MANIFEST_FORMAT."""
    if entry.get("format") not in (1, 2, FORMAT, REPLACING):
        raise CheckpointError(
            "MANIFEST_FORMAT",
            f"{place} has format {entry.get('format')}; this version of headrace reads formats 1 to {REPLACING}",
            hint="use the version of headrace that wrote it",
        )
    return entry


def moment(seconds: float) -> str:
    """Format a time as manifests have it.

    >>> moment(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _all(names: Iterable[str]) -> list[Span]:
    matches = (_NAME.fullmatch(name) for name in names)
    return [Span(int(match[1]), int(match[2] or match[1]), int(match[3] or 0)) for match in matches if match]


def _end(names: Iterable[str]) -> End | None:
    ends = [End(int(match[1]), match[2]) for match in map(_END.fullmatch, names) if match]
    return min(ends, key=lambda end: end.first, default=None)
