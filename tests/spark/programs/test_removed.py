"""A program that holds rows and has timers is removed from a job: the others go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.models.fraud import SmallThenLarge
from tests.spark.engine.jobs import Count, charges, lines, minute, put

pytestmark = pytest.mark.usefixtures("spark")


class Waits(hr.Program):
    """Each charge again, in the order of time, and once more in an hour."""

    again = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.again.set(e.ts + hr.minutes(60))
        hr.emit(card=self.key.card)

    def on_again(self, at: Any) -> None:
        hr.emit(card=self.key.card)


def job(folder: Path, *, beside: bool) -> hr.Job:
    read = charges(folder / "in")
    counts = read.key_by("card").process(Count).named("counts")
    sinks = [counts.write.files(folder / "out", format="json", name="out")]
    if beside:
        sinks.append(read.key_by("card").process(Waits).named("waits").write.memory(name="waits_kept"))
        sinks.append(read.key_by("card").process(SmallThenLarge).named("small").write.memory(name="small_kept"))
    return hr.job("removed", *sinks)


def counted(folder: Path) -> list[tuple[str, int]]:
    return sorted((row["card"], row["n"]) for row in lines(folder / "out"))


def test_held_rows_and_pending_timers_of_a_removed_program(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", [("a", "0.50", minute(0)), ("b", "0.50", minute(7)), ("a", "2.00", minute(9))])
    job(tmp_path, beside=True).run(checkpoint=state, flush=False)
    assert counted(tmp_path) == [("a", 1)]
    # the watermark passes the rows that the removed programs held, then the timers that they had set
    put(tmp_path / "in", "2.json", [("b", "3.00", minute(30))])
    job(tmp_path, beside=False).run(checkpoint=state, flush=False)
    assert counted(tmp_path) == [("a", 1), ("a", 2), ("b", 1)]
    put(tmp_path / "in", "3.json", [("b", "4.00", minute(50))])
    summary = job(tmp_path, beside=False).run(checkpoint=state)
    assert counted(tmp_path) == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3)]
    assert [(one.program, one.rows_in, one.held) for one in summary.inputs] == [("counts", 5, 0)]
    assert summary.sealed


def test_a_removed_program_that_comes_back_starts_empty(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", [("a", "0.50", minute(0)), ("a", "2.00", minute(9))])
    job(tmp_path, beside=True).run(checkpoint=state, flush=False)
    job(tmp_path, beside=False).run(checkpoint=state, flush=False)
    put(tmp_path / "in", "2.json", [("b", "3.00", minute(30))])
    summary = job(tmp_path, beside=True).run(checkpoint=state)
    assert {one.program: one.rows_in for one in summary.inputs} == {"counts": 3, "waits": 1, "small": 1}
