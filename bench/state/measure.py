"""Compares contenders in turns, so that the machine's other load affects all of them equally."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Goal:
    """A `value` compared with its goal: at least or at most `limit`."""

    name: str
    value: float
    limit: float
    at_least: bool = False
    unit: str = "×"

    @property
    def reached(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def to_json(self) -> dict[str, Any]:
        wanted = {"at_least" if self.at_least else "at_most": self.limit}
        return {"name": self.name, "value": round(self.value, 3), "unit": self.unit, "wanted": wanted, "reached": self.reached}


@dataclass(frozen=True)
class Result:
    """One comparison: the samples of each contender in `unit`, the goals computed from them, and remarks on how it was measured.

    `base` is the contender whose median is shown as a multiple of each other one's.
    """

    title: str
    unit: str
    samples: Mapping[str, Sequence[float]]
    goals: Sequence[Goal]
    remarks: Sequence[str] = field(default_factory=tuple)
    base: str | None = None

    def ratio(self, values: Sequence[float]) -> float:
        assert self.base is not None
        return median(self.samples[self.base]) / median(values)

    def to_json(self) -> dict[str, Any]:
        contenders = {
            name: {"median": round(median(values), 3), "samples": [round(value, 3) for value in values]}
            | ({"ratio": round(self.ratio(values), 3)} if self.base else {})
            for name, values in self.samples.items()
        }
        return {
            "title": self.title,
            "unit": self.unit,
            "contenders": contenders,
            "goals": [goal.to_json() for goal in self.goals],
            "remarks": list(self.remarks),
        }


def in_turns(
    contenders: Mapping[str, Callable[[], float]], rounds: int, *, warm: int = 1, report: Callable[[str], object]
) -> dict[str, list[float]]:
    """Run every contender `rounds` times, in turns; the first `warm` rounds warm caches and compilers and do not count."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(warm + rounds):
        for name, run in contenders.items():
            value = run()
            report(f"{'warm-up' if number < warm else f'round {number - warm + 1}'}  {name}: {value:,.2f}")
            if number >= warm:
                samples[name].append(value)
    return samples


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def machine() -> dict[str, Any]:
    """Return the machine on which the numbers were measured."""
    import pyspark

    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "processor": processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def progress(text: str) -> None:
    """Print progress to standard error, so that standard output has only the tables."""
    print(text, file=sys.stderr, flush=True)
