"""Epochs of a Delta sink: replays, orphans, owners, and processes that were replaced, in every order of their steps."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace import ports
from headrace.connectors import delta
from headrace.connectors.delta import Sink
from headrace.connectors.delta.place import Place
from headrace.errors import HeadraceError
from tests.unit.connectors.delta.tasks import context, data_files, live_files, opened, rows_of
from tests.unit.connectors.staged import stage
from tests.unit.errors import check_error


def rows(*values: tuple[str | None, int]) -> pa.Table:
    return pa.table({"k": pa.array([k for k, _ in values], pa.string()), "n": pa.array([n for _, n in values], pa.int64())})


def test_an_epoch_is_one_transaction_that_carries_its_number(tmp_path: Path) -> None:
    sink = opened(Sink(tmp_path / "t"), context(tmp_path))
    sink.commit(0, stage(sink, 0, rows(("a", 1), ("b", 2), ("c", 3))))
    sink.commit(1, stage(sink, 1, rows((None, 4))))
    assert sorted(rows_of(tmp_path / "t"), key=str) == [("a", 1), ("b", 2), ("c", 3), (None, 4)]
    table = DeltaTable(tmp_path / "t")
    assert (table.version(), table.transaction_version("headrace/c1/main")) == (2, 1)
    newest = table.history(1)[0]
    assert (newest["headrace.job"], newest["headrace.sink"], newest["headrace.epoch"]) == ("job", "sink", "1")


def test_an_epoch_without_rows_writes_nothing(tmp_path: Path) -> None:
    sink = opened(Sink(tmp_path / "t"), context(tmp_path))
    before = DeltaTable(tmp_path / "t").version()
    sink.commit(0, stage(sink, 0, rows()))
    assert DeltaTable(tmp_path / "t").version() == before


def test_an_epoch_that_comes_again_is_known_and_its_files_go(tmp_path: Path) -> None:
    sink = opened(Sink(tmp_path / "t"), context(tmp_path))
    sink.commit(0, stage(sink, 0, rows(("a", 1), ("b", 2))))
    again = opened(Sink(tmp_path / "t"), context(tmp_path, term=2))
    again.commit(0, stage(again, 0, rows(("a", 1), ("b", 2))))
    again.commit(1, stage(again, 1, rows(("c", 3))))
    assert sorted(rows_of(tmp_path / "t")) == [("a", 1), ("b", 2), ("c", 3)]
    assert data_files(tmp_path / "t") == live_files(tmp_path / "t")


def test_files_of_tasks_that_were_killed_go_at_the_next_start(tmp_path: Path) -> None:
    sink = opened(Sink(tmp_path / "t", partition_by="k"), context(tmp_path))
    only = pa.table({"n": pa.array([1, 2], pa.int64())})
    sink.commit(0, stage(sink, 0, only, ["a"]))
    stage(sink, 1, only, ["a"])
    stage(sink, 1, only, ["x y"])
    (tmp_path / "t" / "part-of-somebody-else.parquet").write_bytes(b"")
    assert len(data_files(tmp_path / "t")) == 7
    again = opened(Sink(tmp_path / "t", partition_by="k"), context(tmp_path, term=2))
    assert data_files(tmp_path / "t") == live_files(tmp_path / "t") | {"part-of-somebody-else.parquet"}
    again.commit(1, stage(again, 1, only, [None]))
    assert {path.split("/")[0] for path in live_files(tmp_path / "t")} == {"k=a", "k=__HIVE_DEFAULT_PARTITION__"}


def commit(sink: Sink, epoch: int, staged: Any) -> str:
    try:
        sink.commit(epoch, staged)
    except HeadraceError as error:
        return error.code
    return "done"


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("knew", ["nothing", "its own epochs"])
@pytest.mark.parametrize("when", ["before the other starts", "after it started", "after it wrote"])
def test_a_process_that_was_replaced_cannot_write(tmp_path: Path, key: str | None, knew: str, when: str) -> None:
    def staged(sink: Sink, epoch: int, *values: tuple[str, int]) -> Any:
        batch = rows(*values)
        return stage(sink, epoch, batch.append_column("_weight", pa.array([1] * batch.num_rows, pa.int64())) if key else batch)

    mode = "upsert" if key else "append"
    old = opened(Sink(tmp_path / "t", key=key), context(tmp_path, term=1, mode=mode))
    done = 0
    if knew == "its own epochs":
        old.commit(0, staged(old, 0, ("a", 0), ("b", 0)))
        done = 1
    late = staged(old, done, ("a", 1), ("b", 1))
    if when == "before the other starts":
        old._epochs.table.update_incremental()
        assert commit(old, done, late) == "done"
        new = opened(Sink(tmp_path / "t", key=key), context(tmp_path, term=2, mode=mode))
    else:
        new = opened(Sink(tmp_path / "t", key=key), context(tmp_path, term=2, mode=mode))
        if when == "after it wrote":
            new.commit(done, staged(new, done, ("a", 1), ("b", 1)))
        # It looks at the table before it commits, and is told.
        assert commit(old, done, late) in ("SINK_FENCED", "done")
        expected = [("a", 1), ("b", 1)] if when == "after it wrote" else []
        assert sorted(row for row in rows_of(tmp_path / "t") if row[1] == 1) == expected
    new.commit(done, staged(new, done, ("a", 1), ("b", 1)))
    assert commit(old, done + 1, staged(old, done + 1, ("z", 9))) == "SINK_FENCED"
    kept = [] if key or not done else [("a", 0), ("b", 0)]
    assert sorted(rows_of(tmp_path / "t")) == sorted([*kept, ("a", 1), ("b", 1)])
    assert all((tmp_path / "t" / path).exists() for path in live_files(tmp_path / "t"))


@pytest.mark.parametrize("key", [None, "k"])
def test_a_process_that_is_replaced_between_its_look_and_its_commit_is_refused(
    tmp_path: Path, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode = "upsert" if key else "append"
    old = opened(Sink(tmp_path / "t", key=key), context(tmp_path, term=1, mode=mode))
    batch = rows(("a", 1), ("b", 1))
    late = stage(old, 0, batch.append_column("_weight", pa.array([1, 1], pa.int64())) if key else batch)
    commits, attempt = [], old._epochs._attempt

    def pausing(step: Callable[..., Any], *, first: bool) -> Callable[..., Any]:
        """Just here the process stands still, and another one takes over and mends what it left."""

        def paused(*arguments: Any, **options: Any) -> Any:
            done = None if first else step(*arguments, **options)
            if not commits:
                opened(Sink(tmp_path / "t", key=key), context(tmp_path, term=2, mode=mode))
            return step(*arguments, **options) if first else done

        return paused

    def counted(write: Any, mark: ports.Mark) -> bool:
        commits.append(attempt(write, mark))
        return commits[-1]

    monkeypatch.setattr(old._epochs, "_attempt", counted)
    monkeypatch.setattr(delta.sink, "merge", pausing(delta.sink.merge, first=True))
    monkeypatch.setattr(old, "_actions", pausing(old._actions, first=False))
    check_error(
        f"SINK_FENCED: sink: start 2 of this job has taken over {tmp_path}/t from start 1\n"
        "  hint: nothing more of this epoch was written; the process that took over continues with it\n"
        "  more: headrace error SINK_FENCED",
        lambda: old.commit(0, late),
    )
    assert commits == [False], "Delta itself refused the commit"
    assert rows_of(tmp_path / "t") == []


def test_a_process_that_wakes_up_behind_its_commit_leaves_what_its_successor_has_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def weighed(*values: tuple[str, int]) -> pa.Table:
        return rows(*values).append_column("_weight", pa.array([1] * len(values), pa.int64()))

    def opened_by(term: int) -> Sink:
        return opened(Sink(tmp_path / "t", key="k"), context(tmp_path, term=term, mode="upsert"))

    successors: list[tuple[Sink, Any]] = []

    def asleep(name: str, of: str) -> None:
        if not successors:
            new = opened_by(2)
            successors.append((new, stage(new, 1, weighed(("b", 2)))))

    monkeypatch.setattr("headrace.connectors.lake.sink.point", asleep)
    old = opened_by(1)
    old.commit(0, stage(old, 0, weighed(("a", 1))))
    [(new, staged)] = successors
    new.commit(1, staged)
    assert sorted(rows_of(tmp_path / "t")) == [("a", 1), ("b", 2)]
    assert data_files(tmp_path / "t") == live_files(tmp_path / "t")


def test_other_writers_do_not_keep_an_epoch_from_being_written(tmp_path: Path) -> None:
    first = opened(Sink(tmp_path / "t"), context(tmp_path))
    second = opened(Sink(tmp_path / "t"), context(tmp_path, job="other", checkpoint_id="c2"))
    for epoch in range(3):
        first.commit(epoch, stage(first, epoch, rows(("first", epoch))))
        second.commit(epoch, stage(second, epoch, rows(("second", epoch))))
        write_deltalake(tmp_path / "t", rows(("by hand", epoch)), mode="append")
    assert sorted(rows_of(tmp_path / "t")) == sorted((who, n) for who in ("first", "second", "by hand") for n in range(3))


def test_a_table_that_another_checkpoint_wrote_is_not_written(tmp_path: Path) -> None:
    sink = opened(Sink(tmp_path / "t"), context(tmp_path))
    sink.commit(0, stage(sink, 0, rows(("a", 1))))
    check_error(
        f"TABLE_OWNED: {tmp_path}/t was written by the sink sink of the job job, from another checkpoint or query\n"
        "  hint: write to another table, continue from the checkpoint that wrote it, or start with fresh=True, which empties it\n"
        "  more: headrace error TABLE_OWNED",
        lambda: opened(Sink(tmp_path / "t"), context(tmp_path, checkpoint_id="c2")),
    )
    fresh = opened(Sink(tmp_path / "t"), context(tmp_path, "k string", checkpoint_id="c2", fresh=True))
    assert rows_of(tmp_path / "t") == [] and fresh.mark(context(tmp_path, checkpoint_id="c2")) == ports.Mark()
    fresh.commit(0, stage(fresh, 0, rows(("b", 2)).select(["k"])))
    again = opened(Sink(tmp_path / "t"), context(tmp_path, "k string", checkpoint_id="c2", fresh=True, term=2))
    assert rows_of(tmp_path / "t") == [("b",)] and again._epochs.state.mark.epoch == 0
    opened(Sink(tmp_path / "t"), context(tmp_path, "k string", job="guest", checkpoint_id="c3"))
    check_error(
        f"TABLE_OWNED: {tmp_path}/t was written by the sink sink of the job guest, from another checkpoint or query\n"
        "  hint: write to another table, continue from the checkpoint that wrote it, or delete those rows by hand: fresh=True does not, because they are not only this job's\n"
        "  more: headrace error TABLE_OWNED",
        lambda: opened(Sink(tmp_path / "t"), context(tmp_path, "k string", job="guest", checkpoint_id="c4", fresh=True)),
    )


@pytest.mark.parametrize("query", ["main", "other"])
@pytest.mark.parametrize("fresh", [False, True])
def test_two_sinks_of_one_start_at_one_table(tmp_path: Path, query: str, fresh: bool) -> None:
    """By two paths that are one: each would take the other's epochs for its own."""
    (tmp_path / "link").symlink_to(tmp_path / "t")
    assert Sink(tmp_path / "t").owns == Sink(tmp_path / "link").owns
    sink = opened(Sink(tmp_path / "t"), context(tmp_path, fresh=fresh))
    check_error(
        f"FOLDER_OWNED: the sinks sink and twin both write to {tmp_path}/link\n"
        "  hint: give each sink its own table; combine streams that have the same columns with union\n"
        "  more: headrace error FOLDER_OWNED",
        lambda: opened(Sink(tmp_path / "link"), context(tmp_path, name="twin", query=query, fresh=fresh)),
    )
    sink.commit(0, stage(sink, 0, rows(("a", 1))))
    again = opened(Sink(tmp_path / "link"), context(tmp_path, fresh=fresh))
    again.commit(1, stage(again, 1, rows(("b", 1))))
    assert sorted(rows_of(tmp_path / "t")) == [("a", 1), ("b", 1)]


def test_a_renamed_sink_goes_on(tmp_path: Path) -> None:
    sink = opened(Sink(tmp_path / "t"), context(tmp_path))
    sink.commit(0, stage(sink, 0, rows(("a", 1))))
    renamed = opened(Sink(tmp_path / "t"), context(tmp_path, name="other", term=2))
    renamed.commit(0, stage(renamed, 0, rows(("a", 1))))
    renamed.commit(1, stage(renamed, 1, rows(("b", 1))))
    assert sorted(rows_of(tmp_path / "t")) == [("a", 1), ("b", 1)]


def test_small_files_are_put_together_and_old_ones_go(tmp_path: Path) -> None:
    sink = opened(Sink(tmp_path / "t", compact_every=3, vacuum="1 hour"), context(tmp_path))
    left = tmp_path / "t" / "part-left.parquet"
    for epoch in range(6):
        if epoch == 3:
            left.write_bytes(b"")
            os.utime(left, (0, 0))
        sink.commit(epoch, stage(sink, epoch, rows(("a", epoch), ("b", epoch))))
    assert len(live_files(tmp_path / "t")) == 1 and sorted(rows_of(tmp_path / "t")) == sorted((k, n) for k in "ab" for n in range(6))
    operations = [commit["operation"] for commit in DeltaTable(tmp_path / "t").history()]
    assert operations.count("OPTIMIZE") == 2 and not left.exists()
    assert len(data_files(tmp_path / "t")) > 1, "what a version of the last hour needs stays"


def test_a_table_that_others_always_change_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = opened(Sink(tmp_path / "t"), context(tmp_path))
    monkeypatch.setattr(sink._epochs, "_attempt", lambda *_: False)
    check_error(
        f"TABLE_BUSY: sink: 20 commits to {tmp_path}/t conflicted with commits of other writers\n"
        "  hint: start again: no row is lost or duplicated. Fewer writers or longer epochs (every=) conflict less\n"
        "  more: headrace error TABLE_BUSY",
        lambda: sink.commit(0, stage(sink, 0, rows(("a", 1)))),
    )


def test_a_table_that_cannot_be_read(tmp_path: Path) -> None:
    check_error(
        f"TABLE_MISSING: there is no Delta table at {tmp_path}/none\n"
        '  at test_epochs.py:*: lambda: Place(str(tmp_path / "none"), {}).table(),\n'
        "  hint: a sink creates the table when its job starts; a source needs an existing one\n"
        "  more: headrace error TABLE_MISSING",
        lambda: Place(str(tmp_path / "none"), {}).table(),
    )
    opened(Sink(tmp_path / "t"), context(tmp_path))
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").write_text("{")
    check_error(
        f"TABLE_UNREADABLE: the table {tmp_path}/t cannot be opened: Kernel error: Json error: Truncated record whilst reading object\n"
        '  at test_epochs.py:*: lambda: Place(str(tmp_path / "t"), {}).table(),\n'
        "  hint: check the path, and for an object store its address and storage_options\n"
        "  more: headrace error TABLE_UNREADABLE",
        lambda: Place(str(tmp_path / "t"), {}).table(),
    )


def test_a_table_that_asks_for_more_than_is_done_here(tmp_path: Path) -> None:
    opened(Sink(tmp_path / "t"), context(tmp_path))
    DeltaTable(tmp_path / "t").alter.add_constraint({"positive": "n > 0"})
    check_error(
        f"TABLE_FEATURE: the table {tmp_path}/t requires features that this sink does not support: the constraint positive\n"
        "  hint: write to a table without them\n"
        "  more: headrace error TABLE_FEATURE",
        lambda: opened(Sink(tmp_path / "t"), context(tmp_path, term=2)),
    )
