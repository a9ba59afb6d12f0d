"""Databases that hold another history than their checkpoint, and databases that went away or were put back: nothing is made anew, and no epoch
of another history is taken for one of this.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors.jdbc import Sink
from headrace.connectors.jdbc.dialect import Dialect
from headrace.connectors.jdbc.kinds import NEEDS
from headrace.jvm.packages import attach
from headrace.testing import Harness
from tests.servers import drill
from tests.servers.drill import Drill, restore
from tests.servers.tables import File, Place, into, rows
from tests.unit.connectors.delta.tasks import context
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")

FULL = pytest.mark.full
EACH = pytest.mark.parametrize("place", ["postgresql", "sqlite", pytest.param("mariadb", marks=FULL)], indirect=True)


class Started:
    """A sink that was opened; rows come to its staging table as if from a task."""

    def __init__(self, place: Place, **options: Any) -> None:
        self._place = place
        self._sink = sink_of(place)
        self._sink.open(of(**options))
        self._sink.recover()

    def commit(self, epoch: int, identity: str, *values: int) -> None:
        self._place.run(f"DELETE FROM {self._sink._stage}")
        for value in values:
            self._place.run(f"INSERT INTO {self._sink._stage} VALUES (1, {value})")
        self._sink.commit(epoch, ports.Staged(len(values), parts=({"task": "1"},), identity=identity))


def sink_of(place: Place) -> Sink:
    attach(hr.session(), [NEEDS])
    return Sink(place.url, "t", **place.options)


def of(**options: Any) -> ports.SinkContext:
    return context(Path(), "n int", session=hr.session(), **options)


def mark(place: Place, **options: Any) -> ports.Mark:
    return sink_of(place).mark(of(**options))


@EACH
def test_what_a_table_holds(place: Place) -> None:
    """It is looked at without a change: no table, no ledger and no file is made."""
    assert mark(place) == ports.Mark(exists=False)
    if isinstance(place, File):
        assert not place.path.exists()
    else:
        with pytest.raises(Exception, match="_headrace_epochs"):
            rows(place, "_headrace_epochs")
    started = Started(place)
    assert mark(place) == ports.Mark()
    started.commit(0, "a", 1, 2)
    started.commit(3, "b", 3)
    assert mark(place) == ports.Mark(3, "b")
    assert mark(place, checkpoint_id="other") == mark(place, query="other") == ports.Mark()
    later = Started(place, term=2)
    assert mark(place) == ports.Mark(3, "b")
    later.commit(4, "", 4)
    assert mark(place) == ports.Mark(4)
    place.run("DROP TABLE t")
    assert mark(place) == ports.Mark(exists=False)


@EACH
def test_an_epoch_of_another_history(place: Place) -> None:
    started = Started(place)
    started.commit(0, "a", 1)
    started.commit(1, "b", 2)
    started.commit(1, "b", 2)
    started.commit(1, "", 2)
    for epoch, identity in ((1, "c"), (0, "a"), (0, "")):
        check_error(
            f"""
            CHECKPOINT_BEHIND: sink holds epoch 1 of another history, but this job was about to write its own epoch {epoch}
              hint: nothing was written: two copies of one checkpoint have written to this sink. Stop the other job, or give this one another sink.
              more: headrace error CHECKPOINT_BEHIND
            """,
            lambda epoch=epoch, identity=identity: started.commit(epoch, identity, 9),  # type: ignore[misc]  # of a loop
        )
    assert rows(place, "t") == [(1,), (2,)]


@EACH
def test_a_database_that_is_put_back_while_a_job_runs(place: Place) -> None:
    started = Started(place)
    started.commit(0, "a", 1)
    started.commit(1, "b", 2)
    place.run("UPDATE _headrace_epochs SET epoch = 0, identity = 'a'")
    check_error(
        """
        TABLE_REPLACED: sink: the table t ends with epoch 0, but the job has written epoch 1 there
          hint: restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. Nothing was changed.
          more: headrace error TABLE_REPLACED
        """,
        lambda: started.commit(2, "c", 3),
    )
    assert rows(place, "t") == [(1,), (2,)]


@EACH
def test_a_ledger_from_before_there_were_identities(place: Place) -> None:
    """It is read as it stands, and gets its column from the first start; others that come at once find it there."""
    Started(place).commit(5, "", 1)
    Started(place, job="other", checkpoint_id="other").commit(7, "", 2)
    place.run("ALTER TABLE _headrace_epochs DROP COLUMN identity")
    assert mark(place) == ports.Mark(5)
    with pytest.raises(Exception, match="identity"):
        rows(place, "_headrace_epochs", "identity")
    jobs = [{"term": 2}, {"job": "other", "checkpoint_id": "other", "term": 2}]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda options: Started(place, **options), jobs)
    assert mark(place) == ports.Mark(5)
    one.commit(5, "a", 1)
    one.commit(6, "b", 3)
    other.commit(8, "c", 4)
    assert rows(place, "_headrace_epochs", "job, epoch, identity") == [("job", 6, "b"), ("other", 8, "c")]
    assert rows(place, "t") == [(1,), (2,), (3,), (4,)]


@EACH
def test_another_start_that_adds_the_column_meanwhile(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    Started(place)
    has, looks = Dialect._has, []

    def early(*arguments: Any) -> bool:
        looks.append(arguments)
        return len(looks) > 1 and has(*arguments)

    monkeypatch.setattr(Dialect, "_has", early)
    Started(place, term=2).commit(0, "a", 1)
    assert len(looks) == 2 and mark(place) == ports.Mark(0, "a")


@EACH
def test_what_became_of_the_ledger(place: Place) -> None:
    Started(place).commit(0, "a", 1)
    place.run("DELETE FROM _headrace_epochs")
    assert mark(place) == ports.Mark()
    place.run("DROP TABLE _headrace_epochs")
    assert mark(place) == ports.Mark()


def drilled(place: Place, folder: Path) -> Drill:
    return Drill(folder, lambda stream: stream.write.jdbc(place.url, "t", name="out", **place.options), lambda: rows(place, "t"))


@pytest.mark.parametrize(("ahead", "starts"), [(1, 2), pytest.param(4, 10, marks=FULL), pytest.param(50, 1, marks=FULL)])
def test_a_checkpoint_that_was_put_back(place: Place, tmp_path: Path, ahead: int, starts: int) -> None:
    restore(drilled(place, tmp_path), ahead=ahead, starts=starts)


def test_a_file_that_was_put_back_or_removed(sqlite: File, tmp_path: Path) -> None:
    """Each start is refused, and changes nothing, until what belongs together is there again, or the job starts over."""
    drilled_ = drilled(sqlite, tmp_path)
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    drilled_.add(0)
    drilled_.run()
    drilled_.keep("old")
    shutil.copy(sqlite.path, old)
    drilled_.add(1)
    drilled_.run()
    drilled_.keep("new")
    shutil.copy(sqlite.path, new)
    drilled_.add(2)
    shutil.copy(old, sqlite.path)
    for _ in range(2):
        check_error(
            """
            TABLE_REPLACED: out: sqlite:<folder>/out.db, table t ends with epoch 0, but the job has written epoch 1 there
              hint: restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. Nothing was changed.
              more: headrace error TABLE_REPLACED
            """,
            drilled_.run,
            hide={str(tmp_path): "<folder>"},
        )
    assert sqlite.path.read_bytes() == old.read_bytes()
    sqlite.path.unlink()
    check_error(
        """
        TABLE_MISSING: out: sqlite:<folder>/out.db, table t no longer exists, but the job has written to it up to epoch 1
          hint: restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. Nothing was changed.
          more: headrace error TABLE_MISSING
        """,
        drilled_.run,
        hide={str(tmp_path): "<folder>"},
    )
    assert not sqlite.path.exists()
    for name, database in (("old", old), ("new", new)):
        drilled_.put_back(name)
        shutil.copy(database, sqlite.path)
        drilled_.run()
        assert rows(sqlite, "t") == drill.rows(0, 1, 2)
    sqlite.path.unlink()
    drilled_.run(fresh=True)
    assert rows(sqlite, "t") == drill.rows(0, 1, 2)


def test_a_file_that_is_removed_while_a_job_runs(sqlite: File) -> None:
    with Harness() as h:
        source = h.source("s", "n int")
        into(h, source.write.jdbc(sqlite.url, "t", name="out"))
        h.commit({"s": [("+", (1,))]})
        sqlite.path.unlink()
        gone = """
            TABLE_MISSING: out: the file <file> is gone
              hint: restore it, or start over with fresh=True, which writes all rows again
              more: headrace error TABLE_MISSING
            """
        check_error(gone, lambda: h.commit({"s": [("+", (2,))]}), hide={str(sqlite.path): "<file>"})
        with pytest.raises(hr.HeadraceError, match=r"TABLE_MISSING: out: .* no longer exists, but the job has written to it up to epoch 0"):
            h.restart()
        assert not sqlite.path.exists()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_goes_between_staging_and_commit(sqlite: File, tmp_path: Path, replaced: bool) -> None:
    """The connection that the driver had would go on writing into it."""
    started = Started(sqlite)
    started.commit(0, "a", 1)
    shutil.copy(sqlite.path, tmp_path / "old.db")
    started.commit(1, "b", 2)
    commit = started._sink._ledger.commit

    def meanwhile(*arguments: Any) -> None:
        sqlite.path.unlink()
        if replaced:
            (tmp_path / "old.db").rename(sqlite.path)
        commit(*arguments)

    started._sink._ledger.commit = meanwhile  # type: ignore[method-assign]  # it is replaced at the worst moment
    with pytest.raises(hr.HeadraceError, match="TABLE_REPLACED" if replaced else "TABLE_MISSING"):
        started.commit(2, "c", 3)
    assert rows(sqlite, "t") == [(1,)] if replaced else not sqlite.path.exists()


def test_reading_makes_no_file(sqlite: File) -> None:
    check_error(
        """
        TABLE_MISSING: there is no file <file>
          at test_jdbc_history.py:*: lambda: hr.read.jdbc(sqlite.url, "t"),
          hint: create it, or correct its name
          more: headrace error TABLE_MISSING
        """,
        lambda: hr.read.jdbc(sqlite.url, "t"),
        hide={str(sqlite.path): "<file>"},
    )
    sink_of(sqlite).discard()
    orders = hr.read.memory([(1,)], "n int", name="orders").lookup(hr.lookup.jdbc(sqlite.url, "t", "n int, x string"), on="n")
    with pytest.raises(hr.HeadraceError, match="LOOKUP_FAILED"):
        hr.collect(orders)
    assert not sqlite.path.exists()
