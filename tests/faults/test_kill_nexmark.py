"""The queries of Nexmark over a million events in ten epochs, killed on the way: in the end each holds what DuckDB answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench.nexmark.events import make
from bench.nexmark.oracle import Oracle

from tests.faults.test_kill import epochs, kill
from tests.spark.sql import test_nexmark as nexmark

CHILD = Path(__file__).with_name("nexmark.py")
EPOCHS = 10
KILLED_AFTER = (3, 7)


def start(folder: Path, group: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "6g", "PYTHONPATH": os.pathsep.join(sys.path)}
    names = [query.name for query in nexmark.of(group)]
    command = [sys.executable, str(CHILD), str(folder), str(nexmark.MANY), str(EPOCHS), *names]
    with (folder / "log").open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)


@pytest.mark.full
@pytest.mark.parametrize("group", nexmark.GROUPS)
def test_killed_on_the_way(tmp_path: Path, group: str) -> None:
    events = make(nexmark.MANY, EPOCHS, cache=tmp_path)
    for after in KILLED_AFTER:
        child = start(tmp_path, group)
        while child.poll() is None and epochs(tmp_path) < after:
            time.sleep(0.02)
        assert child.poll() is None, (tmp_path / "log").read_text()[-3000:]
        # the next epoch has begun, and is lost
        kill(child, "both")
        assert after <= epochs(tmp_path) < EPOCHS
    assert start(tmp_path, group).wait() == 0, (tmp_path / "log").read_text()[-3000:]
    assert epochs(tmp_path) == EPOCHS
    assert nexmark.wrong(nexmark.of(group), Oracle(events), tmp_path / "out") == {}
    shutil.rmtree(tmp_path)
