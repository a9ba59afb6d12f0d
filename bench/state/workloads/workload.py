"""A program by which contenders are compared: its input, its output, and the processors for headrace and PySpark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import headrace as hr

END = "2100-01-01"
"""The time of one row after all others, by which Spark's watermark passes their timers. All contenders skip the row."""


@dataclass(frozen=True)
class Input:
    """Columns as (type, SQL text) over `id`, which counts all rows, and `k` and `j`: row j of key k.

    A key's rows ascend in time, and also in the column after the key: with `order="arrival"` and an exactly-once sink, headrace handles the
    rows of a key and an epoch in the order of their columns. So all contenders have the same rows in the same order. (The entries of a map
    are independent, so there the column after the item ascends.)
    """

    columns: Mapping[str, tuple[str, str]]
    key: str = "cast(id % {keys} AS int)"

    def schema(self, *, timed: bool) -> str:
        return ", ".join(f"{name} {type}" for name, (type, _) in self.columns.items() if timed or name != "ts")


@dataclass(frozen=True)
class Workload:
    """`sums` are the columns of the output whose sums do not depend on the order in which the inputs are read.

    `keys` is the number of keys for the requested events and keys; `timed` means timers in event time.
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
    """Return the processor for pandas frames made from one for rows: it takes rows from frames and returns them as one frame."""

    class InFrames(processor):  # type: ignore[misc]
        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            each = chain.from_iterable(frame.itertuples(index=False) for frame in rows)
            yield from framed(super().handleInputRows(key, each, timerValues))

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
            yield from framed(super().handleExpiredTimer(key, timerValues, expiredTimerInfo))

    return InFrames


def framed(rows: Iterator[Any]) -> Iterator[Any]:
    import pandas

    listed = list(rows)
    if listed:
        yield pandas.DataFrame(listed, columns=list(listed[0].__fields__))
