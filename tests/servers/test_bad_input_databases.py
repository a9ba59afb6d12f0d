"""Rows that a database cannot hold, with real databases: each is told of, and no other row is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.testing import Harness
from tests.servers.problems import letters, problem
from tests.servers.tables import Place, Served, into, rows
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")

WHERE = "Database sinks"
FULL = pytest.mark.full
DEAD = "all other rows are written; an upsert sink deletes the older row of the key"
STOPS = "nothing of the epoch was written; the next start writes it exactly once"


def run(
    place: Place,
    records: list[tuple[Any, ...]],
    schema: str,
    *,
    transform: Callable[[hr.Stream], hr.Stream] = lambda read: read,
    **options: Any,
) -> hr.Summary:
    """Run a job whose input are the rows that were given to it, and these; `transform` says what is written of them."""
    folder = Path("in").absolute()  # Spark's own folder is another one
    folder.mkdir(exist_ok=True)
    if records:
        frame = hr.session().createDataFrame(records, schema)
        frame.coalesce(1).write.mode("append").parquet(str(folder))
    read = hr.read.files(folder, format="parquet", schema=schema, name="rows")
    job = hr.job("bad", transform(read).write.jdbc(place.url, "t", name="out", **{**place.options, **options}))
    return job.run(checkpoint="ck", progress=False, flush=False)


@problem(
    WHERE,
    "a string with a NUL character, also inside a nested value (PostgreSQL)",
    "x has a string with a NUL character, which this database cannot store",
    DEAD,
)
def test_a_text_with_a_zero(pg: Served, says: str) -> None:
    schema = "n int, x string"
    summary = run(pg, [(0, "a"), (1, "b\0"), (2, "ä")], schema)
    assert (summary.sinks["out"], sum(summary.dead_letters.values())) == (2, 1)
    run(pg, [(4, "\0")], schema)  # an epoch without a row that can be held
    run(pg, [(3, "\\0")], schema)
    assert rows(pg, "t") == [(0, "a"), (2, "ä"), (3, "\\0")]
    assert letters(Path("ck")) == [("out", says, None, None, '{"n":1,"x":"b\\u0000"}'), ("out", says, None, None, '{"n":4,"x":"\\u0000"}')]


@FULL
def test_a_nested_text_with_a_zero(pg: Served) -> None:
    says = "x has a string with a NUL character, which this database cannot store"
    run(pg, [(0, ["a"]), (1, ["a", "b\0"]), (2, ["\\u0000"])], "n int, x array<string>")
    assert rows(pg, "t") == [(0, ["a"]), (2, ["\\u0000"])]
    assert [letter[1:] for letter in letters(Path("ck"))] == [(says, None, None, '{"n":1,"x":["a","b\\u0000"]}')]


@FULL
def test_a_row_that_would_replace_another(pg: Served) -> None:
    """Without the row that cannot be held the key is gone; a row that was never there is not missed when it goes."""
    with Harness() as h:
        source = h.source("s", "k string, x string", changes=True)
        into(h, source.write.jdbc(pg.url, "t", key="k", name="out", **pg.options))
        h.commit({"s": [("+", ("a", "1")), ("+", ("b", "1")), ("+", ("c\0", "1"))]})
        h.commit({"s": [("-", ("a", "1")), ("+", ("a", "\0"))]})
        assert rows(pg, "t") == [("b", "1")]
        h.restart()
        h.commit({"s": [("-", ("a", "\0")), ("+", ("a", "2")), ("-", ("c\0", "1"))]})
        assert rows(pg, "t") == [("a", "2"), ("b", "1")]


@problem(WHERE, "NaN (MariaDB, SQLite)", "x has the value NaN, which this database cannot store", DEAD)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("maria", marks=FULL)])
def test_a_number_that_is_none(kind: str, says: str, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(kind)
    run(place, [(0, 0.5), (1, float("nan"))], "n int, x double")
    run(place, [(2, None)], "n int, x double")
    assert rows(place, "t") == [(0, 0.5), (2, None)]
    assert [letter[:2] for letter in letters(Path("ck"))] == [("out", says)]


@problem(WHERE, "an infinite number (MariaDB)", "x has the value Infinity, which this database cannot store", DEAD)
@FULL
def test_a_number_without_an_end(maria: Served, says: str) -> None:
    run(maria, [(0, 0.5), (1, float("inf"))], "n int, x double")
    assert rows(maria, "t") == [(0, 0.5)]
    assert [letter[:2] for letter in letters(Path("ck"))] == [("out", says)]


@problem(WHERE, "a row with a null in its key", "NULL_KEY: a key column is null", "all other rows are written")
@FULL
def test_no_key(pg: Served, says: str) -> None:
    run(pg, [(None, 1), ("a", 2)], "k string, n int", key="k")
    assert rows(pg, "t") == [("a", 2)]
    assert [letter[1] for letter in letters(Path("ck"))] == [says]


@problem(WHERE, "a group of an aggregate with a null key", "NULL_KEY: a key column is null", "all other rows are written")
def test_a_group_of_nulls(pg: Served, says: str) -> None:
    for number, records in enumerate([[(None, 1), ("a", 2)], [(None, 3), ("b", 4)]], 1):
        run(pg, records, "k string, n int", key="k", transform=lambda read: read.group_by("k").agg(n="sum(n)"))
        assert rows(pg, "t") == [("a", 2), ("b", 4)][:number]
    assert [letter[1] for letter in letters(Path("ck"))] == [says, says]


@problem(
    WHERE,
    "a table of an engine without transactions (MariaDB)",
    """
    TABLE_SCHEMA: the table t uses the engine Aria, which has no transactions: a failed epoch could leave some of its rows in the table
      at test_bad_input_databases.py:*: job = hr.job("bad", transform(read).write.jdbc(place.url, "t", name="out", **{**place.options, **options}))
      hint: ALTER TABLE `t` ENGINE=InnoDB
      more: headrace error TABLE_SCHEMA
    """,
    "nothing was read or written",
)
def test_a_table_without_transactions(maria: Served, says: str) -> None:
    maria.run("CREATE TABLE t (n int) ENGINE=Aria")
    check_error(says, lambda: run(maria, [(1,)], "n int"))
    maria.run("ALTER TABLE t ENGINE=InnoDB")
    run(maria, [], "n int")
    assert rows(maria, "t") == [(1,)]


@problem(
    WHERE,
    "a second unique index, by which MariaDB would also replace rows",
    """
    TABLE_SCHEMA: the table t has a second unique index, mail, and MariaDB would also replace rows that match only this one
      at test_bad_input_databases.py:*: job = hr.job("bad", transform(read).write.jdbc(place.url, "t", name="out", **{**place.options, **options}))
      hint: drop it, or make it non-unique: ALTER TABLE `t` DROP INDEX `mail`
      more: headrace error TABLE_SCHEMA
    """,
    "nothing was read or written",
)
def test_a_second_unique_index(maria: Served, says: str) -> None:
    maria.run("CREATE TABLE t (n int PRIMARY KEY, mail varchar(20), number bigint auto_increment UNIQUE, UNIQUE INDEX mail (mail))")
    check_error(says, lambda: run(maria, [(1, "a"), (2, "a")], "n int, mail string", key="n"))
    maria.run("ALTER TABLE t DROP INDEX mail")
    run(maria, [], "n int, mail string", key="n")
    assert rows(maria, "t", "n, mail") == [(1, "a"), (2, "a")]


@problem(
    WHERE,
    "a column type that cannot hold every value of the stream",
    """
    TABLE_SCHEMA: the column x of the table t is int4, which cannot store every bigint
      at test_bad_input_databases.py:*: job = hr.job("bad", transform(read).write.jdbc(place.url, "t", name="out", **{**place.options, **options}))
      hint: ALTER TABLE "t" ALTER "x" TYPE bigint; or cast the column in the stream to a type that fits
      more: headrace error TABLE_SCHEMA
    """,
    "found before anything is read, so no value can overflow later",
)
def test_a_number_that_may_overflow(pg: Served, says: str) -> None:
    pg.run("CREATE TABLE t (n int, x int)")
    check_error(says, lambda: run(pg, [(0, 1), (1, 2**40)], "n int, x bigint"))
    pg.run("ALTER TABLE t ALTER x TYPE bigint")
    run(pg, [], "n int, x bigint")
    assert rows(pg, "t") == [(0, 1), (1, 2**40)]


@problem(
    WHERE,
    "a string that is too long for its column, or a row that violates a constraint",
    "value too long for type character varying(3)",
    DEAD,
)
def test_a_text_that_the_column_does_not_take(pg: Served, says: str) -> None:
    pg.run("CREATE TABLE t (n int CHECK (n < 100), x varchar(3))")
    run(pg, [(0, "abc"), (1, "d"), (2, "abcd")], "n int, x string")
    run(pg, [(100, "e"), (3, "f")], "n int, x string")
    assert rows(pg, "t") == [(0, "abc"), (1, "d"), (3, "f")]
    assert letters(Path("ck"))[1] == ("out", says, None, None, '{"n":2,"x":"abcd"}')


@problem(
    WHERE,
    'a string that is too long for its column, with `on_refused="fail"`',
    """
    ROW_REFUSED: out: <url> rejected the row {"n":2,"x":"abcd"}: value too long for type character varying(3)
      hint: correct such rows upstream of the sink, or make them dead letters: on_refused="dead_letter". Nothing of the epoch was written.
      more: headrace error ROW_REFUSED
    """,
    STOPS,
)
def test_a_text_that_is_too_long(pg: Served, says: str) -> None:
    pg.run("CREATE TABLE t (n int CHECK (n < 100), x varchar(3))")
    run(pg, [(0, "abc")], "n int, x string", on_refused="fail")
    check_error(says, lambda: run(pg, [(1, "d"), (2, "abcd")], "n int, x string", on_refused="fail"), hide={pg.url: "<url>"})
    assert rows(pg, "t") == [(0, "abc")]
    pg.run("ALTER TABLE t ALTER x TYPE text")
    run(pg, [], "n int, x string")
    assert rows(pg, "t") == [(0, "abc"), (1, "d"), (2, "abcd")]
    with pytest.raises(
        hr.HeadraceError, match=r'ROW_REFUSED: out: .* rejected the row .*: new row for relation "t" violates check constraint'
    ):
        run(pg, [(100, "e")], "n int, x string", on_refused="fail")


@problem(
    WHERE,
    "a string that is too long for its column (MariaDB)",
    "Data too long for column 'x' at row 1",
    DEAD,
)
@FULL
def test_a_text_that_is_too_long_in_mariadb(maria: Served, says: str) -> None:
    maria.run("CREATE TABLE t (n int, x varchar(3))")
    run(maria, [(1, "d"), (2, "abcd")], "n int, x string")
    assert rows(maria, "t") == [(1, "d")]
    assert letters(Path("ck")) == [("out", says, None, None, '{"n":2,"x":"abcd"}')]


@problem(
    "Database lookups",
    "a key that the database cannot compare with its column",
    'ERROR: invalid byte sequence for encoding "UTF8": 0x00; Where: unnamed portal parameter $1',
    "other rows of the same request get their result",
)
def test_a_key_that_the_column_cannot_have(pg: Served, says: str) -> None:
    pg.run("CREATE TABLE t (k text, v int); INSERT INTO t VALUES ('a', 1)")
    with Harness() as h:
        orders = h.source("orders", "k string")
        looked_up = orders.lookup(hr.lookup.jdbc(pg.url, "t", "k string, v int", **pg.options), on="k")
        out, dead = h.collect(looked_up), h.collect(looked_up.output("dead_letter").select("reason", "raw"))
        h.commit({"orders": [("+", (k,)) for k in ("a", "b\x00", "c")]})
        assert out.rows() == [("a", 1), ("c", None)]
        assert [(reason.strip(), json.loads(raw)) for reason, raw in dead.rows()] == [(says, {"k": "b\x00"})]
