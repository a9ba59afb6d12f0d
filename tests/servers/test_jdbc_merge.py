"""MERGE into PostgreSQL: what it leaves is what `INSERT ... ON CONFLICT` would have left, also where others write and where it cannot be had."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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

    def __init__(self, pg: Served, schema: str, key: str | list[str] = "k") -> None:
        attach(hr.session(), [NEEDS])
        self._pg = pg
        self.sink = Sink(pg.url, "t", key=key, **pg.options)
        self.sink.open(context(Path(), schema, session=hr.session(), mode="upsert"))
        self.sink.recover()
        self.ran: list[str] = []
        update = self.sink._database.update

        def told(sql: str, *values: Any) -> int:
            self.ran.append(sql.split()[0])
            return update(sql, *values)

        self.sink._database.update = told  # type: ignore[method-assign]  # it is listened to
        self._epoch = 0

    def commit(self, *changes: Sequence[Any]) -> str:
        """Write an epoch; answers with which statements rows were brought over."""
        for change in changes:
            values = ", ".join("NULL" if value is None else f"'{value}'" for value in change)
            self._pg.run(f"INSERT INTO {self.sink._stage} VALUES (1, {values})")
        self.ran.clear()
        self.sink.commit(self._epoch, Staged(len(changes), parts=({"task": "1", "gone": "true"},)))
        self._epoch += 1
        return " ".join(one for one in self.ran if one in ("MERGE", "INSERT"))


def older(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server before version 15."""
    monkeypatch.setattr(PostgreSql, "merges", lambda *_: False)


@pytest.mark.parametrize("how", ["MERGE", "INSERT"])
def test_rows_come_change_and_go(pg: Served, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "INSERT":
        older(monkeypatch)
    pg.run("CREATE TABLE t (k text, n int, own int DEFAULT 7, j json, f float8, PRIMARY KEY (k, f))")
    written = Written(pg, "k string, f double, n int, j string", key=["k", "f"])
    assert written.commit((1, "a", "NaN", 1, '{"a": 1}'), (1, "b", 0, None, None), (1, "A", "-Infinity", 3, "[]")) == how
    pg.run("UPDATE t SET own = 9")
    assert written.commit((1, "a", "NaN", 2, None), (-1, "A", "-Infinity", None, None), (1, "b", "-0", 5, "1"), (1, "c", 1, 1, "2")) == how
    assert rows(pg, "t", "k, f::text, n, own, j::text") == [
        *(("a", "NaN", 2, 9, None), ("b", "0", 5, 9, "1"), ("c", "1", 1, 7, "2")),
    ]


def test_a_key_and_nothing_else(pg: Served) -> None:
    written = Written(pg, "k int")
    assert written.commit((1, 1), (1, 2)) == "MERGE"
    assert written.commit((1, 2), (1, 3), (-1, 1)) == "MERGE"
    assert rows(pg, "t") == [(2,), (3,)]


def test_a_key_that_is_cast(pg: Served) -> None:
    pg.run("CREATE TABLE t (k uuid PRIMARY KEY, n int)")
    written = Written(pg, "k string, n int")
    one = "00000000-0000-0000-0000-00000000000a"
    assert written.commit((1, one, 1)) == "MERGE"
    assert written.commit((1, one.upper(), 2)) == "MERGE"
    assert rows(pg, "t", "k::text, n") == [(one, 2)]


def test_a_row_that_another_puts_there_meanwhile(pg: Served) -> None:
    """MERGE waits for it, and has looked for its key before: the whole statement is undone, but not what went before it."""
    written = Written(pg, "k string, n int")
    written.commit((1, "a", 1), (1, "gone", 1))
    with ThreadPoolExecutor(1) as pool:
        with held(pg, "INSERT INTO t VALUES ('b', 9)"):
            epoch = pool.submit(written.commit, (1, "a", 2), (1, "b", 2), (1, "c", 2), (-1, "gone", None))
            until_waiting(pg, 1)
        assert epoch.result(60) == "MERGE INSERT"
    assert rows(pg, "t") == [("a", 2), ("b", 2), ("c", 2)]
    assert rows(pg, "_headrace_epochs", "epoch") == [(1,)]


def test_a_row_that_another_has_taken_away_again(pg: Served) -> None:
    written = Written(pg, "k string, n int")
    written.commit((1, "a", 1))
    with ThreadPoolExecutor(1) as pool:
        with held(pg, "DELETE FROM t"):
            epoch = pool.submit(written.commit, (1, "a", 2))
            until_waiting(pg, 1)
        assert epoch.result(60) == "MERGE"
    assert rows(pg, "t") == [("a", 2)]


def test_what_is_wrong_with_a_row_is_said_as_before(pg: Served) -> None:
    pg.run("CREATE TABLE t (k int PRIMARY KEY, n int UNIQUE)")
    written = Written(pg, "k int, n int")
    with pytest.raises(hr.HeadraceError, match=r"ROW_REFUSED: .* duplicate key value violates unique constraint"):
        written.commit((1, 1, 7), (1, 2, 7))
    assert rows(pg, "t") == []


def test_a_connection_that_breaks_begins_the_epoch_again(pg: Served) -> None:
    written = Written(pg, "k int, n int")
    update, breaks = written.sink._database.update, [Problem("57P01", 0, "terminating connection", True)]

    def broken(sql: str, *values: Any) -> int:
        if sql.startswith("MERGE") and breaks:
            raise breaks.pop()
        return update(sql, *values)

    written.sink._database.update = broken  # type: ignore[method-assign]  # it breaks once
    assert written.commit((1, 1, 1)) == "MERGE"
    assert rows(pg, "t") == [(1, 1)]


NOT_TAKEN = {
    "a rule": "CREATE RULE r AS ON DELETE TO t DO ALSO NOTHING",
    "a trigger before rows": "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.k := lower(NEW.k); RETURN NEW; END'; "
    "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    "heirs": "CREATE TABLE heir () INHERITS (t); INSERT INTO heir VALUES ('a', 8)",
    "blanks that do not count": "ALTER TABLE t ALTER COLUMN k TYPE char(5)",
    "letters that do not count": "CREATE EXTENSION citext; ALTER TABLE t ALTER COLUMN k TYPE citext",
    "an index of its own order": 'ALTER TABLE t DROP CONSTRAINT t_pkey, ALTER COLUMN k TYPE text COLLATE ci; CREATE UNIQUE INDEX ON t (k COLLATE "C")',
}
CI = "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"


@pytest.mark.parametrize("what", NOT_TAKEN)
def test_tables_that_do_not_take_it(pg: Served, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or for which it would mean something else: there it is not tried."""
    pg.run(CI)
    pg.run("CREATE TABLE t (k text PRIMARY KEY, n int)")
    pg.run(NOT_TAKEN[what])
    written = Written(pg, "k string, n int")
    assert [written.commit((1, "a", 1)), written.commit((1, "A" if what != "a rule" else "a", 2))] == ["INSERT", "INSERT"]
    by_upsert = rows(pg, "ONLY t", "k::text, n")
    same = what in ("a rule", "a trigger before rows", "letters that do not count")
    assert [n for _, n in by_upsert] == ([2] if same else [2, 1])


def test_letters_that_do_not_count_by_the_collation_of_a_column(pg: Served) -> None:
    pg.run(CI)
    pg.run("CREATE TABLE t (k text COLLATE ci PRIMARY KEY, n int)")
    written = Written(pg, "k string, n int")
    assert [written.commit((1, "a", 1)), written.commit((1, "A", 2), (1, "b", 1))] == ["MERGE", "MERGE"]
    assert rows(pg, "t") == [("a", 2), ("b", 1)]


def test_a_table_of_partitions(pg: Served) -> None:
    pg.run("CREATE TABLE t (k int PRIMARY KEY, n int) PARTITION BY HASH (k)")
    for part in range(2):
        pg.run(f"CREATE TABLE t{part} PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER {part})")
    written = Written(pg, "k int, n int")
    assert [written.commit(*((1, k, 1) for k in range(4))), written.commit((1, 1, 2), (1, 5, 2), (-1, 2, None))] == ["INSERT", "INSERT"]
    assert rows(pg, "t") == [(0, 1), (1, 2), (3, 1), (5, 2)]


def test_no_epoch_goes_through_an_empty_table_for_each_row(pg: Served) -> None:
    """PostgreSQL knows that it has no row; while it fills, that would take the square of the time."""
    pg.run("CREATE TABLE t (k int PRIMARY KEY, n int)")
    pg.run("VACUUM t")
    written = Written(pg, "k int, n int")
    pg.run(f"INSERT INTO {written.sink._stage} SELECT 1, 1, k, k FROM generate_series(1, 50000) k")
    merge = written.sink.dialect.merge(written.sink._target, written.sink._stage, "1, 2")
    plan = str(pg.run(f"EXPLAIN {merge}"))
    assert "Merge on t" in plan and "Nested Loop" not in plan


def test_few_rows_are_not_worth_it(pg: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL would go through the whole table for them."""
    monkeypatch.setattr(PostgreSql, "many", 2)
    written = Written(pg, "k int, n int")
    assert [written.commit((1, 1, 1)), written.commit((1, 1, 2), (1, 2, 1))] == ["INSERT", "MERGE"]
    assert rows(pg, "t") == [(1, 2), (2, 1)]


def test_a_table_that_is_larger_than_what_comes(pg: Served) -> None:
    """Its index is asked for each row, which is less than all of it."""
    pg.run("CREATE TABLE t (k int PRIMARY KEY, n int)")
    pg.run("INSERT INTO t SELECT k, 0 FROM generate_series(1, 1000) k")
    written = Written(pg, "k int, n int")
    assert written.commit((1, 1, 1), (1, 0, 1)) == "INSERT"
    assert pg.run("SELECT count(*), sum(n) FROM t") == [(1001, 2)]
