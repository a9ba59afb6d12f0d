"""The JDBC sink, against real databases that are read by readers of their own."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import points
from headrace.testing import Harness
from tests.servers.tables import Place, Served, into, rows, stages
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")


COLUMNS = (
    "id int, b boolean, t tinyint, s smallint, i int, l bigint, f float, d double, c decimal(38,18), m decimal(9,2), n decimal(38,0), "
    "x string, y binary, day date, at timestamp, local timestamp_ntz, a array<int>, o struct<a: int, b: string>, p map<string, double>"
)
UTC = dt.UTC
ODD = "é'\"\\\n\t\r,;€😀 \u2028 %_ \\N \\x 	."
TYPED: list[tuple[Any, ...]] = [
    (
        *(1, True, -128, -32768, -(2**31), -(2**63), 0.25, 1.7976931348623157e308, Decimal("12345678901234567890.123456789012345678")),
        *(Decimal("-1234567.89"), Decimal("9" * 38), ODD, bytes(range(256)), dt.date(1582, 10, 10)),
        *(dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), dt.datetime(1890, 1, 1, 0, 0, 0, 1)),
        *([1, None, 3], (7, ODD), {"k'\"": 0.5, ODD: None}),
    ),
    (
        *(2, False, 127, 32767, 2**31 - 1, 2**63 - 1, -1.5, -0.0, Decimal("-0.000000000000000001"), Decimal("0.10"), Decimal(0)),
        *("", b"", dt.date(9999, 12, 31), dt.datetime(2026, 7, 1, 12, 0, tzinfo=UTC), dt.datetime(2026, 3, 29, 2, 30)),
        *([], (None, None), {}),
    ),
    (3, *[None] * 18),
    (
        *(4, True, 0, 0, 0, 0, 0.0, 1e-300, Decimal("100000000.000000000000000000"), Decimal("10.00"), Decimal("-120000")),
        *(" blank ", b"\0\0", dt.date(1, 1, 1), dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
        *([0] * 50, (0, "\x01"), {"": -1.0}),
    ),
]


def as_read(place: Place, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row as a reader of this kind of database sees it."""

    def written(value: Any) -> Any:
        if isinstance(value, list | dict):
            return json.loads(json.dumps(value))
        if isinstance(value, tuple):
            return dict(zip("ab", value, strict=True))
        if place.kind == "postgresql":
            return value
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, dt.datetime):
            plain = value.replace(tzinfo=None)
            if place.kind == "mariadb":
                return plain
            return f"{plain:%H:%M:%S.%f}".rstrip("0").rstrip(".").join([f"{plain.year:04}-{plain:%m-%d} ", ""])
        if place.kind == "sqlite" and isinstance(value, Decimal):
            return f"{value:f}"
        return value.isoformat() if place.kind == "sqlite" and isinstance(value, dt.date) else value

    return tuple(written(value) for value in row)


def parsed(place: Place, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What was read, with JSON as what it says."""
    head = list(row[:-3])
    return (*head, *(json.loads(value) if isinstance(value, str) else value for value in row[-3:]))


@pytest.mark.parametrize("key", [None, "id"])
def test_every_type(place: Place, key: str | None) -> None:
    source = hr.read.memory(TYPED, COLUMNS, name="typed")
    hr.job("types", source.write.jdbc(place.url, "typed", key=key, **place.options)).run(progress=False)
    expected = sorted((as_read(place, row) for row in TYPED), key=lambda row: row[0])
    actual = sorted((parsed(place, row) for row in place.run("SELECT * FROM typed")), key=lambda row: row[0])
    assert actual == expected
    assert stages(place) == []


def test_intervals_and_times(pg: Served) -> None:
    source = hr.read.memory([(1,)], "id int", name="s").select(
        "id",
        a="interval '1 02:03:04.5' day to second",
        b="interval '-2-3' year to month",
        c="time'23:59:59.123456'",
        e="parse_json('{\"a\": [1, null]}')",
    )
    hr.job("intervals", source.write.jdbc(pg.url, "t", **pg.options)).run(progress=False)
    assert pg.run("SELECT id, a, b::text, c, e FROM t") == [
        (
            1,
            dt.timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=500),
            "-2 years -3 mons",
            dt.time(23, 59, 59, 123456),
            {"a": [1, None]},
        )
    ]


class Model:
    """Random changes, and what is there after each."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.there: list[tuple[Any, ...]] = []

    def step(self) -> list[tuple[str, tuple[Any, ...]]]:
        changes = []
        for _ in range(self.chance.randrange(30)):
            if self.there and self.chance.random() < 0.45:
                changes.append(("-", self.there.pop(self.chance.randrange(len(self.there)))))
            else:
                row = (f"k{self.chance.randrange(12)} {ODD}", self.chance.choice([None, "x", "y "]), self.chance.randrange(100))
                self.there.append(row)
                changes.append(("+", row))
        return changes

    def totals(self) -> list[tuple[Any, ...]]:
        by_key: dict[str, list[int]] = {}
        for key, _, value in self.there:
            by_key.setdefault(key, []).append(value)
        return sorted(((key, len(values), sum(values)) for key, values in by_key.items()), key=repr)


def test_random_changes(place: Place) -> None:
    model = Model(3)
    with Harness() as h:
        source = h.source("s", "k string, v string, n int", changes=True)
        totals = source.group_by("k").agg(rows="count(*)", total="sum(n)")
        into(h, totals.write.jdbc(place.url, "totals", key="k", **place.options))
        for number in range(12):
            h.commit({"s": model.step()})
            assert rows(place, "totals") == model.totals(), number
            if number in (3, 8):
                h.restart()
    assert stages(place) == []


def test_the_newest_row_of_each_key(place: Place) -> None:
    """Of rows that are only added nothing has to be kept: the database has the ones before."""
    chance, newest = random.Random(5), dict[str, tuple[Any, ...]]()
    with Harness() as h:
        source = h.source("s", "k string, n int")
        into(h, source.write.jdbc(place.url, "newest", key="k", **place.options))
        for number in range(6):
            come = [(f"k{chance.randrange(9)}", chance.randrange(100)) for _ in range(chance.randrange(20))]
            h.commit({"s": [("+", row) for row in come]})
            newest |= {row[0]: row for row in come}
            assert rows(place, "newest") == sorted(newest.values()), number
            if number == 2:
                h.restart()


def test_a_key_of_several_columns_and_nothing_else(place: Place) -> None:
    with Harness() as h:
        source = h.source("s", "a string, b int", changes=True)
        into(h, source.write.jdbc(place.url, "pairs", key=["b", "a"], **place.options))
        h.commit({"s": [("+", ("x", 1)), ("+", ("x ", 1)), ("+", ("X", 1)), ("+", ("é", 2))]})
        h.commit({"s": [("-", ("X", 1)), ("+", ("e", 2)), ("-", ("x", 1)), ("+", ("x", 1))]})
        assert rows(place, "pairs") == [("e", 2), ("x ", 1), ("x", 1), ("é", 2)]


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets the next passing of a point fail."""

    def arm(name: str) -> None:
        monkeypatch.setattr(points, "OFF", False)
        monkeypatch.setattr(points, "_armed", points.Armed(name, action="fail"))
        monkeypatch.setattr(points, "_passed", 0)

    return arm


@pytest.mark.parametrize("point", ["before sink commit", "in sink commit", "after sink commit"])
@pytest.mark.parametrize("key", [None, "k"])
def test_an_epoch_that_is_run_again(place: Place, key: str | None, point: str, fails: Any) -> None:
    with Harness() as h:
        source = h.source("s", "k string, n int")
        into(h, source.write.jdbc(place.url, "result", key=key, **place.options))
        h.commit({"s": [("+", ("a", 1)), ("+", ("b", 2))]})
        fails(point)
        with pytest.raises(hr.HeadraceError, match=point):
            h.commit({"s": [("+", ("a", 3)), ("+", ("c", 4))]})
        h.restart()
        h._settle()
        h.commit({"s": [("+", ("d", 5))]})
        added = [("a", 3), ("b", 2), ("c", 4), ("d", 5)]
        assert rows(place, "result") == (added if key else [("a", 1), *added])


def test_a_process_that_was_replaced_writes_nothing(place: Place) -> None:
    with Harness() as h:
        source = h.source("s", "k string, n int")
        into(h, source.write.jdbc(place.url, "result", name="out", **place.options))
        h.commit({"s": [("+", ("a", 1))]})
        place.run("UPDATE _headrace_epochs SET term = 7")
        check_error(
            """
            SINK_FENCED: out: start 7 of this job has taken over the table result from start 1
              hint: nothing more of this epoch was written; the process that took over continues with it
              more: headrace error SINK_FENCED
            """,
            lambda: h.commit({"s": [("+", ("b", 2))]}),
        )
        assert rows(place, "result") == [("a", 1)]


def test_its_tasks_cannot_stage_any_more(place: Place) -> None:
    with Harness() as h:
        source = h.source("s", "k string, n int")
        sink = into(h, source.write.jdbc(place.url, "result", name="out", **place.options))
        h.commit({"s": [("+", ("a", 1))]})
        place.run(f"DROP TABLE {sink._stage}")
        with pytest.raises(hr.HeadraceError) as caught:
            h.commit({"s": [("+", ("b", 2))]})
        check_error(
            """
            SINK_FENCED: out: its staging table is gone: another process has taken over the job, or the database was restored
              hint: nothing of this epoch was written; the next start checks what the database has
              more: headrace error SINK_FENCED
            """,
            caught.value,
        )
        assert rows(place, "result") == [("a", 1)]


def test_another_checkpoint_of_the_job(place: Place, tmp_path: Path) -> None:
    def job(*values: int) -> hr.Job:
        source = hr.read.memory([(n,) for n in values], "n int", name="s")
        return hr.job("same", source.write.jdbc(place.url, "result", name="out", **place.options))

    job(1, 2).run(checkpoint=tmp_path / "one", progress=False)
    check_error(
        """
        TABLE_OWNED: the table result was written by the sink out of the job same, from another checkpoint or query
          at test_jdbc_sink.py:*: return hr.job("same", source.write.jdbc(place.url, "result", name="out", **place.options))
          hint: write to another table, continue from the checkpoint that wrote it, or start with fresh=True, which empties it
          more: headrace error TABLE_OWNED
        """,
        lambda: job(3).run(checkpoint=tmp_path / "two", progress=False),
    )
    assert rows(place, "result") == [(1,), (2,)]
    job(4).run(checkpoint=tmp_path / "two", fresh=True, progress=False)
    assert rows(place, "result") == [(4,)]


def test_a_table_that_others_write_too(place: Place, tmp_path: Path) -> None:
    """Nobody knows whose rows are whose, so none are removed."""

    def job(name: str, value: int) -> hr.Job:
        return hr.job(name, hr.read.memory([(value,)], "n int", name="s").write.jdbc(place.url, "result", name="out", **place.options))

    job("one", 1).run(checkpoint=tmp_path / "one", progress=False)
    job("two", 2).run(checkpoint=tmp_path / "two", progress=False)
    check_error(
        """
        TABLE_OWNED: the table result was written by the sink out of the job one, from another checkpoint or query
          at test_jdbc_sink.py:*: return hr.job(name, hr.read.memory([(value,)], "n int", name="s").write.jdbc(place.url, "result", name="out", **place.options))
          hint: write to another table, continue from the checkpoint that wrote it, or empty it by hand, and delete the job's row from _headrace_epochs
          more: headrace error TABLE_OWNED
        """,
        lambda: job("one", 3).run(checkpoint=tmp_path / "three", fresh=True, progress=False),
    )
    assert rows(place, "result") == [(1,), (2,)]


def test_a_table_that_is_there(place: Place) -> None:
    place.run("CREATE TABLE spend (Id INTEGER NOT NULL, Country VARCHAR(20) NOT NULL, Spent DECIMAL(20, 2), note VARCHAR(9) DEFAULT 'x')")
    place.run("CREATE UNIQUE INDEX one ON spend (Country)")
    place.run("INSERT INTO spend VALUES (0, 'fr', NULL, 'mine')")
    spent = "decimal(12,2)" if place.kind != "sqlite" else "double"
    source = hr.read.memory(
        [("de", 1, Decimal("1.50") if place.kind != "sqlite" else 1.5)], f"country string, id int, spent {spent}", name="s"
    )
    hr.job("there", source.write.jdbc(place.url, "spend", key="country", create=False, **place.options)).run(progress=False)
    actual = [(row[0], row[1], None if row[2] is None else float(row[2]), row[3]) for row in rows(place, "spend")]
    assert actual == [(0, "fr", None, "mine"), (1, "de", 1.5, "x")]


def refused(place: Place, expected: str, ddl: str | None, schema: str, *, hide: dict[str, str] | None = None, **options: Any) -> None:
    if ddl is not None:
        place.run(ddl)
    source = hr.read.memory([], schema, name="s")
    job = hr.job("refused", source.write.jdbc(place.url, "t", **{**place.options, **options}))
    check_error(expected, lambda: job.run(progress=False), hide=hide)


def test_no_table(place: Place) -> None:
    refused(
        place,
        """
        TABLE_MISSING: there is no table t
          at test_jdbc_sink.py:*: job = hr.job("refused", source.write.jdbc(place.url, "t", **{**place.options, **options}))
          hint: create it, correct its name, or let the sink create it: create=True
          more: headrace error TABLE_MISSING
        """,
        None,
        "a int",
        create=False,
    )


def test_no_column(place: Place) -> None:
    refused(
        place,
        """
        TABLE_SCHEMA: the table t has no column b
          at test_jdbc_sink.py:*: job = hr.job("refused", source.write.jdbc(place.url, "t", **{**place.options, **options}))
          hint: it has: a, c. Add the column, or leave it out of the stream: .drop("b")
          more: headrace error TABLE_SCHEMA
        """,
        "CREATE TABLE t (a INTEGER, c INTEGER)",
        "a int, b int",
    )


def test_a_column_too_many(place: Place) -> None:
    refused(
        place,
        """
        TABLE_SCHEMA: the table t needs a value for c, but the stream has no such column
          at test_jdbc_sink.py:*: job = hr.job("refused", source.write.jdbc(place.url, "t", **{**place.options, **options}))
          hint: give the column a default, make it nullable, or add it to the stream
          more: headrace error TABLE_SCHEMA
        """,
        "CREATE TABLE t (a INTEGER, c INTEGER NOT NULL)",
        "a int",
    )


def test_a_column_of_another_type(place: Place) -> None:
    kind, wanted = {"postgresql": ("int4", "text"), "mariadb": ("int", "longtext"), "sqlite": ("INTEGER", "text")}[place.kind]
    change = 'ALTER TABLE "t" ALTER "a" TYPE text' if place.kind == "postgresql" else f"change the column to {wanted}"
    refused(
        place,
        f"""
        TABLE_SCHEMA: the column a of the table t is {kind}, which cannot store every string
          at test_jdbc_sink.py:*: job = hr.job("refused", source.write.jdbc(place.url, "t", **{{**place.options, **options}}))
          hint: {change}; or cast the column in the stream to a type that fits
          more: headrace error TABLE_SCHEMA
        """,
        "CREATE TABLE t (a INTEGER)",
        "a string",
    )


def test_no_unique_index(place: Place) -> None:
    tick = "`" if place.kind == "mariadb" else '"'
    cure = f"ALTER TABLE {tick}t{tick} ADD UNIQUE ({tick}a{tick})"
    if place.kind == "sqlite":
        cure = 'CREATE UNIQUE INDEX "t_a" ON "t" ("a")'
    refused(
        place,
        f"""
        TABLE_SCHEMA: the table t has no unique index on a, so rows cannot be replaced by it
          at test_jdbc_sink.py:*: job = hr.job("refused", source.write.jdbc(place.url, "t", **{{**place.options, **options}}))
          hint: add one: {cure}
          more: headrace error TABLE_SCHEMA
        """,
        "CREATE TABLE t (a INTEGER, b INTEGER)",
        "a int, b int",
        key="a",
    )
    place.run(cure)
    again = hr.job("refused", hr.read.memory([(1, 3)], "a int, b int", name="s").write.jdbc(place.url, "t", key="a", **place.options))
    assert again.run(fresh=True, progress=False).rows == 1


def test_a_narrow_decimal(pg: Served) -> None:
    refused(
        pg,
        """
        TABLE_SCHEMA: the column a of the table t is numeric(10,2), which cannot store every decimal(12,2)
          at test_jdbc_sink.py:*: job = hr.job("refused", source.write.jdbc(place.url, "t", **{**place.options, **options}))
          hint: ALTER TABLE "t" ALTER "a" TYPE numeric(12,2); or cast the column in the stream to a type that fits
          more: headrace error TABLE_SCHEMA
        """,
        "CREATE TABLE t (a NUMERIC(10, 2))",
        "a decimal(12,2)",
    )


def test_values_for_other_types(pg: Served) -> None:
    pg.run("CREATE TYPE mood AS ENUM ('good', 'bad')")
    pg.run("CREATE TABLE t (id uuid PRIMARY KEY, m mood, j json, n varchar(3), big numeric)")
    records = [("00000000-0000-0000-0000-00000000000A", "bad", '{"a":1}', "abc", 2**40)]
    source = hr.read.memory(records, "id string, m string, j string, n string, big bigint", name="s")
    hr.job("cast", source.write.jdbc(pg.url, "t", key="id", **pg.options)).run(progress=False)
    assert pg.run("SELECT id::text, m::text, j::text, n, big FROM t") == [
        ("00000000-0000-0000-0000-00000000000a", "bad", '{"a":1}', "abc", Decimal(2**40))
    ]


def test_a_table_is_known_however_it_is_spelled(pg: Served) -> None:
    """Else an epoch whose end Spark did not see would come again to a table that nobody knows."""
    pg.run("CREATE SCHEMA other")
    pg.run("CREATE TABLE other.t (id int)")
    pg.run(f"ALTER DATABASE {pg.url.rpartition('/')[2]} SET search_path = public, other")
    source = hr.read.memory([(1,)], "id int", name="s")
    for table in ("t", "other.t", '"other"."t"'):
        hr.job("spelled", source.write.jdbc(pg.url, table, name="out", **pg.options)).run(checkpoint="ck", progress=False)
    assert pg.run("SELECT target, epoch FROM other._headrace_epochs") == [("other.t", 0)]
    assert pg.run("SELECT id FROM other.t") == [(1,)]


def test_schemas_and_odd_names(pg: Served) -> None:
    pg.run('CREATE SCHEMA "odd one"')
    source = hr.read.memory([(1, 2)], '`a "b"` int, `select` int', name="s")
    hr.job("odd", source.write.jdbc(pg.url, '"odd one"."Table.1"', key='a "b"', **pg.options)).run(progress=False)
    assert pg.run('SELECT "a ""b""", "select" FROM "odd one"."Table.1"') == [(1, 2)]


@pytest.mark.full
def test_many_rows(place: Place) -> None:
    n = 20_000 if place.kind == "sqlite" else 60_000
    job = hr.job("many", numbers(n).write.jdbc(place.url, "many", key="id", **place.options))
    job.run(progress=False)
    assert [tuple(map(int, row)) for row in place.run("SELECT count(*), sum(id), count(DISTINCT x) FROM many")] == [
        (n, n * (n - 1) // 2, n)
    ]


def numbers(n: int) -> Any:
    """The rows from 0 to n - 1, in files of this folder."""
    folder = Path.cwd() / "numbers"
    hr.session().range(n).selectExpr("id", "concat('text of row ', id) AS x", "id / 7 AS d").write.parquet(str(folder))
    return hr.read.files(folder, format="parquet", schema="id bigint, x string, d double", name="numbers")


def test_no_database(place: Place) -> None:
    if place.kind == "sqlite":
        pytest.skip("a file is made")
    port = place.url.split(":")[2].split("/")[0]
    url = place.url.rpartition("/")[0] + "/nowhere"
    reason = {"postgresql": 'database "nowhere" does not exist', "mariadb": "(conn=N) Unknown database 'nowhere'"}[place.kind]
    source = hr.read.memory([(1,)], "a int", name="s")
    job = hr.job("shut", source.write.jdbc(url, "t", **place.options))
    with pytest.raises(hr.HeadraceError) as caught:
        job.run(progress=False)
    check_error(
        f"""
        DATABASE_REFUSED: {url.replace(port, "PORT")} rejected the request: {reason}
          at test_jdbc_sink.py:*: job = hr.job("shut", source.write.jdbc(url, "t", **place.options))
          hint: create it, or correct the address
          more: headrace error DATABASE_REFUSED
        """,
        re.sub(r"conn=\d+", "conn=N", str(caught.value)).replace(port, "PORT"),
    )
