"""The queries of Nexmark over a million events in ten epochs, killed on the way: in the end each holds what DuckDB answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench.nexmark.events import make
from bench.nexmark.oracle import Oracle

from headrace.points import OF_SINKS, VARIABLE, Armed
from tests.faults.test_kill import epochs, kill
from tests.spark.sql import test_nexmark as nexmark

CHILD = Path(__file__).with_name("nexmark.py")
EPOCHS = 10
KILLED_AT = (Armed("in a task", passing=5), Armed("before the commit log", passing=4))
"""When a task begins to write, some epochs in, and once more when another three are over and a fourth is not."""


def start(folder: Path, group: str, killed: Armed | None = None) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "6g", "PYTHONPATH": os.pathsep.join(sys.path)}
    names = [query.name for query in nexmark.of(group)]
    if killed is not None:
        place = {"of": names[0]} if killed.name in OF_SINKS else {}
        environment[VARIABLE] = str(replace(killed, **place))
    command = [sys.executable, str(CHILD), str(folder), str(nexmark.MANY), str(EPOCHS), *names]
    with (folder / "log").open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)


@pytest.mark.full
@pytest.mark.parametrize("group", nexmark.GROUPS)
def test_killed_on_the_way(tmp_path: Path, group: str) -> None:
    events = make(nexmark.MANY, EPOCHS, cache=tmp_path)
    done = 0
    for killed in KILLED_AT:
        child = start(tmp_path, group, killed)
        child.wait()
        # its JVM ends with it or has ended before
        kill(child, "both")
        before, done = done, epochs(tmp_path)
        assert before < done < EPOCHS, (tmp_path / "log").read_text()[-3000:]
    assert start(tmp_path, group).wait() == 0, (tmp_path / "log").read_text()[-3000:]
    assert epochs(tmp_path) == EPOCHS
    assert nexmark.wrong(nexmark.of(group), Oracle(events), tmp_path / "out") == {}
    shutil.rmtree(tmp_path)
