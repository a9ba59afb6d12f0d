"""From the start of Python to the first result of a small job: JVM, session, check, plan, query and the answer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bench.state.measure import Goal, Result, in_turns, median

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = """
import headrace as hr


class Count(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e):
        n = hr.f.coalesce(self.n.get(), 0) + 1
        self.n.set(n)
        hr.emit(card=self.key.card, n=n)


charges = hr.read.memory([("a", 1), ("b", 2), ("a", 3)], "card string, amount int", name="charges")
print(sorted(hr.collect(charges.key_by("card").process(Count)).rows()))
"""
ANSWER = "[('a', 1), ('a', 2), ('b', 1)]"


def measure(spark: SparkSession, folder: Path, rounds: int, report: Callable[[str], object]) -> Result:
    folder.mkdir(parents=True)
    script = folder / "small_job.py"
    script.write_text(SCRIPT)
    samples = in_turns({"first result": lambda: first_result(script)}, rounds, report=report)
    return Result(
        "first result of a small job from a cold start, the kernel's jar being there",
        "s",
        samples,
        [Goal("first result", median(samples["first result"]), 12, unit="s")],
        ["until the answer is printed; the time the processes take to end is not in it"],
    )


def first_result(script: Path) -> float:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env={**os.environ, "HEADRACE_MASTER": "local[2]"}
    )
    assert process.stdout is not None
    with process:
        line = process.stdout.readline().strip()
        seconds = time.perf_counter() - began
        if line != ANSWER:
            raise RuntimeError(f"the small job said {line!r} instead of {ANSWER}")
    return seconds
