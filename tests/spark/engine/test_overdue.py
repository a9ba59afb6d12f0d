"""A job stops after an epoch that moved the watermark, before the epoch that handles what became due. It makes up for that without input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.offsets import Offsets, next_watermark
from headrace.spark.checkpoint.record import Record
from tests.spark.engine.jobs import charges, lines, minute, put
from tests.spark.engine.pairs import held

pytestmark = pytest.mark.usefixtures("spark")

ROWS = [(f"c{n % 3}", str(n), minute(n)) for n in range(20)] + [("c9", "1", minute(59))]


class Silence(hr.Program):
    """The cards without a charge for ten minutes."""

    due = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.due.set(e.ts + hr.minutes(10))

    def on_due(self, at: Any) -> None:
        hr.emit(card=self.key.card, at=at)


def job(folder: Path, name: str = "job", *, least: int = 0, more: bool = False) -> hr.Job:
    """`least`: the amounts from which windows sum; `more`: an operator more."""
    rows = charges(folder / "in")
    windows = (
        rows.filter(f"amount >= {least}")
        .window(hr.tumble("ts", "10 minutes"), emit="close")
        .group_by("card", "window_end")
        .agg(s="sum(amount)")
    )
    out = folder / name
    sinks = [
        rows.key_by("card").process(Silence).named("silence").write.files(out / "silent", format="json", name="silent"),
        windows.write.files(out / "sums", format="json", mode="changes", name="sums"),
    ]
    if more:
        sinks.append(rows.group_by("card").agg(n="count(*)").write.files(out / "counts", format="json", mode="changes", name="counts"))
    return hr.job(name, *sinks)


def go(folder: Path, one: hr.Job, name: str = "state") -> hr.Summary:
    return one.run(checkpoint=folder / name, progress=False, flush=False)


def stop_before_what_is_due(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the job for one epoch."""
    add = Record.add

    def stopping(record: Record, *epoch: Any) -> bool:
        run._request(now=False)
        return add(record, *epoch)

    with monkeypatch.context() as patch:
        patch.setattr(Record, "add", stopping)
        run = job(folder).start(checkpoint=folder / "state", progress=False, flush=False, partitions=2)
        run.wait()
    query = folder / "state" / "queries" / "main"
    assert logged(query, "offsets") == logged(query, "commits") == 0
    assert Offsets.read(query, 0).watermark == 0 < next_watermark(query, 0)
    assert written(folder, "job") == ([], {})


def written(folder: Path, name: str) -> tuple[list[str], dict[str, int]]:
    return sorted(json.dumps(row) for row in lines(folder / name / "silent")), held(folder / name / "sums")


def restarted(folder: Path) -> str:
    assert go(folder, job(folder)).rows == 0
    return "job"


def with_an_operator_more(folder: Path) -> str:
    job(folder, more=True).deploy(checkpoint=folder / "state", progress=False)
    assert go(folder, job(folder, more=True)).rows == 0
    return "job"


def with_a_rebuilt_operator(folder: Path) -> str:
    job(folder, least=5).deploy(checkpoint=folder / "state", progress=False)
    assert go(folder, job(folder, least=5)).rows == 0
    return "job"


def forked(folder: Path) -> str:
    hr.fork(folder / "state", job(folder, "other"), at=0, checkpoint=folder / "forked")
    assert go(folder, job(folder, "other"), "forked").rows == 0
    return "other"


def imported(folder: Path) -> str:
    job(folder).savepoint("first", checkpoint=folder / "state")
    hr.export_savepoint(folder / "state", "first", folder / "portable")
    hr.import_savepoint(folder / "portable", checkpoint=folder / "imported", partitions=3)
    assert go(folder, job(folder), "imported").rows == 0
    return "job"


@pytest.mark.parametrize("goes_on", [restarted, with_an_operator_more, with_a_rebuilt_operator, forked, imported])
def test_what_was_due_at_the_stop(goes_on: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "in", "1.json", ROWS)
    stop_before_what_is_due(tmp_path, monkeypatch)
    name = goes_on(tmp_path)
    least = 5 if goes_on is with_a_rebuilt_operator else 0
    go(tmp_path, job(tmp_path, "whole", least=least), "whole state")
    silent, sums = written(tmp_path, name)
    assert (silent, sums) == written(tmp_path, "whole")
    assert (len(silent), len(sums)) == (3, 6)


def test_a_start_on_which_nothing_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins no epoch."""
    put(tmp_path / "in", "1.json", ROWS)
    stop_before_what_is_due(tmp_path, monkeypatch)
    assert go(tmp_path, job(tmp_path)).epochs >= 1
    assert go(tmp_path, job(tmp_path)).epochs == 0
