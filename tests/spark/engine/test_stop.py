"""Ctrl-C and SIGTERM: the epoch is finished, the handlers are put back, the next start goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.jvm.session import jvm
from headrace.spark.checkpoint.record import Record
from tests.spark.engine.jobs import FIRST, SECOND, alerts, charges, fraud, lines, put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")


class Silence(hr.Program):
    """The cards of which nothing was heard for an hour."""

    due = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.due.set(e.ts + hr.hours(1))

    def on_due(self, at: Any) -> None:
        hr.emit(card=self.key.card)


def cards(folder: Path) -> list[str]:
    return sorted(row["card"] for row in lines(folder / "out"))


def send(number: signal.Signals, state: Path) -> None:
    """Send a signal to this process once an epoch is recorded."""

    def wait() -> None:
        while not any(state.glob("record/main.*.json")):
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    threading.Thread(target=wait, daemon=True).start()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_between_two_epochs(tmp_path: Path, number: signal.Signals) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    before = signal.getsignal(number)
    send(number, tmp_path / "state")
    summary = fraud(tmp_path, follow=True).run(checkpoint=tmp_path / "state")
    assert (summary.stopped, summary.rows, summary.sealed) == (True, 4, False)
    assert ", stopped" in str(summary)
    assert signal.getsignal(number) is before
    commits = {int(path.name) for path in (tmp_path / "state/queries/main/commits").iterdir() if path.name.isdigit()}
    offsets = {int(path.name) for path in (tmp_path / "state/queries/main/offsets").iterdir() if path.name.isdigit()}
    assert commits == offsets
    put(tmp_path / "in", "2.json", SECOND)
    ended = fraud(tmp_path).run(checkpoint=tmp_path / "state")
    assert (ended.rows, ended.sealed, alerts(tmp_path)) == (3, True, [("a", "00:00:30"), ("b", "00:20:10")])


def test_a_flush_that_was_stopped_is_finished_by_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "in", "1.json", SECOND)
    silent = charges(tmp_path / "in").key_by("card").process(Silence)
    job = hr.job("silence", silent.write.files(tmp_path / "out", format="json", name="out"))
    add = Record.add

    def stopped_in_the_flush(record: Record, *epoch: Any) -> bool:
        if run.status == "flushing":
            run._request(now=False)
        return add(record, *epoch)

    monkeypatch.setattr(Record, "add", stopped_in_the_flush)
    run = job.start(checkpoint=tmp_path / "state")
    summary = run.wait()
    monkeypatch.undo()
    assert summary is not None and (summary.stopped, summary.sealed, cards(tmp_path)) == (True, False, [])
    # flush=False does not undo what has begun
    ended = job.run(checkpoint=tmp_path / "state", flush=False)
    assert (ended.rows, ended.sealed, cards(tmp_path)) == (0, True, ["b", "c"])


def test_a_query_that_has_ended_gets_no_message(spark: SparkSession) -> None:
    control = jvm(spark).headrace.source.Control
    control.publish("gone", '{"charges": 1}')
    control.hold("gone")
    assert control.held("gone", 10_000)
    control.release("gone")


@pytest.mark.full
def test_a_plan_from_a_file_is_stopped_as_any_other(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(fraud(tmp_path, follow=True).plan.to_json()))
    # in a process of its own, where the run itself starts Spark
    command = [sys.executable, "-m", "headrace", "run", str(plan), "--checkpoint", str(tmp_path / "state"), "--quiet"]
    environment = {**os.environ, "HEADRACE_MASTER": "local[1]", "SPARK_DRIVER_MEMORY": "1g"}
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until = time.monotonic() + 300
        while not any(tmp_path.glob("state/record/main.*.json")) and child.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)
    finally:
        child.kill()
    assert (child.returncode, err) == (130, "")
    assert ", stopped" in out
