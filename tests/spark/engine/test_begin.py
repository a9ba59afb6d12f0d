"""Starts that are refused or cut off: nothing stays locked, and the next start mends what they left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors import files, memory
from headrace.errors import HeadraceError
from headrace.spark.compile.job import compile
from headrace.spark.run import start
from tests.spark.engine import jobs
from tests.spark.engine.jobs import FIRST, alerts, fraud, put
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")


def seen(frame: Any, epoch: int) -> None:
    """A function for foreach_batch, whose sink makes a folder in the checkpoint."""


def two_sinks(folder: Path) -> hr.Job:
    read = jobs.charges(folder / "in")
    return hr.job("two", read.write.foreach_batch(seen, name="seen"), read.write.files(folder / "out", format="json", name="out"))


def test_a_start_that_a_sink_refused_is_no_obstacle(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    two_sinks(tmp_path).run(checkpoint=tmp_path / "one")
    for fresh in (False, False):
        with pytest.raises(HeadraceError, match="FOLDER_OWNED"):
            two_sinks(tmp_path).run(checkpoint=tmp_path / "two", fresh=fresh)
    # the other partitions, too: no state depends on what the refused start stored
    assert two_sinks(tmp_path).run(checkpoint=tmp_path / "two", fresh=True, partitions=3).rows == 4
    assert len(jobs.lines(tmp_path / "out")) == 4


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("method", ["open", "recover"])
def test_a_start_that_was_cut_off_at_its_sinks_is_mended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: bool, method: str
) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", FIRST)
    if fresh:
        fraud(tmp_path).run(checkpoint=state)
    real = getattr(files.Sink, method)

    def cut_off(self: files.Sink, *arguments: Any) -> None:
        real(self, *arguments)
        raise RuntimeError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(files.Sink, method, cut_off)
        with pytest.raises(RuntimeError, match="cut off"):
            fraud(tmp_path).run(checkpoint=state, fresh=fresh, partitions=3)
    summary = fraud(tmp_path).run(checkpoint=state, partitions=1)
    assert (summary.rows, summary.sealed, alerts(tmp_path)) == (4, True, [("a", "00:00:30")])


def test_a_schema_of_a_start_that_was_refused_is_not_kept(tmp_path: Path) -> None:
    def inferred() -> hr.Job:
        read = hr.read.files(tmp_path / "in", format="json", name="rows")
        return hr.job("copy", read.write.files(tmp_path / "out", format="json", name="out"))

    put(tmp_path / "in", "1.json", ['{"a": 1}'])
    (tmp_path / "out" / "_headrace").mkdir(parents=True)
    owner = tmp_path / "out" / "_headrace" / "owner.json"
    owner.write_text('{"format": 1, "job": "other", "sink": "out", "checkpoint": "c"}')
    with pytest.raises(HeadraceError, match="FOLDER_OWNED"):
        inferred().run(checkpoint=tmp_path / "state")
    owner.unlink()
    put(tmp_path / "in", "2.json", ['{"a": 2, "b": 3}'])
    inferred().run(checkpoint=tmp_path / "state")
    assert sorted(str(row) for row in jobs.lines(tmp_path / "out")) == ["{'a': 1}", "{'a': 2, 'b': 3}"]


@pytest.mark.parametrize("mark", ["sealed", "sealing"])
def test_input_that_had_an_end_and_has_none_now(tmp_path: Path, mark: str) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", FIRST)
    fraud(tmp_path).run(checkpoint=state)
    if mark == "sealing":
        (state / "sealed").unlink()
    check_error(
        """
        CHECKPOINT_SEALED: charges is unbounded now, and the job has read its bounded input to the end and fired all its timers
          hint: start over with fresh=True; flush=False keeps a job open for later input
          more: headrace error CHECKPOINT_SEALED
        """,
        lambda: fraud(tmp_path, follow=True).start(checkpoint=state),
    )
    # nothing is locked
    assert fraud(tmp_path).run(checkpoint=state).sealed


def test_a_refused_start_gives_everything_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def stop(self) -> None:
            raise RuntimeError("the query does not stop")

    started: list[Any] = []

    def start_query(*arguments: Any, **named: Any) -> Any:
        if started:
            raise HeadraceError("WRONG_TYPE", "the kernel refuses")
        started.append(Broken())
        return started[0]

    closed: list[str] = []

    def close(self: memory.Sink) -> None:
        closed.append("closed")
        raise RuntimeError("the sink does not close")

    monkeypatch.setattr(start, "start_query", start_query)
    monkeypatch.setattr(memory.Sink, "close", close)
    one = hr.read.memory([("a", 1)], "k string, v int", name="one")
    two = hr.read.memory([("a", 1)], "k string, v int", name="two")
    job = compile(hr.job("two", one.write.memory(name="first"), two.write.memory(name="second")).plan)
    for _ in range(2):
        with pytest.raises(HeadraceError, match="WRONG_TYPE: the kernel refuses"):
            start.begin(job, tmp_path / "state")
        started.clear()
    assert closed == ["closed"] * 4
