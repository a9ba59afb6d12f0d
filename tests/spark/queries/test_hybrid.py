"""History, then live: in which order sources are read, the one watermark that they have, and the cut between them."""

from __future__ import annotations

import datetime as dt
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.spark.engine.pairs import held

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "id int, ts timestamp"
FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAYS, LIVE_FROM, LIVE_TO, CUT = 10, 8, 12, 9
"""Days of history, and those of the live rows, which both have; and the day at which they are cut."""


def put(folder: Path, day: int) -> None:
    """A file with four rows of a day."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"id": day * 4 + n, "ts": (FIRST + dt.timedelta(days=day, hours=n)).isoformat()} for n in range(4)]
    fresh = folder / f".{day}"
    fresh.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fresh.rename(folder / f"{day:03}.json")


def laid(folder: Path) -> Path:
    for day in range(DAYS):
        put(folder / "archive", day)
    for day in range(LIVE_FROM, LIVE_TO):
        put(folder / "live", day)
    return folder


def read(folder: Path, name: str, *, follow: bool = False) -> hr.Stream:
    rows = hr.read.files(folder / name, format="json", schema=SCHEMA, files_per_epoch=1, follow=follow, name=name)
    return rows.watermark("ts", "1 hour")


def day(number: int) -> dt.datetime:
    return FIRST + dt.timedelta(days=number)


def daily(rows: hr.Stream) -> hr.Stream:
    return rows.window(hr.tumble("ts", "1 day"), emit="close").group_by("window_start").agg(n="count(*)", least="min(id)")


def epochs_of(rows: hr.Stream, folder: Path, *, flush: bool = True) -> list[list[int]]:
    """The ids that each epoch of a job over a stream has written."""
    epochs: list[list[int]] = []
    sink = rows.select("id").write.foreach_batch(lambda frame, epoch: epochs.append(sorted(row[0] for row in frame.collect())))
    hr.job("ids", sink).run(checkpoint=folder / "state", progress=False, flush=flush)
    return [epoch for epoch in epochs if epoch]


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.05)


@pytest.mark.parametrize("names", ["archive live", "zebra aardvark"])
def test_one_after_the_other(names: str, tmp_path: Path) -> None:
    """Whatever the order of their names: Spark asks sources in an order of its own."""
    laid(tmp_path)
    history, live = names.split()
    (tmp_path / "archive").rename(tmp_path / history)
    (tmp_path / "live").rename(tmp_path / live)
    epochs = epochs_of(hr.read.hybrid(read(tmp_path, history), then=read(tmp_path, live)), tmp_path)
    days = [*range(DAYS), *range(LIVE_FROM, LIVE_TO)]
    assert epochs == [[day * 4 + n for n in range(4)] for day in days]


def test_several_in_a_row_and_none_at_all(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / "cold", number)
        put(tmp_path / "live", 6 + number)
    none = hr.read.memory([], SCHEMA, name="none").watermark("ts", "1 hour")
    rows = hr.read.hybrid(read(tmp_path, "cold"), then=hr.read.hybrid(none, then=read(tmp_path, "live")))
    assert [epoch[0] // 4 for epoch in epochs_of(rows, tmp_path)] == [0, 1, 2, 6, 7, 8]


def test_a_cut_by_time(tmp_path: Path) -> None:
    laid(tmp_path)
    rows = hr.read.hybrid(read(tmp_path, "archive"), then=read(tmp_path, "live"), at=day(CUT))
    out = daily(rows)
    job = hr.job("cut", (whole := out.write.memory(name="days")), (late := out.output("late").write.memory(name="late")))
    job.run(checkpoint=tmp_path / "state", progress=False)
    assert sorted(whole.rows()) == [(day(number), 4, number * 4) for number in range(LIVE_TO)]
    assert late.rows() == []


def test_windows_of_history_close_before_live_rows_come(tmp_path: Path) -> None:
    """One watermark: the live source, which has said nothing yet, holds nothing up. And it is read as soon as it has rows."""
    for number in range(3):
        put(tmp_path / "archive", number)
    (tmp_path / "live").mkdir()
    out = daily(hr.read.hybrid(read(tmp_path, "archive"), then=read(tmp_path, "live", follow=True))).write.memory(name="days")
    run = hr.job("days", out).start(checkpoint=tmp_path / "state", progress=False)
    try:
        until(lambda: len(out.rows()) == 2)
        put(tmp_path / "live", 3)
        put(tmp_path / "live", 4)
        until(lambda: len(out.rows()) == 4)
    finally:
        run.stop()
    assert sorted(out.rows()) == [(day(number), 4, number * 4) for number in range(4)]


def test_a_restart_goes_on(tmp_path: Path) -> None:
    """Stopped before the seam, and behind it, where history is not read again."""
    for number in range(4):
        put(tmp_path / "archive", number)
        put(tmp_path / "live", 4 + number)

    seen: list[int] = []

    def job() -> hr.Job:
        rows = hr.read.hybrid(read(tmp_path, "archive"), then=read(tmp_path, "live", follow=True))
        return hr.job("ids", rows.select("id").write.foreach_batch(lambda frame, _: seen.extend(sorted(row[0] for row in frame.collect()))))

    for count in (2, 20, 24):
        run = job().start(checkpoint=tmp_path / "state", progress=False)
        try:
            until(lambda count=count: len(seen) >= count)  # type: ignore[misc]
        finally:
            run.stop()
        if count == 20:
            for number in range(8, 10):
                put(tmp_path / "live", number)
    run = job().start(checkpoint=tmp_path / "state", progress=False)
    try:
        until(lambda: len(seen) == 40)
    finally:
        run.stop()
    assert seen == sorted(seen) == list(range(40))


def test_a_view_that_a_deploy_adds(tmp_path: Path) -> None:
    """It reads history and live rows again, and is what it would be from the start."""
    laid(tmp_path)

    def job(out: str, *, more: bool) -> hr.Job:
        rows = hr.read.hybrid(read(tmp_path, "archive"), then=read(tmp_path, "live"), at=day(CUT))
        every = rows.group_by("date(ts) AS day").agg(n="count(*)", s="sum(id)").named("every")
        sinks = [rows.select("id").write.files(tmp_path / out / "ids", format="json", name="ids_out")]
        if more:
            sinks.append(every.write.files(tmp_path / out / "every", format="json", mode="changes", name="every_out"))
        return hr.job("days", *sinks)

    job("out", more=False).run(checkpoint=tmp_path / "state", progress=False, flush=False)
    job("out", more=True).deploy(checkpoint=tmp_path / "state")
    put(tmp_path / "live", LIVE_TO)
    job("out", more=True).run(checkpoint=tmp_path / "state", progress=False)
    job("afresh", more=True).run(checkpoint=tmp_path / "other", progress=False)
    assert held(tmp_path / "out" / "every") == held(tmp_path / "afresh" / "every")
    assert len(held(tmp_path / "out" / "every")) == LIVE_TO + 1
    assert held(tmp_path / "out" / "ids") == held(tmp_path / "afresh" / "ids")


def test_what_explain_says(tmp_path: Path) -> None:
    laid(tmp_path)
    rows = hr.read.hybrid(read(tmp_path, "archive"), then=read(tmp_path, "live", follow=True))
    lines = [line.strip() for line in str(rows.explain()).splitlines() if line.strip().startswith("source  live")]
    assert len(lines) == 1 and lines[0].endswith("unbounded, append only, in the order of names, after archive")


def test_sources_that_wait_for_each_other(tmp_path: Path) -> None:
    laid(tmp_path)
    one, two = read(tmp_path, "archive"), read(tmp_path, "live")
    with pytest.raises(HeadraceError, match="would have to end before it is read") as problem:
        hr.collect(hr.read.hybrid(one, then=two).union(hr.read.hybrid(two, then=one)))
    assert problem.value.code == "BAD_HYBRID"
