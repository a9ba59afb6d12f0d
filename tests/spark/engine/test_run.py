"""Runs: to the end, again, on and on, stopped."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.models.fraud import SCHEMA, SmallThenLarge
from tests.spark.engine import jobs
from tests.spark.engine.jobs import FIRST, SECOND, alerts, fraud, minute, put
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")


def test_bounded_input_is_read_flushed_and_sealed(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    put(tmp_path / "in", "2.json", [*SECOND, "no json", (None, "3.00", minute(30))])
    checkpoint = tmp_path / "state"
    summary = fraud(tmp_path, files_per_epoch=1).run(checkpoint=checkpoint)
    assert alerts(tmp_path) == [("a", "00:00:30"), ("b", "00:20:10")]
    assert (summary.rows, summary.sealed, summary.stopped, dict(summary.sinks)) == (9, True, False, {"out": 2})
    assert [(one.rows_in, one.handled, one.late, one.dead, one.held) for one in summary.inputs] == [(8, 7, 0, 1, 0)]
    assert [(one.read, one.malformed) for one in summary.sources] == [(9, 1)]
    letters = [letter for folder in summary.dead_letters for letter in jobs.lines(Path(folder))]
    assert sorted((letter["node"], letter["reason"].split(":")[0]) for letter in letters) == [
        ("charges", "NULL_KEY"),
        ("charges", "not JSON"),
    ]
    assert {letter["file"].rpartition("/")[2] for letter in letters} == {"2.json"}
    assert "no json" in {letter["raw"] for letter in letters}
    text = str(summary)
    assert text.startswith("fraud: 9 rows in ") and ", 2 new dead letters, sealed\n" in text
    assert text.endswith(
        '  dead rows of alerts: those without a key or event time are in charges.output("dead_letter"), '
        'those that failed in alerts.output("dead_letter")\n'
        f"  2 dead letters in {checkpoint}/dead_letters/main\n"
        f"  headrace letters show {checkpoint} lists them"
    )

    # nothing new: said so, and nothing is done
    again = fraud(tmp_path, files_per_epoch=1).run(checkpoint=checkpoint)
    assert (
        str(again)
        == "fraud: nothing new to read, and the job is sealed: it takes no new input. fresh=True (--fresh) removes the checkpoint and what the "
        "sinks wrote, and reads all again."
    )
    assert len(jobs.lines(tmp_path / "out")) == 2

    # new input after the end of time
    put(tmp_path / "in", "3.json", FIRST)
    check_error(
        """
        CHECKPOINT_SEALED: charges (1 new) has new input, and the job has read its bounded input to the end and fired all its timers
          hint: start over with fresh=True; flush=False keeps a job open for later input
          more: headrace error CHECKPOINT_SEALED
        """,
        lambda: fraud(tmp_path, files_per_epoch=1).run(checkpoint=checkpoint),
    )

    # and from the beginning
    (tmp_path / "in" / "3.json").unlink()
    fresh = fraud(tmp_path, files_per_epoch=1).run(checkpoint=checkpoint, fresh=True)
    assert (fresh.rows, alerts(tmp_path)) == (9, [("a", "00:00:30"), ("b", "00:20:10")])


@pytest.mark.parametrize(
    ("path", "flush"),
    [("in", False), ("in/*.json", True), *(pytest.param(*both, marks=pytest.mark.full) for both in (("in", True), ("in/*.json", False)))],
)
def test_all_files_were_read_and_are_gone(tmp_path: Path, path: str, flush: bool) -> None:
    """There is nothing new. A job that begins has nothing at all, and is refused, also one with another source."""

    def job(name: str = "charges") -> hr.Job:
        read = hr.read.files(tmp_path / path, format="json", schema=SCHEMA, name=name).watermark("ts", "5 minutes")
        return hr.job(
            "fraud", read.key_by("card").process(SmallThenLarge).named("alerts").write.files(tmp_path / "out", format="json", name="out")
        )

    put(tmp_path / "in", "1.json", FIRST)
    assert job().run(checkpoint=tmp_path / "ck", flush=flush).rows == len(FIRST)
    (tmp_path / "in" / "1.json").unlink()
    for _ in range(2):
        assert "fraud: nothing new to read" in str(job().run(checkpoint=tmp_path / "ck", flush=flush))
    if not flush:
        put(tmp_path / "in", "2.json", FIRST)
        assert job().run(checkpoint=tmp_path / "ck", flush=False).rows == len(FIRST)
        (tmp_path / "in" / "2.json").unlink()
    before = sorted(path for path in (tmp_path / "out").rglob("*"))
    for start in (
        lambda: job().run(checkpoint=tmp_path / "ck", fresh=True),
        lambda: job().run(checkpoint=tmp_path / "other"),
    ):
        with pytest.raises(hr.HeadraceError) as raised:
            start()
        assert raised.value.code == "PATH_EMPTY"
    assert sorted(path for path in (tmp_path / "out").rglob("*")) == before and not (tmp_path / "other").exists()


def test_a_job_that_is_kept_open_goes_on(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    first = fraud(tmp_path).run(checkpoint=tmp_path / "state", flush=False)
    assert (first.sealed, alerts(tmp_path)) == (False, [])
    assert [(one.rows_in, one.held) for one in first.inputs] == [(4, 4)]
    nothing = fraud(tmp_path).run(checkpoint=tmp_path / "state", flush=False)
    assert "nothing new" in str(nothing)
    assert [(one.rows_in, one.held) for one in nothing.inputs] == [(4, 4)]
    put(tmp_path / "in", "2.json", SECOND)
    second = fraud(tmp_path).run(checkpoint=tmp_path / "state", flush=False)
    assert (second.rows, alerts(tmp_path)) == (3, [("a", "00:00:30"), ("b", "00:20:10")])
    assert [(one.rows_in, one.handled, one.held) for one in second.inputs] == [(7, 6, 1)]
    last = fraud(tmp_path).run(checkpoint=tmp_path / "state")
    assert (last.sealed, last.rows, [one.held for one in last.inputs]) == (True, 0, [0])


def test_a_job_without_time_goes_on_when_its_input_has_grown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> hr.Summary:
        # a watermark alone ends nothing
        counted = jobs.charges(tmp_path / "in").group_by("card").agg(n="count(*)")
        return hr.job("counted", counted.write.files(tmp_path / "out", format="json", name="out", mode="changes")).run(
            checkpoint=tmp_path / "state"
        )

    def net() -> dict[str, int]:
        totals: dict[str, int] = {}
        for line in jobs.lines(tmp_path / "out"):
            totals[line["card"]] = totals.get(line["card"], 0) + line["n"] * (1 if line["_change"] == "insert" else -1)
        return totals

    put(tmp_path / "in", "1.json", [("a", "1.00", minute(50)), ("b", "1.00", minute(50))])
    assert (run().sealed, net()) == (False, {"a": 1, "b": 1})
    nothing = run()
    assert (nothing.sealed, nothing.rows, "nothing new" in str(nothing)) == (False, 0, True)
    # older by far than the watermark, and not late
    put(tmp_path / "in", "2.json", [("a", "2.00", minute(1)), ("c", "2.00", minute(2))])
    assert (run().rows, net()) == (2, {"a": 2, "b": 1, "c": 1})
    # what an earlier version of headrace sealed without any time to end
    (tmp_path / "state" / "sealed").touch()
    put(tmp_path / "in", "3.json", [("c", "2.00", minute(3))])
    assert (run().rows, net()) == (1, {"a": 2, "b": 1, "c": 2})
    assert capsys.readouterr().err == ""


def test_a_job_says_before_its_first_end_that_it_is_final(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    notice = (
        "fraud: its input is bounded: at its end, held rows are handled, windows close, timers fire, and later input is refused. "
        "flush=False (--no-flush) keeps it open; flush=True (--flush) hides this line.\n"
    )
    fraud(tmp_path).run(checkpoint=tmp_path / "state", flush=False)
    assert capsys.readouterr().err == ""
    assert fraud(tmp_path).run(checkpoint=tmp_path / "state").sealed
    assert capsys.readouterr().err == notice
    # sealed already, or asked for
    fraud(tmp_path).run(checkpoint=tmp_path / "state")
    assert fraud(tmp_path).run(checkpoint=tmp_path / "state", fresh=True, flush=True).sealed
    assert capsys.readouterr().err == ""


def test_an_endless_job_runs_until_it_is_stopped(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    run = fraud(tmp_path, follow=True).start(checkpoint=tmp_path / "state", every="100 milliseconds")
    wait_for(lambda: run.progress.rows == 4)
    with pytest.raises(HeadraceError, match="CHECKPOINT_IN_USE"):
        fraud(tmp_path, follow=True).start(checkpoint=tmp_path / "state")
    put(tmp_path / "in", "2.json", SECOND)
    wait_for(lambda: len(alerts(tmp_path)) == 2)
    assert run.status == "running"
    assert run.metrics["inputs"][0]["in"] == 7
    assert run.wait(0.2) is None
    summary = run.stop()
    assert summary is not None and (summary.stopped, summary.sealed, summary.rows) == (True, False, 7)
    assert run.status == "stopped"
    # and on from there
    put(tmp_path / "in", "3.json", [("c", "0.10", minute(40)), ("c", "501.00", minute(40, 1)), ("x", "9.00", minute(50))])
    run = fraud(tmp_path, follow=True).start(checkpoint=tmp_path / "state")
    wait_for(lambda: len(alerts(tmp_path)) == 3)
    ended = run.stop()
    assert ended is not None and ended.rows == 3
    assert alerts(tmp_path) == [("a", "00:00:30"), ("b", "00:20:10"), ("c", "00:40:01")]


def test_a_source_that_is_silent_for_long_holds_nobody_back(tmp_path: Path) -> None:
    class Both(hr.Program):
        def on_event(self, e: Any) -> None:
            hr.emit(card=self.key.card, amount=e.amount)

        def on_other(self, r: Any) -> None:
            hr.emit(card=self.key.card, amount=r.amount)

    put(tmp_path / "busy", "1.json", [("a", "1.00", minute(1))])
    put(tmp_path / "silent", "1.json", [("a", "2.00", minute(1))])
    busy = hr.read.files(tmp_path / "busy", format="json", schema=SCHEMA, follow=True).watermark("ts", "1 second")
    silent = hr.read.files(tmp_path / "silent", format="json", schema=SCHEMA, follow=True)
    silent = silent.watermark("ts", "1 minute", idle="1 second")
    both = busy.key_by("card").process(Both, other=silent.key_by("card")).write.memory(name="both")
    run = hr.job("both", both).start(checkpoint=tmp_path / "state")
    wait_for(lambda: run.progress.rows == 2)
    put(tmp_path / "busy", "2.json", [("a", "3.00", minute(9)), ("a", "4.00", minute(10))])
    wait_for(lambda: len(both.rows()) == 3)
    run.stop()
    assert sorted(str(row[1]) for row in both.rows()) == ["1.00", "2.00", "3.00"]


def test_views_that_share_nothing_run_as_two_queries(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    other = hr.read.memory([("x", 1), ("y", 2)], "k string, v int", name="other")
    alerted = jobs.charges(tmp_path / "in").key_by("card").process(SmallThenLarge).named("alerts")
    kept = other.filter("v > 1").write.memory(name="kept")
    job = hr.job("two", alerted.write.files(tmp_path / "out", format="json", name="out"), kept)
    summary = job.run(checkpoint=tmp_path / "state")
    assert (summary.rows, dict(summary.sinks), kept.rows()) == (6, {"out": 1, "kept": 1}, [("y", 2)])
    assert sorted(path.name for path in (tmp_path / "state" / "queries").iterdir()) == ["kept", "main"]


def test_a_level_behind_a_level(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    alerted = jobs.charges(tmp_path / "in").key_by("card").process(SmallThenLarge, time="at").named("alerts")
    counted = alerted.key_by("card").process(jobs.Count).named("counts")
    kept = counted.write.memory(name="counted")
    both = hr.job("both", kept, alerted.write.memory(name="alerted"))
    summary = both.run(checkpoint=tmp_path / "state")
    assert kept.rows() == [("a", 1)]
    assert [(one.program, one.rows_in, one.handled) for one in summary.inputs] == [("alerts", 4, 4), ("counts", 1, 1)]
    text = str(both.explain(verbose=True))
    assert "placement: query main, level 1 of 2" in text and "its rows pass 1 level untouched" in text


def test_dead_letters_that_are_read_do_not_lie_beside_the_checkpoint(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", [*FIRST, "no json", (None, "1.00", minute(0)), ("z", "1.00", minute(0))])
    read = jobs.charges(tmp_path / "in")
    # fails for one card
    steps = read.with_columns(broken="1 / (CASE WHEN card = 'z' THEN 0 ELSE 1 END)")
    alerted = steps.key_by("card").process(jobs.Count, order="arrival").named("counts")
    dead = read.output("dead_letter").write.memory(name="dead")
    summary = hr.job("dead", alerted.write.memory(name="out"), dead).run(checkpoint=tmp_path / "state")
    reasons = sorted((str(row[0]), str(row[1])[:12]) for row in dead.rows())
    assert [node for node, _ in reasons] == ["charges", "charges", "charges.with_columns"]
    assert sum(summary.dead_letters.values()) == 0
    assert [(one.rows_in, one.handled, one.dead) for one in summary.inputs] == [(5, 4, 1)]


def test_progress_is_reported_and_counts_the_keys_with_state(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    reports: list[Any] = []
    run = fraud(tmp_path).start(checkpoint=tmp_path / "state", flush=False, progress=reports.append)
    run.wait()
    assert reports and all(one.seconds >= 0 for one in reports)
    assert run.progress.state_keys == 2
    flushed = fraud(tmp_path).start(checkpoint=tmp_path / "state")
    flushed.wait()
    assert flushed.progress.state_keys == 0


def test_a_function_for_progress_that_fails_ends_the_run(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    with pytest.raises(ZeroDivisionError):
        fraud(tmp_path, follow=True).run(checkpoint=tmp_path / "state", progress=lambda progress: 1 / 0)
    assert fraud(tmp_path).run(checkpoint=tmp_path / "state").sealed


def test_collect_and_show(capsys: pytest.CaptureFixture[str], spark: SparkSession) -> None:
    rows = hr.read.memory([("a", 1, "2026-01-01 00:00:00"), ("b", None, None)], "k string, v int, ts timestamp", name="t")
    table = hr.collect(rows.with_columns(s="struct(v, k)"))
    assert [row[:2] for row in sorted(table.rows(), key=repr)] == [("a", 1), ("b", None)]
    assert table.to_arrow().column_names == ["k", "v", "ts", "s"]
    assert list(table.to_pandas()["k"].sort_values()) == ["a", "b"]
    hr.show(rows.filter("v = 1").select("k", "v"))
    assert capsys.readouterr().out == "k  v\n-  -\na  1\n(1 row)\n"
    with pytest.warns(RuntimeWarning, match=r"1 row failed and is missing; the first at t.select: .*DIVIDE_BY_ZERO"):
        assert len(hr.collect(rows.select(x="1 / (v - 1)"))) == 1
    with pytest.warns(RuntimeWarning, match="1 row failed") as warned:
        hr.show(rows.select(x="1 / (v - 1)"))
    # at the line that asked, not at one of ours
    assert [one.filename for one in warned] == [__file__]


def test_a_plan_that_was_stored_runs_in_another_thread(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(fraud(tmp_path).plan.to_json()))
    job = hr.load(file)
    assert job.plan.fingerprint == fraud(tmp_path).plan.fingerprint
    summaries: list[Any] = []
    thread = threading.Thread(target=lambda: summaries.append(job.run(checkpoint=tmp_path / "state")))
    thread.start()
    thread.join()
    assert (summaries[0].rows, alerts(tmp_path)) == (4, [("a", "00:00:30")])


def wait_for(true: Any, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.1)
