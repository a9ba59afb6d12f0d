"""Ctrl-C and SIGTERM: the epoch is finished, the handlers are put back, the next start goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.spark.engine.jobs import FIRST, SECOND, alerts, fraud, put

pytestmark = pytest.mark.usefixtures("spark")


def send(number: signal.Signals, state: Path) -> None:
    """Send a signal to this process once an epoch is recorded."""

    def wait() -> None:
        while not (state / "record" / "main.json").exists():
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
