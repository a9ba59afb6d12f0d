"""What an epoch that is run again finds, and what explain says of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace import ports
from headrace.errors import HeadraceError
from headrace.ops import Sink as SinkNode
from headrace.ops.write import Sink
from headrace.ports.weights import changes_of
from tests.spark.lookups.shelf import Shelf


class Failing(ports.Sink):
    """Keeps what each attempt of an epoch brings; the first attempt fails when it has all rows."""

    connector: ClassVar[str] = "memory"

    def __init__(self) -> None:
        self.attempts: list[tuple[int, list[Any]]] = []

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits("transactional", "a test keeps it")

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Failing:
        return cls()

    def open(self, context: ports.SinkContext) -> None:
        self.context = context

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        self.attempts.append((epoch, [row for row, _ in changes_of(staged, self.context)]))
        if len(self.attempts) == 1:
            raise OSError("the disk is gone")


def job(stream: hr.Stream, sink: Failing) -> hr.Job:
    return hr.job("replayed", Sink(SinkNode(stream._node, "memory", {}, "append", live=sink, name="out"), sink))


@pytest.mark.parametrize("constant", [False, True])
def test_an_epoch_that_is_run_again_finds_what_is_there_then(shelf: Shelf, tmp_path: Path, constant: bool) -> None:
    """So the sink is at least once; a table that is said to be constant and is not would not be found out."""
    events = hr.read.memory([("a",), ("b",)], "k string", name="told")
    shelf.put(a="1", b="1")
    sink = Failing()
    lookup_job = job(events.lookup(shelf.table(constant), on="k"), sink)
    with pytest.raises(HeadraceError):
        lookup_job.run(checkpoint=tmp_path / "checkpoint", progress=False)
    shelf.put(a="2")
    lookup_job.run(checkpoint=tmp_path / "checkpoint", progress=False)
    assert [(epoch, sorted(rows)) for epoch, rows in sink.attempts] == [(0, [("a", "1"), ("b", "1")]), (0, [("a", "2"), ("b", "1")])]
    explained = lookup_job.explain()
    guarantee, lookup = explained.facts["guarantee"]["out"].text, explained.facts["lookup"]["told.lookup_shelf"].text
    requests = "at most 200 keys a request, at most 4 requests at once on each executor; no answer is cached; "
    if constant:
        assert guarantee.startswith("exactly once: a test keeps it")
        assert lookup == f"{requests}a row gets the same values whenever it arrives: the table is declared constant"
        lookup_job.require("exactly once")
    else:
        why = "lookups may return other values when an epoch is replayed (told.lookup_shelf: the shelf is filled anew)"
        assert guarantee == f"at least once: {why}"
        assert lookup == f"{requests}a row gets the values at its arrival, so a second run may give other results: the shelf is filled anew"
        with pytest.raises(HeadraceError, match="at least once"):
            lookup_job.require("exactly once")


def test_a_stored_plan_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its checkpoint goes on with other lookups than it had: they keep nothing."""
    monkeypatch.chdir(tmp_path)
    Path("in.json").write_text('{"k": "a", "n": 1}\n')
    Path("t.csv").write_text("k,v\na,1\n")

    def stored_job(*others: str) -> hr.Job:
        stream = hr.read.files("in.json", format="json", schema="k string, n int", name="events")
        for name in others:
            table = hr.lookup.files("t.csv", format="csv", schema="k string, v string", name=name)
            stream = stream.lookup(table, on="k").rename({"v": name})
        return hr.job("stored", stream.write.files("out", format="json", name="out"))

    plan = stored_job("first").plan
    hr.Job(type(plan).from_json(plan.to_json())).run(checkpoint="checkpoint", progress=False, flush=False)
    stored_job("second", "first").run(checkpoint="checkpoint", progress=False, flush=False)
    lines = [line for file in Path("out").glob("*.json") for line in file.read_text().splitlines()]
    assert lines == ['{"k":"a","n":1,"first":"1"}']


class Count(hr.Program):
    c = hr.Value("bigint", default=0)

    def on_event(self, e: hr.Row) -> None:
        self.c.set(self.c.get() + 1)
        hr.emit(k=self.key.k, c=self.c.get())


def test_a_program_keeps_its_state_when_a_lookup_is_put_in_front_of_it(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()

    def counting_job(looked_up: bool) -> hr.Job:
        events = hr.read.files(tmp_path / "in", format="json", schema="k string", name="events")
        events = events.lookup(shelf.table(), on="k") if looked_up else events
        return hr.job("kept", events.key_by("k").process(Count).write.files(tmp_path / "out", format="json", name="out"))

    for number, looked_up in enumerate((False, True, False)):
        (tmp_path / "in" / f"{number}.json").write_text('{"k": "a"}\n')
        counting_job(looked_up).run(checkpoint=tmp_path / "checkpoint", progress=False, flush=False)
    lines = [line for file in (tmp_path / "out").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(lines) == [f'{{"k":"a","c":{n}}}' for n in (1, 2, 3)]
