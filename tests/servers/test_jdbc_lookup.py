"""Lookups in real databases."""

from __future__ import annotations

import datetime as dt
import threading
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

import headrace as hr
from headrace.testing import Harness
from tests.servers.problems import problem
from tests.servers.tables import Place, Served
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

ODD = "ä'\"\\\\𝄞 x"


def date_of(place: Place) -> str:
    """SQLite has no dates: the sink writes them as texts."""
    return "TEXT" if place.kind == "sqlite" else "DATE"


def test_rows_by_a_key(place: Place) -> None:
    """None, one and several rows of a key, nulls, many requests; values as they are in the table."""
    place.run(f"CREATE TABLE t (id INTEGER, name VARCHAR(40), amount DECIMAL(10, 2), day {date_of(place)})")
    values = ", ".join(f"({n // 2}, 'n{n}', {n}.25, '1969-12-{n % 28 + 1:02}')" for n in range(200))
    place.run(f"INSERT INTO t VALUES {values}, (NULL, 'none', NULL, NULL), (500, NULL, NULL, NULL)")
    orders = hr.read.memory([(n,) for n in [*range(0, 120, 3), 500, 501, None]], "id bigint", name="orders")
    table = hr.lookup.jdbc(place.url, "t", "id int, name string, amount decimal(10,2), day date", **place.options)
    looked_up = hr.collect(orders.lookup(table, on="id", batch=7)).rows()

    def rows(n: int) -> list[tuple[Any, ...]]:
        return [(n, f"n{i}", Decimal(f"{i}.25"), dt.date(1969, 12, i % 28 + 1)) for i in (2 * n, 2 * n + 1) if i < 200] or [
            (n, None, None, None)
        ]

    wanted = [row for n in [*range(0, 120, 3), 501] for row in rows(n)]
    assert Counter(looked_up) == Counter([*wanted, (500, None, None, None), (None, None, None, None)])


def test_keys_of_several_columns(place: Place) -> None:
    place.run(f"CREATE TABLE t (k VARCHAR(40), d {date_of(place)}, v INTEGER)")
    place.run("INSERT INTO t VALUES ('a', '2026-01-01', 1), ('a', '2026-01-02', 2), ('A', '2026-01-01', 3), ('a ', '2026-01-01', 4)")
    rows = [("a", dt.date(2026, 1, 1)), ("a", dt.date(2026, 1, 2)), ("b", dt.date(2026, 1, 1))]
    orders = hr.read.memory(rows, "label string, day date", name="orders")
    table = hr.lookup.jdbc(place.url, "SELECT k, d, v FROM t WHERE v > 0", "v int, k string, d date", name="t", **place.options)
    looked_up = hr.collect(orders.lookup(table, on={"day": "d", "label": "k"}, how="inner").select("v"))
    assert sorted(looked_up.rows()) == [(1,), (2,)]


def test_all_that_postgresql_has(pg: Served) -> None:
    pg.run("CREATE TABLE t (s text, l bigint, n numeric(12,3), b bytea, z timestamptz, w timestamp, o boolean, j jsonb, f float8)")
    pg.run(
        "INSERT INTO t VALUES ('" + ODD.replace("'", "''") + "', 2, 3.125, '\\x00ff', '1969-12-31 23:59:59.999999+00', "
        "'2026-03-29 02:30', true, '{\"a\": [1]}', 0.5)"
    )
    orders = hr.read.memory([(ODD, dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC))], "s string, at timestamp", name="orders")
    schema = "s string, l bigint, n decimal(12,3), b binary, z timestamp, w timestamp_ntz, o boolean, j struct<a: array<int>>, f double"
    table = hr.lookup.jdbc(pg.url, "t", schema, **pg.options)
    row = (2, Decimal("3.125"), b"\x00\xff", *(dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), dt.datetime(2026, 3, 29, 2, 30)))
    assert hr.collect(orders.lookup(table, on="s").drop("at")).rows() == [(ODD, *row, True, ([1],), 0.5)]
    by_time = hr.lookup.jdbc(pg.url, "t", "z timestamp, l bigint", **pg.options)
    assert hr.collect(orders.lookup(by_time, on={"at": "z"}).select("l")).rows() == [(2,)]


@problem(
    "Database lookups",
    "the server restarts",
    "",
    "the job repeats the request up to `retry` of the lookup, and continues",
)
def test_the_server_is_started_anew(other_postgres: Any) -> None:
    pg = Served("postgresql", other_postgres)
    pg.run("CREATE TABLE t (k text, v int); INSERT INTO t VALUES ('a', 1)")
    with Harness() as h:
        orders = h.source("orders", "k string")
        out = h.collect(orders.lookup(hr.lookup.jdbc(pg.url, "t", "k string, v int", **pg.options), on="k", retry="2 minutes"))
        h.commit({"orders": [("+", ("a",))]})
        other_postgres.stop()
        # The server ends with the thread that started it, so that is this one.
        asking = threading.Thread(target=h.commit, args=({"orders": [("+", ("a",)), ("+", ("b",))]},))
        asking.start()
        asking.join(1.0)
        other_postgres.start()
        asking.join()
        assert out.rows() == [("a", 1), ("a", 1), ("b", None)]


def test_a_column_that_is_not_there(pg: Served) -> None:
    pg.run("CREATE TABLE t (k text)")
    orders = hr.read.memory([("a",)], "k string", name="orders")
    check_error(
        """
        LOOKUP_FAILED: orders.lookup_t: the lookup failed: column "v" does not exist; Position: 13
          at test_jdbc_lookup.py:*: lambda: hr.collect(orders.lookup(hr.lookup.jdbc(pg.url, "t", "k string, v int", **pg.options), on="k")),
          hint: check the table, its server or files, and the options of the lookup. No row is lost: the next start repeats the epoch.
          more: headrace error LOOKUP_FAILED
        """,
        lambda: hr.collect(orders.lookup(hr.lookup.jdbc(pg.url, "t", "k string, v int", **pg.options), on="k")),
    )
