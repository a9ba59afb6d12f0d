"""What a contender can do: run a workload and be timed, and run it and say what came out."""

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
    """Number of rows put out, and the sums of the columns that have one."""

    rows: int
    sums: tuple[int, ...]


class Contender(Protocol):
    name: str
    share: float
    """The part of the events and keys that it is given: less than all of them for those that would take minutes."""

    def lacks(self, workload: Workload) -> str | None:
        """Why it does not take part, if so."""

    def prepare(self, workload: Workload) -> None:
        """What is done once before it runs."""

    def seconds(self, workload: Workload, events: Events) -> float:
        """Run with a sink that keeps nothing."""

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
    """Seconds of a run with a checkpoint of its own; taking that away is not in it."""
    with checkpoint() as folder:
        began = time.perf_counter()
        run(folder)
        return time.perf_counter() - began
