"""Epochs of an Iceberg sink, and its snapshots as a source reads them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from headrace import ports
from headrace.connectors.iceberg import Sink
from headrace.connectors.iceberg.log import Log
from headrace.connectors.iceberg.place import Place
from headrace.errors import HeadraceError
from headrace.schema import parse_schema
from tests.scale import FULL
from tests.unit.connectors.delta.tasks import context
from tests.unit.connectors.iceberg.tasks import catalog, data_files, live_files, opened, rows_of, sink, table
from tests.unit.connectors.staged import stage
from tests.unit.errors import check_error


def rows(*values: tuple[str | None, int]) -> pa.Table:
    return pa.table({"k": pa.array([k for k, _ in values], pa.string()), "n": pa.array([n for _, n in values], pa.int64())})


def weighed(batch: pa.Table) -> pa.Table:
    return batch.append_column("_weight", pa.array([1] * batch.num_rows, pa.int64()))


def test_an_epoch_is_one_commit_that_carries_its_number(tmp_path: Path) -> None:
    out = opened(sink(tmp_path), context(tmp_path))
    out.commit(0, stage(out, 0, rows(("a", 1), ("b", 2), ("c", 3))))
    out.commit(1, stage(out, 1, rows((None, 4))))
    out.commit(2, stage(out, 2, rows()))
    assert sorted(rows_of(tmp_path), key=str) == [("a", 1), ("b", 2), ("c", 3), (None, 4)]
    loaded = table(tmp_path)
    assert loaded.properties["headrace.epoch.c1.main"] == "1/1/"
    snapshot = loaded.current_snapshot()
    assert snapshot is not None and snapshot.summary is not None
    properties = snapshot.summary.additional_properties
    assert (properties["headrace.job"], properties["headrace.sink"], properties["headrace.epoch"], properties["headrace.term"]) == (
        "job",
        "sink",
        "1",
        "1",
    )


def test_an_epoch_that_comes_again_is_known_and_orphans_go(tmp_path: Path) -> None:
    out = opened(sink(tmp_path, partition_by="k"), context(tmp_path))
    out.commit(0, stage(out, 0, rows(("a", 1), ("a", 2)), ["a"]))
    stage(out, 1, rows(("a", 3), ("a", 4)), ["a"])
    again = opened(sink(tmp_path, partition_by="k"), context(tmp_path, term=2))
    assert data_files(tmp_path) == live_files(tmp_path)
    again.commit(0, stage(again, 0, rows(("a", 1), ("a", 2)), ["a"]))
    again.commit(1, stage(again, 1, rows((None, 3), (None, 4)), [None]))
    assert sorted(rows_of(tmp_path), key=str) == [("a", 1), ("a", 2), (None, 3), (None, 4)]
    assert data_files(tmp_path) == live_files(tmp_path)
    assert {task.file.partition[0] for task in table(tmp_path).scan().plan_files()} == {"a", None}


@pytest.mark.parametrize("key", [None, "k"])
def test_a_process_that_was_replaced_cannot_write(tmp_path: Path, key: str | None) -> None:
    def staged(out: Sink, epoch: int, *values: tuple[str, int]) -> Any:
        return stage(out, epoch, weighed(rows(*values)) if key else rows(*values))

    mode = "upsert" if key else "append"
    old = opened(sink(tmp_path, key=key), context(tmp_path, mode=mode))
    old.commit(0, staged(old, 0, ("a", 0), ("b", 0)))
    late = staged(old, 1, ("a", 1), ("b", 1))
    new = opened(sink(tmp_path, key=key), context(tmp_path, mode=mode, term=2))
    with pytest.raises(HeadraceError, match="SINK_FENCED"):
        old.commit(1, late)
    new.commit(1, staged(new, 1, ("a", 1), ("b", 1)))
    with pytest.raises(HeadraceError, match="SINK_FENCED"):
        old.commit(2, staged(old, 2, ("z", 9)))
    assert sorted(rows_of(tmp_path)) == sorted([*([] if key else [("a", 0), ("b", 0)]), ("a", 1), ("b", 1)])


@pytest.mark.parametrize("key", [None, "k"])
def test_a_process_that_is_replaced_between_its_look_and_its_commit_is_refused(tmp_path: Path, key: str | None) -> None:
    mode = "upsert" if key else "append"
    old = opened(sink(tmp_path, key=key), context(tmp_path, mode=mode))
    batch = rows(("a", 1), ("b", 1))
    late = stage(old, 0, weighed(batch) if key else batch)
    commits, attempt = [], old._epochs._attempt

    def paused(write: Callable[..., None], mark: ports.Mark) -> bool:
        def then(transaction: Any, properties: dict[str, str]) -> None:
            write(transaction, properties)
            if not commits:
                opened(sink(tmp_path, key=key), context(tmp_path, mode=mode, term=2))

        commits.append(attempt(then, mark))
        return commits[-1]

    old._epochs._attempt = paused  # type: ignore[method-assign]
    check_error(
        "SINK_FENCED: sink: start 2 of this job has taken over db.t from start 1\n"
        "  hint: nothing more of this epoch was written; the process that took over continues with it\n"
        "  more: headrace error SINK_FENCED",
        lambda: old.commit(0, late),
    )
    assert commits == [False], "the catalog itself refused the commit"
    assert rows_of(tmp_path) == []


def test_a_process_that_wakes_up_behind_its_commit_leaves_what_its_successor_has_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    successors: list[tuple[Sink, Any]] = []

    def opened_by(term: int) -> Sink:
        return opened(sink(tmp_path, key="k"), context(tmp_path, term=term, mode="upsert"))

    def asleep(name: str, of: str) -> None:
        if not successors:
            new = opened_by(2)
            successors.append((new, stage(new, 1, weighed(rows(("b", 2))))))

    monkeypatch.setattr("headrace.connectors.lake.sink.point", asleep)
    old = opened_by(1)
    old.commit(0, stage(old, 0, weighed(rows(("a", 1)))))
    [(new, staged)] = successors
    new.commit(1, staged)
    assert sorted(rows_of(tmp_path)) == [("a", 1), ("b", 2)]
    assert not list((tmp_path / "wh").rglob("_headrace/**/*.parquet"))


def test_two_writers(tmp_path: Path) -> None:
    first = opened(sink(tmp_path), context(tmp_path))
    second = opened(sink(tmp_path), context(tmp_path, job="other", checkpoint_id="c2"))
    for epoch in range(3):
        first.commit(epoch, stage(first, epoch, rows(("first", epoch))))
        second.commit(epoch, stage(second, epoch, rows(("second", epoch))))
        table(tmp_path).append(rows(("by hand", epoch)))
    assert sorted(rows_of(tmp_path)) == sorted((who, n) for who in ("first", "second", "by hand") for n in range(3))


def test_a_table_that_another_checkpoint_wrote(tmp_path: Path) -> None:
    out = opened(sink(tmp_path), context(tmp_path))
    out.commit(0, stage(out, 0, rows(("a", 1))))
    check_error(
        "TABLE_OWNED: db.t was written by the sink sink of the job job, from another checkpoint or query\n"
        "  hint: write to another table, continue from the checkpoint that wrote it, or start with fresh=True, which empties it\n"
        "  more: headrace error TABLE_OWNED",
        lambda: opened(sink(tmp_path), context(tmp_path, checkpoint_id="c2")),
    )
    fresh = opened(sink(tmp_path), context(tmp_path, "k string", checkpoint_id="c2", fresh=True))
    fresh.commit(0, stage(fresh, 0, rows(("b", 2)).select(["k"])))
    opened(sink(tmp_path), context(tmp_path, "k string", checkpoint_id="c2", fresh=True, term=2))
    assert rows_of(tmp_path) == [("b",)]


@pytest.mark.parametrize("keys", [("k",), ("k", "d")])
def test_random_upserts(tmp_path: Path, keys: tuple[str, ...]) -> None:
    chance = random.Random(len(keys))
    arrow = pa.schema({"k": pa.string(), "d": pa.float64(), "n": pa.int64(), "_weight": pa.int64()})
    model: dict[str, tuple[Any, ...]] = {}
    epoch = 0
    for term in range(2):
        out = opened(sink(tmp_path, key=list(keys)), context(tmp_path, "k string, d double, n bigint", mode="upsert", term=term + 1))
        for _ in range(5):
            changes = []
            for k in chance.sample([None, "a", "b'c", "ä\U0001f600"], 2):
                d = chance.choice([None, 1.5, float("nan")]) if len(keys) == 2 else 0.5
                key = repr((k, d))
                old = model.pop(key, None)
                if old is not None:
                    changes.append((*old, -1))
                if old is None or chance.random() < 0.7:
                    model[key] = (k, d, epoch)
                    changes.append((*model[key], 1))
            chance.shuffle(changes)
            out.commit(epoch, stage(out, epoch, pa.Table.from_pylist([dict(zip(arrow.names, row, strict=True)) for row in changes], arrow)))
            epoch += 1
            assert sorted(map(repr, rows_of(tmp_path))) == sorted(map(repr, model.values()))


def log(folder: Path, **overrides: Any) -> Log:
    settings: dict[str, Any] = {"start": None, "changes": False, "follow": True, "limit": None, "time_zone": "UTC", **overrides}
    table_log = Log(Place("db.t", catalog(folder)), settings.pop("start"), **settings)
    table_log.pause = 0
    return table_log


def net(files: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    weights: Counter[tuple[Any, ...]] = Counter()
    for file in files:
        for row in duckdb.sql(f"SELECT k, n FROM read_parquet('{file['path']}')").fetchall():
            weights[row] += -1 if file["change"] == "delete" else 1
    return weights


@pytest.mark.parametrize("seed", range(4 if FULL else 1))
def test_snapshots_as_changes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    out = opened(sink(tmp_path), context(tmp_path))
    out.commit(0, stage(out, 0, rows(("a", 0), ("b", 0))))
    source, at, weights = log(tmp_path, changes=True, limit=chance.choice([None, 1])), None, Counter()
    for number in range(1, 12):
        match chance.randrange(3):
            case 0:
                with pytest.warns(UserWarning, match="did not match") if not_there(tmp_path, number % 3) else no_warning():
                    table(tmp_path).delete(f"n = {number % 3}")
            case 1:
                table(tmp_path).append(rows((chance.choice("abc"), number % 3)))
            case _:
                table(tmp_path).overwrite(rows(("z", number)), overwrite_filter="k = 'a'") if any(
                    row[0] == "a" for row in rows_of(tmp_path)
                ) else table(tmp_path).append(rows(("a", number)))
        if chance.random() < 0.4:
            source = log(tmp_path, changes=True)
        while (end := source.latest(at)) is not None:
            files = source.files(at, end)
            assert log(tmp_path, changes=True).files(at, end) == files
            weights.update(net(files))
            at = end
        assert {row: n for row, n in weights.items() if n} == Counter(rows_of(tmp_path))
    assert log(tmp_path).waiting(at) == 0


def not_there(folder: Path, n: int) -> bool:
    return all(row[1] != n for row in rows_of(folder))


def no_warning() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def test_rows_that_go_are_an_error_where_rows_only_come(tmp_path: Path) -> None:
    out = opened(sink(tmp_path), context(tmp_path))
    out.commit(0, stage(out, 0, rows(("a", 0), ("b", 0))))
    source = log(tmp_path)
    at = source.latest(None)
    table(tmp_path).delete("k = 'a'")
    end = source.latest(at)
    assert end is not None
    check_error(
        "TABLE_CHANGED: version 3 of db.t deletes or updates rows, but the source reads inserted rows only\n"
        "  hint: read the changes: hr.read.iceberg(..., changes=True)\n"
        "  more: headrace error TABLE_CHANGED",
        lambda: source.files(at, end),
    )


@pytest.mark.parametrize("start", ["latest", "1999-01-01", None])
def test_where_reading_begins(tmp_path: Path, start: Any) -> None:
    out = opened(sink(tmp_path), context(tmp_path))
    for epoch in range(3):
        out.commit(epoch, stage(out, epoch, rows(("a", epoch))))
    source = log(tmp_path, start=start)
    at = source.latest(None)
    assert at is not None
    assert sum(net(source.files(None, at)).values()) == (0 if start == "latest" else 3)
    out.commit(3, stage(out, 3, rows(("a", 3))))
    later = log(tmp_path, start=start)
    end = later.latest(at)
    assert end is not None and net(later.files(at, end)) == Counter([("a", 3)])


def test_an_empty_table_is_read_from_its_first_row_on(tmp_path: Path) -> None:
    out = sink(tmp_path)
    out.place.catalog().create_namespace("db")
    out.place.catalog().create_table("db.t", pa.schema({"k": pa.string(), "n": pa.int64()}))
    source = log(tmp_path)
    at = source.latest(None)
    table(tmp_path).append(rows(("a", 1)))
    end = source.latest(at)
    assert end is not None and net(source.files(at, end)) == Counter([("a", 1)])


def test_a_table_that_was_renamed_in_parts_is_refused(tmp_path: Path) -> None:
    opened(sink(tmp_path), context(tmp_path))
    with table(tmp_path).update_schema() as update:
        update.rename_column("n", "m")
    check_error(
        "TABLE_FEATURE: the table db.t had column m under another name, or another column under that name\n"
        "  hint: read a copy of the table\n"
        "  more: headrace error TABLE_FEATURE",
        lambda: log(tmp_path),
    )


def test_what_an_upsert_would_not_keep(tmp_path: Path) -> None:
    check_error(
        "WRONG_TYPE: sink: column s has structs in an array or map, which Iceberg cannot upsert\n"
        '  hint: convert it to a string: with_columns(s="to_json(s)"), or write its changes: mode="changes"\n'
        "  more: headrace error WRONG_TYPE",
        lambda: sink(tmp_path, key="k").suits("sink", parse_schema("k string, s array<struct<a: int>>")),
    )
