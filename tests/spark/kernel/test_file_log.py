"""The log of the files that a source has read, over many epochs, in a JVM of its own."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from headrace.filelog import paths_read
from tests.spark.kernel.conftest import Trials


@pytest.fixture
def trial(trials: Trials) -> Trials:
    return partial(trials, "headrace.source.FileLogTrial")


def paths(log: str) -> set[str]:
    return set(re.findall(r"^file:.*$", log, re.MULTILINE))


def test_thousands_of_epochs(trial: Trials, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (most,) = re.findall(r"files (\d+)", trial("grow", log, 2_500))
    assert int(most) <= 225
    assert set(paths_read(log)) == paths(trial("paths", log)) == {f"file:///in/{epoch}.json" for epoch in range(2_500)}
    assert paths(trial("between", log, 1_098, 1_101)) == {f"file:///in/{epoch}.json" for epoch in range(1_098, 1_102)}


def test_thirty_days_of_twenty_epochs_a_second(trial: Trials) -> None:
    """What is merged when, without the files: the start reads as few of them as after an hour, and each path was written four times."""
    files, characters, written = re.findall(r"files (\d+) of (\d+) characters, written ([\d.]+) times", trial("simulate", 52_000_000))[0]
    assert int(files) <= 500
    assert int(characters) <= 20
    assert float(written) < 4


def test_the_log_of_spark_is_carried_on(trial: Trials, tmp_path: Path) -> None:
    """Its last compaction is all before it; what a merge has left is read once and goes."""

    def entries(*epochs: int) -> str:
        told = [{"path": f"file:///in/{epoch}.json", "timestamp": 1, "batchId": epoch} for epoch in epochs]
        return "\n".join(["v1", *map(json.dumps, told)])

    for epoch in range(25):
        compact = epoch % 10 == 9
        (tmp_path / f"{epoch}{'.compact' if compact else ''}").write_text(entries(*range(epoch + 1) if compact else (epoch,)))
    trial("grow", tmp_path, 400)
    assert sorted(file.name for file in tmp_path.glob("[0-9]*") if not file.name.isdigit()) == ["120-219.gz", "19.compact", "20-119.gz"]
    assert set(paths_read(tmp_path)) == {f"file:///in/{epoch}.json" for epoch in range(400)}
    # as after a crash between the merge and the removal of its parts
    for epoch in (20, 219):
        (tmp_path / str(epoch)).write_text(entries(epoch))
    assert paths(trial("between", tmp_path, 219, 220)) == {"file:///in/219.json", "file:///in/220.json"}
    assert not (tmp_path / "20").exists()
    assert not (tmp_path / "219").exists()
