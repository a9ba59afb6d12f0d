"""The queries of Nexmark over a million events in ten epochs, killed on the way: in the end each holds what DuckDB answers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench.nexmark.events import make
from bench.nexmark.oracle import Oracle
from bench.nexmark.queries import OF_EVENTS

from tests.faults.nexmark import EPOCHS, EVENTS
from tests.faults.test_kill import epochs, kill
from tests.spark.sql.test_nexmark import wrong

CHILD = Path(__file__).with_name("nexmark.py")
KILLED_AFTER = (3, 7)


def start(folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "3g", "PYTHONPATH": os.pathsep.join(sys.path)}
    with (folder / "log").open("ab") as out:
        return subprocess.Popen([sys.executable, str(CHILD), str(folder)], stdout=out, stderr=out, env=environment, start_new_session=True)


@pytest.mark.full
def test_killed_on_the_way(tmp_path: Path) -> None:
    events = make(EVENTS, EPOCHS, cache=tmp_path)
    for after in KILLED_AFTER:
        child = start(tmp_path)
        while child.poll() is None and epochs(tmp_path) < after:
            time.sleep(0.02)
        assert child.poll() is None, (tmp_path / "log").read_text()[-3000:]
        # the next epoch has begun, and is lost
        kill(child, "both")
        assert after <= epochs(tmp_path) < EPOCHS
    assert start(tmp_path).wait() == 0, (tmp_path / "log").read_text()[-3000:]
    assert epochs(tmp_path) == EPOCHS
    assert wrong(list(OF_EVENTS.values()), Oracle(events), tmp_path / "out") == {}
