"""A program that contenders are compared by: what comes in, what goes out, and the processors for headrace and PySpark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import headrace as hr

END = "2100-01-01"
"""Time of one row after all others: Spark's watermark passes their timers by it. All contenders leave the row out."""


@dataclass(frozen=True)
class Input:
    """Columns as (type, SQL text) over `id`, which counts all rows, and `k` and `j`: row j of key k.

    A key's rows go up in time, and in the column after the key, too: with `order="arrival"` and a sink that is exactly once headrace takes
    the rows of a key and an epoch in the order of their columns. All contenders then have the same rows in the same order. (A map's entries
    are apart from each other, so there the column after the item goes up.)
    """

    columns: Mapping[str, tuple[str, str]]
    key: str = "cast(id % {keys} AS int)"

    def schema(self, *, timed: bool) -> str:
        return ", ".join(f"{name} {type}" for name, (type, _) in self.columns.items() if timed or name != "ts")


@dataclass(frozen=True)
class Workload:
    """`sums` are the columns of the output whose sums do not depend on the order in which different inputs come.

    `keys` gives the number of keys for the events and keys asked for; `timed` says that there are timers in event time.
    """

    name: str
    title: str
    inputs: Mapping[str, Input]
    output: Mapping[str, str]
    sums: tuple[str, ...]
    program: type[hr.Program]
    row: type[Any]
    pandas: type[Any]
    timed: bool = False
    keys: Callable[[int, int], int] = lambda events, keys: keys

    @property
    def output_schema(self) -> str:
        return ", ".join(f"{name} {type}" for name, type in self.output.items())

    @property
    def sum_texts(self) -> tuple[str, ...]:
        """The columns of `sums` as SQL texts of numbers."""
        return tuple(f"unix_micros({name})" if self.output[name] == "timestamp" else name for name in self.sums)

    def reads_time(self, order: str) -> bool:
        return self.timed or order == "time"


def in_frames(processor: type[Any]) -> type[Any]:
    """The processor of rows as one of pandas frames: its rows come from frames and go out as one frame."""

    class InFrames(processor):  # type: ignore[misc]
        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            each = chain.from_iterable(frame.itertuples(index=False) for frame in rows)
            yield from framed(super().handleInputRows(key, each, timerValues))

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
            yield from framed(super().handleExpiredTimer(key, timerValues, expiredTimerInfo))

    return InFrames


def framed(rows: Iterator[Any]) -> Iterator[Any]:
    import pandas

    found = list(rows)
    if found:
        yield pandas.DataFrame(found, columns=list(found[0].__fields__))
