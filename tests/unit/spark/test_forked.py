"""What a fork takes over from its parent, in a checkpoint that is only files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.durable.sums import CURE, text_of
from headrace.errors import HeadraceError
from headrace.ops.sink import restored_sink
from headrace.ports import Sink
from headrace.spark.checkpoint import forked
from headrace.spark.checkpoint.ancestors import Ancestor, ancestors, line, store_ancestors
from headrace.spark.checkpoint.folder import Stored, stored_in
from headrace.spark.checkpoint.forked import separate, settle
from headrace.spark.checkpoint.history import History
from headrace.spark.checkpoint.record import Record, Totals, Written, place_of, recorded
from headrace.spark.compile.identity import Identity, QueryIdentity
from tests.unit.errors import check_error


def kafka(servers: str, topic: str = "charges", **options: Any) -> Sink:
    return restored_sink("kafka", {"topic": topic, "servers": servers, **options})


def http(url: str) -> Sink:
    return restored_sink("http", {"url": url})


PLAN = {"format": 1, "job": "first", "settings": {}, "nodes": [], "sinks": []}


def made(folder: Path, *, counted: int) -> Stored:
    """A checkpoint whose query `main` was interrupted in its epoch 1, and whose query `late` in its first."""
    for name, ended, begun in (("main", 0, 1), ("late", -1, 0)):
        query = folder / "queries" / name
        for log, last in (("offsets", begun), ("commits", ended)):
            (query / log).mkdir(parents=True)
            for epoch in range(last + 1):
                (query / log / f"{epoch}").write_text("v1\n{}\n")
        history = History(folder / "epochs" / name, query, "plan")
        for epoch in range(begun + 1):
            history.begin(epoch)
    totals = Totals(counted, {("rows", 0, 0, "read"): 7}, {"out": 3}, {"out": Written(0, "x", "place")})
    Record(folder / "record", "main", 4).store(totals)
    for name in (
        "dead_letters/main/a",
        "refused/out/b",
        "kafka/out.json",
        "foreach_batch/out/c",
        "repaired/rows/1.json",
        "history.jsonl",
        "sealing",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}\n")
    queries = tuple(QueryIdentity(name, ("rows",), 1, "none", ()) for name in ("main", "late"))
    stored = Stored("1f", "first", PLAN, {}, 2, Identity(queries, 1), {"gone": 7})
    (folder / "job.json").write_text(text_of(stored.to_json()))
    return stored


def test_what_a_fork_has(tmp_path: Path) -> None:
    stored = made(tmp_path, counted=0)
    parent = History(tmp_path / "epochs" / "main", tmp_path / "queries" / "main", "").of(0)
    separate(tmp_path, stored, "second", [NEAR])
    assert ancestors(tmp_path) == (NEAR,)
    fork = stored_in(tmp_path)
    assert fork is not None
    assert (fork.job, fork.plan["job"], fork.partitions, dict(fork.adopted)) == ("second", "second", 2, {})
    assert fork.id.startswith("fork-") and fork.id != stored.id
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "epochs",
        "forked.json",
        "job.json",
        "queries",
        "record",
        "repaired",
        "sealing",
    ]
    assert [path.name for path in (tmp_path / "queries").iterdir()] == ["main"]
    assert [path.name for path in (tmp_path / "queries" / "main" / "offsets").iterdir()] == ["0"]
    assert [str(path.relative_to(tmp_path / "epochs")) for path in (tmp_path / "epochs").rglob("*.json")] == ["main/0.json"]
    history = History(tmp_path / "epochs" / "main", tmp_path / "queries" / "main", "")
    assert json.loads((tmp_path / "epochs" / "main" / "0.json").read_text())["forked"] == parent
    # a sink with the epoch of the parent is not one of the fork
    assert history.names(0) == [history.of(0)] != [parent]
    assert history.forked() == 0
    history.check(0)
    settle(tmp_path, fork)
    totals = recorded(tmp_path / "record", "main")
    assert (totals.epoch, dict(totals.counts), totals.rows, totals.written) == (0, {("rows", 0, 0, "read"): 7}, {}, {})


def test_an_epoch_that_is_counted_already(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="EPOCH_UNFINISHED: epoch 1 of query main was interrupted"):
        separate(tmp_path, made(tmp_path, counted=1), "second", [])


def test_a_savepoint_of_such_an_epoch(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError) as refused:
        separate(tmp_path, made(tmp_path, counted=1), "second", [], of_savepoint=True)
    assert refused.value.hint == "nothing was changed: run first once, make another savepoint, and fork that"


def test_an_epoch_with_undelivered_corrections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are delivered again if the epoch is not counted, and refused if it is."""
    monkeypatch.setattr(forked, "undelivered", lambda *of: {"sums": None})
    stored = made(tmp_path / "counted", counted=1)
    with pytest.raises(HeadraceError, match="EPOCH_UNFINISHED"):
        separate(tmp_path / "counted", stored, "second", [])
    separate(tmp_path / "waiting", made(tmp_path / "waiting", counted=0), "second", [])
    assert sorted(path.name for path in (tmp_path / "waiting" / "queries" / "main" / "offsets").iterdir()) == ["0", "1"]


NEAR = Ancestor("2f", "second", {"/out2": "sums"}, (("main", "sums"),))
FAR = Ancestor("1f", "first", {"/out": "sums"}, (("main", "sums"), ("main", "rows")))


def test_ancestors(tmp_path: Path) -> None:
    assert ancestors(tmp_path) == ()
    store_ancestors(tmp_path, [NEAR, FAR])
    assert ancestors(tmp_path) == (NEAR, FAR)
    text = (tmp_path / "forked.json").read_text()
    for damaged in (text[:-9], text.replace("/out2", "/out3"), text_of({"format": 1, "ancestors": [{"id": 7}]}), text_of({})):
        (tmp_path / "forked.json").write_text(damaged)
        with pytest.raises(HeadraceError, match=r"CHECKPOINT_UNREADABLE: .*forked\.json cannot be read"):
            ancestors(tmp_path)
    (tmp_path / "forked.json").write_text(text_of({"format": 3, "ancestors": []}))
    with pytest.raises(HeadraceError, match=r"CHECKPOINT_FORMAT: .*forked\.json has format 3; .* reads formats 1 to 2"):
        ancestors(tmp_path)


def test_a_lost_file(tmp_path: Path) -> None:
    """The id of a fork says that it is one."""
    separate(tmp_path, made(tmp_path, counted=0), "second", [NEAR])
    (tmp_path / "forked.json").unlink()
    check_error(
        f"""
        CHECKPOINT_INCOMPLETE: <folder>/forked.json is gone, and second is a fork
          hint: parts of the checkpoint are missing, or were copied at different times.
                {CURE}.
          more: headrace error CHECKPOINT_INCOMPLETE
        """,
        lambda: ancestors(tmp_path),
        hide={str(tmp_path): "<folder>"},
    )
    with pytest.raises(HeadraceError, match="CHECKPOINT_INCOMPLETE"):
        line(tmp_path)


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [
        (kafka("a:9092,b:9092"), kafka("B:9092,a:9092"), True),
        (kafka("a:9092"), kafka("b:9092"), False),
        (kafka("a:9092"), kafka("a:9092", "orders"), False),
        (kafka("a:9092"), kafka("a:9092", value="debezium", key="n"), True),
        (http("https://Example.org:443/in#1"), http("HTTPS://example.org/in"), True),
        (http("https://example.org/in"), http("http://example.org/in"), False),
        (http("https://example.org/in?to=a"), http("https://example.org/in?to=b"), False),
    ],
)
def test_locations(theirs: Sink, ours: Sink, same: bool, tmp_path: Path) -> None:
    """Whether two sinks write to one place, however it is spelled."""
    node = {"op": "sink", "name": "out", "connector": theirs.connector, "options": theirs.options()}
    stored = replace(made(tmp_path, counted=0), plan={**PLAN, "nodes": [node]})
    (tmp_path / "job.json").write_text(text_of(stored.to_json()))
    Record(tmp_path / "record", "main", 5).store(Totals(0, written={"out": Written(0, "x", place_of(theirs))}))
    (first,) = line(tmp_path)
    assert first.at(ours) == ("out" if same else None)


def test_places_of_the_first_format(tmp_path: Path) -> None:
    """A file of an earlier version has the places as the record names them, without the servers of Kafka: these are refused too."""
    older = {"id": "1f", "job": "first", "places": {"kafka orders (json)": "sums"}, "sinks": []}
    (tmp_path / "forked.json").write_text(text_of({"format": 1, "ancestors": [older]}))
    (one,) = ancestors(tmp_path)
    assert [one.at(kafka("a:9092", topic)) for topic in ("orders", "others")] == ["sums", None]


def test_a_job_then_and_now(tmp_path: Path) -> None:
    """A job that was started over since its savepoint is known by two ids."""
    then, now = tmp_path / "then", tmp_path / "now"
    stored = made(then, counted=0)
    assert line(then, tmp_path / "missing") == (Ancestor("1f", "first", {"place": "out"}, ()),)
    made(now, counted=0)
    (now / "job.json").write_text(text_of(replace(stored, id="3f").to_json()))
    store_ancestors(then, [NEAR])
    assert [one.id for one in line(then, now, then)] == ["1f", "3f", "2f"]
