"""What comes into the cases: rows of two keys, more rows of these, rows of two more keys, then a time by which all has ended, and a late
row of the first key.

Each epoch is alike for each key, so that what is kept may be counted: an operator whose state grows with keys has twice as much of four.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.testing import Harness

START, SAME, MORE, PASSED, LATE = range(5)
"""The epochs."""

TICK = "tick"

Change = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """An operator in some form: the end of `stream` has its rows. `last` is how many its state has when the time has passed, where that is
    something else than what its fact says of growth. `monotone`: rows are said to be taken away, though none of these ever is.
    """

    op: str
    stream: hr.Stream
    last: int | None = None
    monotone: bool = False


@dataclass(frozen=True)
class Inputs:
    """Rows, rows of another kind, rows that come and go, and the first again without event time. None has a row that brings time on."""

    rows: hr.Stream
    other: hr.Stream
    changing: hr.Stream
    plain: hr.Stream
    tables: Path

    @classmethod
    def of_now(cls, h: Harness, tables: Path) -> Inputs:
        rows = h.source("rows", "k string, v int, ts timestamp")
        return cls(rows, rows, rows, rows.filter("v < 100").select("k", "v"), tables)

    @classmethod
    def of(cls, h: Harness, tables: Path) -> Inputs:
        def timed(name: str, schema: str, time: str, key: str, changes: bool = False) -> hr.Stream:
            return h.source(name, schema, watermark=(time, "1 minute"), changes=changes).filter(f"{key} <> '{TICK}'")

        return cls(
            timed("rows", "k string, v int, ts timestamp", "ts", "k"),
            timed("other", "c string, w int, at timestamp", "at", "c"),
            timed("changing", "k string, v int, ts timestamp", "ts", "k", changes=True),
            h.source("plain", "k string, v int"),
            tables,
        )


TIMES = {
    START: ("01:00", "02:00", "02:00", "04:00"),
    SAME: ("05:00", "11:00", "12:00", "13:00"),
    MORE: ("20:00", "21:00", "22:00", "23:00"),
}
"""Of the rows of a key, in an hour. They go on from epoch to epoch, and none is late."""

OTHER = {
    START: {"a": ("01:00", "02:00")},
    SAME: {"a": ("03:30", "12:00"), "b": ("03:30", "12:00")},
    MORE: {"c": ("20:00", "22:00"), "d": ("20:00", "22:00")},
}
"""Those of the other rows: what the rows of the key b meet comes later than they."""


def commits(again: bool = False) -> Iterator[dict[str, list[Change]]]:
    """What comes in each epoch; `again` in another order."""
    for epoch, keys in ((START, "ab"), (SAME, "ab"), (MORE, "cd")):
        rows = [(key, 10 * epoch + n, _at(time)) for key in keys for n, time in enumerate(TIMES[epoch])]
        other = [(key, 10 * epoch + n, _at(time)) for key, times in OTHER[epoch].items() for n, time in enumerate(times)]
        # one of the rows of the first epoch goes again
        gone = [(key, 1, _at(TIMES[START][1])) for key in keys] if epoch == SAME else []
        come = {
            "rows": [("+", row) for row in rows],
            "other": [("+", row) for row in other],
            "changing": [*(("+", row) for row in rows), *(("-", row) for row in gone)],
            "plain": [("+", (key, v)) for key, v, _ in rows],
        }
        yield {name: changes[::-1] if again else changes for name, changes in come.items()}
    yield {name: [("+", (TICK, 0, "2026-01-03 00:00:00"))] for name in ("rows", "other", "changing")}
    late, gone = ("a", 100, _at("03:00")), [("b", 0, _at(TIMES[START][0]))]
    yield {
        "rows": [("+", late)],
        "other": [("+", late)],
        "changing": [("+", late), *(("-", row) for row in gone)],
        "plain": [("+", late[:2])],
    }


def many() -> dict[str, list[Change]]:
    """Many rows of one key, and as many others of another, all within a minute: the watermark passes none, and bags have several pages."""
    begin = datetime(2026, 1, 4, tzinfo=UTC)
    rows = [("m", n, begin + n * timedelta(minutes=10)) for n in range(300)]
    return {
        "rows": [("+", row) for row in rows],
        "other": [("+", ("n", -1 - n, begin + n * timedelta(milliseconds=100))) for n in range(300)],
        "changing": [("+", row) for row in rows],
        "plain": [("+", row[:2]) for row in rows],
    }


def commits_of_now() -> Iterator[dict[str, list[Change]]]:
    """The same for what goes by the time of the machine: rows of now, and an older one when more than a day has passed."""
    now = datetime.now(UTC)
    for epoch, keys in ((START, "ab"), (SAME, "ab"), (MORE, "cd")):
        yield {"rows": [("+", (key, 10 * epoch + n, now - timedelta(minutes=n))) for key in keys for n in range(4)]}
    yield {}
    yield {"rows": [("+", ("a", 100, now))]}


def _at(time: str) -> str:
    return f"2026-01-01 00:{time}"
