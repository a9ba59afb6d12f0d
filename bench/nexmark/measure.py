"""Measures a query with both contenders, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import Any

from bench.nexmark import memory, ours
from bench.nexmark.events import Events
from bench.nexmark.flink import Flink, Refused
from bench.nexmark.queries import OF_THE_CLOCK, Query
from bench.state.measure import in_turns, median

HEADRACE, FLINK, DISORDERED = "headrace", "Flink SQL", "headrace, disordered"


@dataclass
class Measured:
    """Seconds of each round, peak memory in MiB, and why a contender is absent."""

    query: Query
    rows: int | None = None
    samples: Mapping[str, list[float]] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times as fast as Flink headrace is."""
        return self._times(FLINK, HEADRACE)

    @property
    def disorder(self) -> float | None:
        """How many times as long headrace takes with late events."""
        return self._times(DISORDERED, HEADRACE)

    def _times(self, one: str, other: str) -> float | None:
        if not {one, other} <= set(self.samples):
            return None
        return median(self.samples[one]) / median(self.samples[other])

    def to_json(self) -> dict[str, Any]:
        contenders = {
            name: {"median": round(median(values), 3), "samples": [round(value, 3) for value in values], "peak_mib": self.peaks.get(name)}
            for name, values in self.samples.items()
        }
        return {
            "title": f"{self.query.name}, {self.query.title}",
            "unit": "s",
            "contenders": contenders,
            "ratio": None if self.ratio is None else round(self.ratio, 3),
            **({} if self.disorder is None else {"disorder": round(self.disorder, 3)}),
            "rows": self.rows,
            "absent": self.absent,
        }


def measure(
    query: Query,
    events: Events,
    disordered: Events | None,
    rows: int | None,
    process: int,
    flink: Flink | None,
    rounds: int,
    warm: int,
    report: Callable[[str], object],
) -> Measured:
    """Measure a query. `rows`: the size of the answer, if it is known. `process`: the JVM of headrace. `disordered`: the same events, some
    of them late; no query forgets anything, so the answer is the same.
    """
    outcome = Measured(query, None if query.name == OF_THE_CLOCK else rows)
    runs: dict[str, Callable[[], float]] = {}

    def taken(name: str, process: int, run: Callable[[], float]) -> Callable[[], float]:
        def measured() -> float:
            memory.forget(process)
            seconds = run()
            outcome.peaks[name] = max(outcome.peaks.get(name, 0), memory.most(process))
            return seconds

        return measured

    _same(outcome, HEADRACE, ours.rows(query, events))
    runs[HEADRACE] = taken(HEADRACE, process, lambda: ours.seconds(query, events))
    if disordered is not None:
        late = disordered
        _same(outcome, DISORDERED, ours.rows(query, late))
        runs[DISORDERED] = taken(DISORDERED, process, lambda: ours.seconds(query, late))
    if flink is None:
        outcome.absent[FLINK] = "it could not be installed"
    else:
        try:
            _same(outcome, FLINK, flink.rows(query))
            runs[FLINK] = taken(FLINK, flink.process, lambda: flink.seconds(query))
        except Refused as refused:
            outcome.absent[FLINK] = str(refused)
    outcome.samples = in_turns(runs, rounds, warm=warm, report=report)
    return outcome


def _same(measured: Measured, name: str, rows: int) -> None:
    """Check that all contenders return the same number of rows, except for the query of processing time."""
    if measured.query.name == OF_THE_CLOCK:
        return
    if measured.rows is not None and rows != measured.rows:
        raise RuntimeError(f"{measured.query.name}: {name} gives {rows:,} rows instead of {measured.rows:,}")
    measured.rows = rows


def mean(ratios: Iterable[float | None]) -> float | None:
    """Return the geometric mean of the ratios that exist."""
    known = [ratio for ratio in ratios if ratio is not None]
    return geometric_mean(known) if known else None
