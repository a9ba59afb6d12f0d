"""The JDBC source, over real databases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import points
from headrace.testing import Harness
from tests.faults.test_standby import until
from tests.servers.tables import File, Place, Served
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")


def orders(place: Place, first: int, last: int) -> None:
    values = ", ".join(f"({n}, 'o{n}', {n}.50)" for n in range(first, last))
    place.run(f"INSERT INTO orders VALUES {values}")


def test_a_whole_table(place: Place) -> None:
    place.run("CREATE TABLE orders (id INTEGER, x VARCHAR(20), amount DECIMAL(10, 2))")
    orders(place, 1, 5)
    place.run("INSERT INTO orders VALUES (NULL, NULL, NULL)")
    read = hr.read.jdbc(place.url, "orders", schema="id bigint, amount decimal(10,2)", **place.options)
    assert sorted(hr.collect(read).rows(), key=repr) == [*((n, Decimal(f"{n}.50")) for n in range(1, 5)), (None, None)]


def test_a_query_and_its_schema(pg: Served) -> None:
    pg.run(
        "CREATE TABLE t (i int, l bigint, n numeric(12,3), s text, b bytea, d date, z timestamptz, w timestamp, o boolean, j jsonb, f float8)"
    )
    pg.run(
        "INSERT INTO t VALUES (1, 2, 3.125, 'é', '\\x00ff', '1900-01-01', '1969-12-31 23:59:59.999999+00', '2026-03-29 02:30', true, '{\"a\": 1}', 0.5)"
    )
    read = hr.read.jdbc(pg.url, "SELECT * FROM t WHERE i > 0;", **pg.options)
    assert read.schema.ddl == (
        "i int, l bigint, n decimal(12,3), s string, b binary, d date, z timestamp, w timestamp_ntz, o boolean, j string, f double"
    )
    (row,) = hr.collect(read).rows()
    assert row == (
        *(1, 2, Decimal("3.125"), "é", b"\x00\xff", dt.date(1900, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC)),
        *(dt.datetime(2026, 3, 29, 2, 30), True, '{"a": 1}', 0.5),
    )


def test_whole_numbers_of_sqlite(sqlite: File) -> None:
    """They have 64 bits, whatever the type of their column is called."""
    sqlite.run("CREATE TABLE t (id INTEGER PRIMARY KEY, small SMALLINT, tiny TINYINT, name TEXT)")
    big = (2**63 - 1, 2**40, -(2**63))
    sqlite.run(f"INSERT INTO t VALUES ({', '.join(map(str, big))}, 'a')")
    assert hr.read.jdbc(sqlite.url, "t").schema.ddl == "id bigint, small bigint, tiny bigint, name string"
    schema = "id bigint, small bigint, tiny bigint"
    for by in (None, "id", "small"):
        assert hr.collect(hr.read.jdbc(sqlite.url, "t", by=by, schema=schema)).rows() == [big]
    orders = hr.read.memory([(2**63 - 1,)], "id bigint", name="orders")
    assert hr.collect(orders.lookup(hr.lookup.jdbc(sqlite.url, "t", f"{schema}, name string"), on="id")).rows() == [(*big, "a")]
    with pytest.warns(RuntimeWarning, match="field small: cannot read '1099511627776' as int"):
        assert hr.collect(hr.read.jdbc(sqlite.url, "t", schema="small int")).rows() == []


def test_a_type_that_no_cast_makes(pg: Served) -> None:
    pg.run("CREATE TABLE orders (id int, lines jsonb)")
    read = hr.read.jdbc(pg.url, "orders", schema="id int, lines array<int>", **pg.options)
    check_error(
        """
        TABLE_SCHEMA: the table orders has lines as string, which cannot be cast to array<int>
          at test_jdbc_source.py:*: read = hr.read.jdbc(pg.url, "orders", schema="id int, lines array<int>", **pg.options)
          hint: declare it as string, and convert it after the source, by from_json(lines, 'array<int>')
          more: headrace error TABLE_SCHEMA
        """,
        lambda: hr.collect(read),
    )


def grow(place: Place, tmp_path: Path, settle: str = "0 seconds") -> Any:
    columns = "id bigint, x string, amount decimal(10,2)"
    read = hr.read.jdbc(place.url, "orders", by="id", settle=settle, schema=columns, **place.options)
    return hr.job("grow", read.write.files(tmp_path / "out", format="json", name="out"))


def written(tmp_path: Path) -> list[int]:
    import json

    lines = [line for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    return sorted(json.loads(line)["id"] for line in lines)


def test_rows_that_come(place: Place, tmp_path: Path) -> None:
    """Each run reads what has come since the last one, whatever pieces the range is read in."""
    place.run("CREATE TABLE orders (id INTEGER, x VARCHAR(20), amount DECIMAL(10, 2))")
    grow(place, tmp_path).run(checkpoint=tmp_path / "state", flush=False, progress=False)
    assert written(tmp_path) == []
    expected: list[int] = []
    for first, last in ((-3, 4), (100, 101), (25_000, 25_005), (90_000, 90_003)):
        orders(place, first, last)
        expected.extend(range(first, last))
        grow(place, tmp_path).run(checkpoint=tmp_path / "state", flush=False, progress=False)
        assert written(tmp_path) == expected


@pytest.fixture
def late(pg: Served) -> Iterator[Any]:
    """A transaction that has added row 4 and is open, where row 5 is there."""
    pg.run("CREATE TABLE orders (id INTEGER, x VARCHAR(20), amount DECIMAL(10, 2))")
    with pg.server.connect(pg.url) as connection:
        connection.autocommit = False
        connection.execute("INSERT INTO orders VALUES (4, 'o4', 4.50)")
        orders(pg, 5, 6)
        yield connection


def test_a_transaction_that_commits_late(pg: Served, late: Any) -> None:
    """Up to a value is read when it has been there for a while, with the smaller ones that came meanwhile."""
    with Harness() as h:
        out = h.collect(hr.read.jdbc(pg.url, "orders", by="id", follow=True, settle="3 seconds", schema="id bigint", **pg.options))
        h.commit()
        assert out.rows() == []
        late.commit()

        def settled() -> bool:
            h.commit()
            return bool(out.rows())

        until(settled, "the rows have settled")
        assert out.rows() == [(4,), (5,)]


def test_a_transaction_that_commits_late_in_a_run_that_ends(pg: Served, late: Any, tmp_path: Path) -> None:
    pg.run(f"ALTER DATABASE {pg.url.rpartition('/')[2]} SET log_statement = 'all'")
    begun = len(pg.server.log.read_text())

    def logged() -> str:
        return pg.server.log.read_text()[begun:]

    with ThreadPoolExecutor(1) as other:
        running = other.submit(grow(pg, tmp_path, settle="5 seconds").run, checkpoint=tmp_path / "state", progress=False)
        until(lambda: "max(" in logged(), "the run has looked")
        late.commit()
        running.result()
    looks, _, _ = logged().partition("<=")
    assert looks.count("max(") > 1  # it looked again before it read, so what was open had the time to come
    assert written(tmp_path) == [4, 5]


@pytest.mark.parametrize("point", ["before sink commit", "after sink commit"])
def test_a_replay_reads_the_same_range(pg: Served, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch that failed is read again up to where it was to end, though more rows have come since."""
    pg.run("CREATE TABLE orders (id INTEGER, x VARCHAR(20), amount DECIMAL(10, 2))")
    orders(pg, 1, 4)
    with Harness() as h:
        read = hr.read.jdbc(pg.url, "orders", by="id", follow=True, settle="0 seconds", schema="id bigint", **pg.options)
        out = h.collect(read)
        h.commit()
        pg.run(f"ALTER DATABASE {pg.url.rpartition('/')[2]} SET log_statement = 'all'")
        begun = len(pg.server.log.read_text())
        monkeypatch.setattr(points, "OFF", False)
        monkeypatch.setattr(points, "_armed", points.Armed(point, action="fail"))
        monkeypatch.setattr(points, "_passed", 0)
        orders(pg, 4, 6)
        with pytest.raises(hr.HeadraceError, match=point):
            h.commit()
        orders(pg, 6, 7)
        h.restart()
        h._settle()
        epochs: dict[int, list[int]] = {}
        for (_, epoch), changes in out._sink.epochs.items():
            epochs.setdefault(epoch, []).extend(row[0] for row, _ in changes)
        assert [sorted(ids) for _, ids in sorted(epochs.items())] == [[1, 2, 3], [4, 5], [6]]
        assert pg.server.log.read_text()[begun:].count("$1 = '3', $2 = '5'") == 2


def test_a_server_that_is_restarted_between_two_runs(pg: Served, tmp_path: Path) -> None:
    """A connection that was kept from the first run would be cut."""
    pg.run("CREATE TABLE orders (id INTEGER, x VARCHAR(20), amount DECIMAL(10, 2))")
    orders(pg, 1, 3)
    job = grow(pg, tmp_path)
    job.run(checkpoint=tmp_path / "state", flush=False, progress=False)
    pg.server.stop()
    pg.server.start()
    orders(pg, 3, 5)
    job.run(checkpoint=tmp_path / "state", flush=False, progress=False)
    assert written(tmp_path) == [1, 2, 3, 4]
    at = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{pg.url.rpartition('/')[2]}' AND application_name = 'headrace'"
    until(lambda: pg.run(at) == [(0,)], "no connection is kept")


def test_a_column_that_cannot_be_looked_at(pg: Served) -> None:
    pg.run("CREATE TABLE orders (id INTEGER)")
    pg.run("INSERT INTO orders VALUES (0)")
    read = hr.read.jdbc(pg.url, "SELECT id, 1 / id AS n FROM orders", by="n", schema="n int", **pg.options)
    port = pg.url.split(":")[2].split("/")[0]
    check_error(
        """
        DATABASE_REFUSED: postgresql://127.0.0.1:PORT/DB rejected the request: ERROR: division by zero
          at test_jdbc_source.py:*: read = hr.read.jdbc(pg.url, "SELECT id, 1 / id AS n FROM orders", by="n", schema="n int", **pg.options)
          hint: check the table or query: headrace created the statement from it
          more: headrace error DATABASE_REFUSED
        """,
        lambda: hr.collect(read),
        hide={port: "PORT", pg.url.rpartition("/")[2]: "DB"},
    )


def test_rows_that_are_updated(place: Place) -> None:
    kind = {"postgresql": "timestamp", "mariadb": "datetime(6)", "sqlite": "text"}[place.kind]
    place.run(f"CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, at {kind})")
    place.run("INSERT INTO t VALUES (1, 10, '2026-01-01 00:00:00.000001'), (2, 20, '2026-01-01 00:00:00.000002')")
    with Harness() as h:
        latest = hr.read.jdbc(
            place.url,
            "t",
            by="at",
            follow=True,
            updated=True,
            settle="0 seconds",
            schema="id bigint, n int",
            change_format="upsert",
            key="id",
            **place.options,
        )
        out = h.collect(latest.group_by().agg(total="sum(n)", rows="count(*)"))
        h.commit()
        assert out.rows() == [(30, 2)]
        place.run("UPDATE t SET n = 11, at = '2026-01-01 00:00:00.000003' WHERE id = 1")
        place.run("INSERT INTO t VALUES (3, 30, '2026-01-01 00:00:00.000004')")
        h.commit()
        assert out.rows() == [(61, 3)]


def test_guarantees(pg: Served) -> None:
    streams = {
        "added": hr.read.jdbc(pg.url, "t", by="id", schema="id bigint"),
        "updated": hr.read.jdbc(pg.url, "t", by="at", updated=True, schema="id bigint"),
        "whole": hr.read.jdbc(pg.url, "t", schema="id bigint"),
    }
    job = {name: hr.job(name, stream.write.memory(name="out")).explain().to_json() for name, stream in streams.items()}
    text = {name: str(explanation) for name, explanation in job.items()}
    assert "exactly once" in text["added"] and "a range of id is read again, where rows are only added" in text["added"]
    assert (
        "at most once" in text["updated"]
        and "a row updated since then is no longer in the range of at that is read again" in text["updated"]
    )
    assert "at most once" in text["whole"] and "the table is read from its beginning, and may have changed" in text["whole"]


def test_what_is_not_there(pg: Served) -> None:
    check_error(
        """
        TABLE_MISSING: there is no table t
          at test_jdbc_source.py:*: lambda: hr.read.jdbc(pg.url, "t", **pg.options),
          hint: create it, or correct its name
          more: headrace error TABLE_MISSING
        """,
        lambda: hr.read.jdbc(pg.url, "t", **pg.options),
    )
    pg.run("CREATE TABLE t (a int, at timestamp)")
    pg.run("INSERT INTO t VALUES (1, NULL)")

    def run(**options: Any) -> None:
        read = hr.read.jdbc(pg.url, "t", **pg.options, **options)
        hr.job("gone", read.write.memory()).run(progress=False)

    check_error(
        """
        TABLE_SCHEMA: the table t has no column b
          at test_jdbc_source.py:*: read = hr.read.jdbc(pg.url, "t", **pg.options, **options)
          hint: it has: a, at
          more: headrace error TABLE_SCHEMA
        """,
        lambda: run(schema="b int"),
    )
    check_error(
        """
        TABLE_SCHEMA: at is null in some rows, which would never be read
          at test_jdbc_source.py:*: read = hr.read.jdbc(pg.url, "t", **pg.options, **options)
          hint: choose a column that is never null, or a query: "SELECT *, coalesce(...) AS at FROM ..."
          more: headrace error TABLE_SCHEMA
        """,
        lambda: run(schema="a int", by="at"),
    )
