"""Many rows into an empty table of PostgreSQL: what plain INSERT leaves is what `INSERT ... ON CONFLICT` would have left, also where others write."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.jdbc import Sink
from headrace.connectors.jdbc.database import Problem
from headrace.connectors.jdbc.kinds import NEEDS
from headrace.connectors.jdbc.postgresql import PostgreSql
from headrace.jvm.packages import attach
from headrace.ports import Staged
from tests.servers.tables import Served, held, rows, until_waiting
from tests.unit.connectors.delta.tasks import context

pytestmark = pytest.mark.usefixtures("spark", "here", "many")


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each epoch has many rows."""
    monkeypatch.setattr(PostgreSql, "many", 1)


class Written:
    """A sink that was started, and what it is told to run; rows come to its staging table as if from tasks: weight, then values."""

    def __init__(self, pg: Served, schema: str, key: str | list[str] = "k", on_refused: str = "dead_letter") -> None:
        attach(hr.session(), [NEEDS])
        self._pg = pg
        self.sink = Sink(pg.url, "t", key=key, **pg.options)
        self.sink.open(replace(context(Path(), schema, session=hr.session(), mode="upsert"), on_refused=on_refused))
        self.sink.recover()
        self.ran: list[str] = []
        update = self.sink._database.update

        def recorded(sql: str, *values: Any) -> int:
            if sql.startswith("INSERT"):
                self.ran.append("upsert" if "ON CONFLICT" in sql else "fill")
            return update(sql, *values)

        self.sink._database.update = recorded  # type: ignore[method-assign]  # it is listened to
        self._epoch = 0

    def commit(self, *changes: Sequence[Any]) -> str:
        """Write an epoch; answers with which statements rows were brought over, or tried to be."""
        for change in changes:
            values = ", ".join("NULL" if value is None else f"'{value}'" for value in change)
            self._pg.run(f"INSERT INTO {self.sink._stage} VALUES (1, {values})")
        self.ran.clear()
        self.sink.commit(self._epoch, Staged(len(changes), parts=({"task": "1", "gone": "true"},)))
        self._epoch += 1
        return " ".join(self.ran)


def test_rows_come_change_and_go(pg: Served) -> None:
    pg.run("CREATE TABLE t (k text, n int, own int DEFAULT 7, j json, f float8, PRIMARY KEY (k, f))")
    written = Written(pg, "k string, f double, n int, j string", key=["k", "f"])
    assert written.commit((1, "a", "NaN", 1, '{"a": 1}'), (1, "b", 0, None, None), (1, "A", "-Infinity", 3, "[]")) == "fill"
    pg.run("UPDATE t SET own = 9")
    changes = [(1, "a", "NaN", 2, None), (-1, "A", "-Infinity", None, None), (1, "b", "-0", 5, "1"), (1, "c", 1, 1, "2")]
    assert written.commit(*changes) == "upsert"
    assert rows(pg, "t", "k, f::text, n, own, j::text") == [("a", "NaN", 2, 9, None), ("b", "0", 5, 9, "1"), ("c", "1", 1, 7, "2")]


def test_a_table_whose_rows_have_gone(pg: Served) -> None:
    written = Written(pg, "k int")
    assert [written.commit((1, 1), (1, 2)), written.commit((-1, 1), (-1, 2), (1, 3))] == ["fill", "fill"]
    assert rows(pg, "t") == [(3,)]


def test_a_row_that_another_puts_there_meanwhile(pg: Served) -> None:
    """INSERT waits for it, and is undone, but not what went before it."""
    written = Written(pg, "k string, n int")
    written.commit((1, "gone", 1))
    with ThreadPoolExecutor(1) as pool:
        with held(pg, "INSERT INTO t VALUES ('b', 9)"):
            epoch = pool.submit(written.commit, (1, "a", 2), (1, "b", 2), (1, "c", 2), (-1, "gone", None))
            until_waiting(pg, 1)
        assert epoch.result(60) == "fill upsert"
    assert rows(pg, "t") == [("a", 2), ("b", 2), ("c", 2)]
    assert rows(pg, "_headrace_epochs", "epoch") == [(1,)]


def test_keys_that_are_one_for_the_table(pg: Served) -> None:
    """Of two rows of a key none is taken, as ever."""
    pg.run("CREATE EXTENSION citext; CREATE TABLE t (k citext PRIMARY KEY, n int)")
    written = Written(pg, "k string, n int")
    with pytest.raises(hr.HeadraceError, match="cannot affect row a second time"):
        written.commit((1, "a", 1), (1, "A", 2))
    assert rows(pg, "t") == []


def test_a_rejected_row_is_reported_as_before(pg: Served) -> None:
    pg.run("CREATE TABLE t (k int PRIMARY KEY, n int UNIQUE)")
    written = Written(pg, "k int, n int", on_refused="fail")
    with pytest.raises(hr.HeadraceError, match=r"ROW_REFUSED: .* duplicate key value violates unique constraint"):
        written.commit((1, 1, 7), (1, 2, 7))
    assert rows(pg, "t") == []


def test_a_connection_that_breaks_begins_the_epoch_again(pg: Served) -> None:
    written = Written(pg, "k int, n int")
    update, breaks = written.sink._database.update, [Problem("57P01", 0, "terminating connection", True)]

    def broken(sql: str, *values: Any) -> int:
        if sql.startswith('INSERT INTO "t"') and breaks:
            raise breaks.pop()
        return update(sql, *values)

    written.sink._database.update = broken  # type: ignore[method-assign]  # it breaks once
    assert written.commit((1, 1, 1)) == "fill"
    assert (breaks, rows(pg, "t")) == ([], [(1, 1)])


def test_few_rows_are_not_worth_it(pg: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PostgreSql, "many", 2)
    written = Written(pg, "k int, n int")
    assert [written.commit((1, 1, 1)), written.commit((-1, 1, None), (1, 2, 1))] == ["upsert", "fill"]
    assert rows(pg, "t") == [(2, 1)]
