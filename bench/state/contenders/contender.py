"""A contender: it runs a workload for its time, or for its answer."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from bench.state.inputs import Events
from bench.state.workloads import Workload


@dataclass(frozen=True)
class Answer:
    """The number of output rows, and the sums of the columns that have one."""

    rows: int
    sums: tuple[int, ...]


class Contender(Protocol):
    name: str
    share: float
    """The share of the events and keys that it gets: less than all for contenders that would take minutes."""

    def lacks(self, workload: Workload) -> str | None:
        """Return why it does not take part, or None."""

    def prepare(self, workload: Workload) -> None:
        """Prepare it, once before it runs."""

    def seconds(self, workload: Workload, events: Events) -> float:
        """Time a run with a sink that keeps nothing."""

    def answer(self, workload: Workload, events: Events) -> Answer:
        """Run with a sink that counts and sums."""


@contextmanager
def checkpoint() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="headrace-bench-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def timed(run: Callable[[str], object]) -> float:
    """Time a run with a checkpoint of its own, without deleting that."""
    with checkpoint() as folder:
        began = time.perf_counter()
        run(folder)
        return time.perf_counter() - began
