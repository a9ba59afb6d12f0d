"""Sinks that commit task by task: a replay brings each row to the task that had it before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors import files
from headrace.errors import HeadraceError
from headrace.ops.sink import sink
from headrace.ops.stream import Stream
from headrace.ops.write import Sink as Written
from headrace.spark.compile.job import compile
from headrace.spark.run.start import start
from headrace.testing import Harness

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPLIT = "spark.sql.files.maxPartitionBytes"


class PlacedSink(ports.Sink):
    """Leaves a file for each try of a task; refuses to commit as long as it is told to."""

    connector: ClassVar[str] = "memory"

    def __init__(self, folder: Path, *, key: tuple[str, ...] = (), refuses: bool = False) -> None:
        self.folder = folder
        self.refuses = refuses
        self._key = key
        folder.mkdir()

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits(
            "transactional", "it is a test", ("append", "upsert"), keyed=("append", "upsert"), placed=True, visible="task"
        )

    @property
    def key(self) -> tuple[str, ...]:
        return self._key

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> PlacedSink:
        raise TypeError("it lives in its test only")

    def open(self, context: ports.SinkContext) -> None:
        self.unfinished = context.unfinished

    def stage(self) -> dict[str, Any]:
        return {"kind": "writer", "class": "writers.Noted", "options": {"folder": str(self.folder)}}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        if self.refuses:
            raise OSError("not now")

    def take(self) -> dict[int, list[str]]:
        """What each task wrote, in the order in which it did; it is gone then."""
        lines_by_task: dict[int, list[str]] = {}
        for file in sorted(self.folder.glob("[0-9]*")):
            if lines := file.read_text().splitlines():
                lines_by_task[int(file.name.split("-")[1])] = [line.replace(" UTC", "") for line in lines]
            file.unlink()
        return lines_by_task


def written(stream: Stream, to: PlacedSink, mode: str | None = None) -> Written:
    return Written(sink(stream._node, to, mode, "out"), to)


@pytest.fixture
def split(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.unset(SPLIT)


def source(folder: Path) -> Stream:
    folder.mkdir()
    for number in range(3):
        rows = ({"k": n, "v": f"v{n % 7}"} for n in range(number, 600, 3))
        (folder / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return hr.read.files(folder, format="json", schema="k int, v string", name="rows")


def failed_and_again(spark: SparkSession, job: Any, out: PlacedSink, folder: Path) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """What the tasks of an epoch wrote whose commit failed, and what they wrote when it came again, with input that is split otherwise."""
    compiled = compile(job.plan)
    spark.conf.set(SPLIT, "1m")
    out.refuses = True
    with pytest.raises(HeadraceError, match="not now"):
        start(compiled, folder, partitions=3).wait()
    before = out.take()
    assert out.unfinished is None
    spark.conf.set(SPLIT, "1k")
    out.refuses = False
    start(compiled, folder).wait()
    assert out.unfinished == 0
    return before, out.take()


def by_task(lines_by_task: dict[int, list[str]]) -> dict[int, list[str]]:
    return {task: sorted(lines) for task, lines in lines_by_task.items()}


@pytest.mark.parametrize("key", [(), ("v",)], ids=["by bytes", "by key"])
def test_an_epoch_that_comes_again_is_dealt_out_alike(
    writers: None, spark: SparkSession, split: None, tmp_path: Path, key: tuple[str, ...]
) -> None:
    rows = source(tmp_path / "in")
    out = PlacedSink(tmp_path / "out", key=key)
    before, after = failed_and_again(spark, hr.job("placed", written(rows.filter("k % 2 = 0"), out)), out, tmp_path / "ck")
    assert before
    assert by_task(before) == by_task(after)
    assert sum(map(len, after.values())) == 300
    if key:
        homes = {task: {line.split()[1] for line in lines} for task, lines in after.items()}
        assert sum(map(len, homes.values())) == 7


def test_behind_a_level_rows_lie_by_their_operators(writers: None, spark: SparkSession, split: None, tmp_path: Path) -> None:
    rows = source(tmp_path / "in")
    out = PlacedSink(tmp_path / "out")
    counted = rows.group_by("k").agg(n="count(*)").filter("n > 1")
    job = hr.job("placed", written(rows, out), counted.write.memory(key="k"))
    before, after = failed_and_again(spark, job, out, tmp_path / "ck")
    assert by_task(before) == by_task(after)
    assert set(after) == {0, 1, 2}
    assert "query main, its rows pass 2 levels untouched, its rows are in the tasks of the last level" in str(job.explain(verbose=True))


def test_sources_that_place_their_rows_keep_them(
    writers: None, spark: SparkSession, split: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traits = ports.SourceTraits(bounded=True, replayable=True, why="it is a test", placed=True)
    monkeypatch.setattr(files.Source, "traits", property(lambda _: traits))
    rows = source(tmp_path / "in")
    out = PlacedSink(tmp_path / "out")
    spark.conf.set(SPLIT, "1m")
    job = hr.job("placed", written(rows, out))
    start(compile(job.plan), tmp_path / "ck", partitions=50).wait()
    # Each file was read by a task, which wrote it.
    assert sorted(sorted(int(line.split()[0]) for line in lines) for lines in out.take().values()) == [
        list(range(number, 600, 3)) for number in range(3)
    ]
    assert "its rows stay in the tasks that read them" in str(job.explain(verbose=True))


def test_explain_says_how_rows_are_dealt_out(tmp_path: Path) -> None:
    rows = source(tmp_path / "in")
    for key, words in (((), "their bytes"), (("v", "k"), "v, k")):
        job = hr.job("placed", written(rows, PlacedSink(tmp_path / f"out{len(key)}", key=key), "append"))
        assert f"query main, its rows are distributed to the checkpoint's partitions by {words}" in str(job.explain(verbose=True))


def test_what_goes_is_followed_by_what_comes_in_its_place(writers: None, tmp_path: Path) -> None:
    """Also where the rows pass levels behind the one that makes them."""
    out = PlacedSink(tmp_path / "out", key=("k",))
    with Harness(partitions=3) as h:
        rows = h.source("rows", "k int, v string", changes=True)
        node = written(rows, out, "upsert")._use()
        h._sinks.append(node)
        counted = rows.group_by("v").agg(n="count(*)").group_by("n").agg(m="count(*)")
        h.collect(counted)
        h.commit({"rows": [("+", (k, "a")) for k in range(200)]})
        assert sum(map(len, out.take().values())) == 200
        h.commit({"rows": [change for k in range(200) for change in (("-", (k, "a")), ("+", (k, "b")))]})
        lines_by_task = out.take()
    assert len(lines_by_task) == 3
    for lines in lines_by_task.values():
        pairs = [(line.split()[0], line.split()[-1]) for line in lines]
        assert [sign for _, sign in pairs] == ["-1", "+1"] * (len(pairs) // 2)
        assert [key for key, _ in pairs[::2]] == [key for key, _ in pairs[1::2]]
    assert sum(map(len, lines_by_task.values())) == 400
