"""The log of the files that a source has read, over many epochs, in a JVM of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.durable.filelog import lengths_read, paths_read
from tests.spark.kernel.conftest import Trials

Trial = Callable[..., list[str]]


@pytest.fixture
def trial(trials: Trials) -> Trial:
    """Runs steps in one JVM, each a tuple of words: their outputs."""

    def run(*steps: tuple[object, ...]) -> list[str]:
        words = [word for step in steps for word in ("then", *step)]
        return trials("headrace.source.FileLogTrial", *words[1:]).split("then\n")

    return run


def paths(log: str) -> set[str]:
    return {path for path, _, _ in entries(log)}


def entries(log: str) -> list[tuple[str, int, int]]:
    """Each file with its length and the one that it had before, -1 for none."""
    return [(path, int(length), int(was)) for path, length, was in re.findall(r"^(file:\S+) (\S+) (\S+)$", log, re.MULTILINE)]


@pytest.mark.full
def test_thousands_of_epochs(trial: Trial, tmp_path: Path) -> None:
    log = tmp_path / "log"
    grown, whole, between = trial(("grow", log, 2_500), ("paths", log), ("between", log, 1_098, 1_101))
    (most,) = re.findall(r"files (\d+)", grown)
    assert int(most) <= 225
    assert set(paths_read(log)) == paths(whole) == {f"file:///in/{epoch}.json" for epoch in range(2_500)}
    assert paths(between) == {f"file:///in/{epoch}.json" for epoch in range(1_098, 1_102)}
    expected = [(f"file:///in/{epoch}.json", 10 * epoch, epoch if epoch % 3 == 0 else -1) for epoch in range(2_500)]
    assert entries(whole) == expected  # also after three merges
    assert lengths_read(log) == {path: length if was < 0 else None for path, length, was in expected}


def test_lengths_are_amended_in_the_epochs_that_are_asked_for(trial: Trial, tmp_path: Path) -> None:
    """In a file of one epoch and in one of a hundred; what is logged as changed keeps its length."""
    # others than the file's own epoch; in a merged file; a single epoch; one that has changed
    spans = ((49, 49, 50), (49, 50, 50), (249, 250, 250), (248, 249, 249))
    amend = [("amend", tmp_path, first, last, f"file:///in/{epoch}.json", 7) for first, last, epoch in spans]
    _, before, *_, after = trial(("grow", tmp_path, 251), ("paths", tmp_path), *amend, ("paths", tmp_path))
    assert (tmp_path / "0-99.gz").exists()
    amended = {f"file:///in/{epoch}.json" for epoch in (50, 250)}
    assert entries(after) == [(name, 7 if name in amended else length, was) for name, length, was in entries(before)]


def test_a_log_without_lengths_is_carried_on(trial: Trial, tmp_path: Path) -> None:
    (tmp_path / "0").write_text('v2\n{"path":"file:///in/0.json","batchId":0}\n')
    _, _, whole = trial(("add", tmp_path, "file:///in/1.json", 5, -1), ("add", tmp_path, "file:///in/1.json", 8, 5), ("paths", tmp_path))
    assert (tmp_path / "2").read_text() == 'v3\n{"path":"file:///in/1.json","batchId":2,"length":8,"was":5}\n'
    assert entries(whole) == [("file:///in/0.json", -1, -1), ("file:///in/1.json", 5, -1), ("file:///in/1.json", 8, 5)]
    assert lengths_read(tmp_path) == {"file:///in/0.json": None, "file:///in/1.json": None}


@pytest.mark.full
def test_thirty_days_of_twenty_epochs_a_second(trial: Trial) -> None:
    """What is merged when, without the files: the start reads as few of them as after an hour, and each path was written four times."""
    (printed,) = trial(("simulate", 52_000_000))
    files, characters, written = re.findall(r"files (\d+) of (\d+) characters, written ([\d.]+) times", printed)[0]
    assert int(files) <= 500
    assert int(characters) <= 20
    assert float(written) < 4


@pytest.mark.full
def test_the_log_of_spark_is_carried_on(trial: Trial, tmp_path: Path) -> None:
    """Its last compaction is all before it; what a merge has left is read once and goes."""

    def text(*epochs: int) -> str:
        entries = [{"path": f"file:///in/{epoch}.json", "timestamp": 1, "batchId": epoch} for epoch in epochs]
        return "\n".join(["v1", *map(json.dumps, entries)])

    for epoch in range(25):
        compact = epoch % 10 == 9
        (tmp_path / f"{epoch}{'.compact' if compact else ''}").write_text(text(*range(epoch + 1) if compact else (epoch,)))
    trial(("grow", tmp_path, 400))
    assert sorted(file.name for file in tmp_path.glob("[0-9]*") if not file.name.isdigit()) == ["120-219.gz", "19.compact", "20-119.gz"]
    assert set(paths_read(tmp_path)) == {f"file:///in/{epoch}.json" for epoch in range(400)}
    # as after a crash between the merge and the removal of its parts
    for epoch in (20, 219):
        (tmp_path / str(epoch)).write_text(text(epoch))
    assert paths(trial(("between", tmp_path, 219, 220))[0]) == {"file:///in/219.json", "file:///in/220.json"}
    assert not (tmp_path / "20").exists()
    assert not (tmp_path / "219").exists()
