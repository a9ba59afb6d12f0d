"""Rows that a sink cannot write, among others that it can: the others are all there, those are dead letters, and the next start goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.jdbc import Sink
from headrace.errors import HeadraceError
from headrace.testing import Harness
from tests.servers.kafka import Broker
from tests.servers.redis import VARIABLE, Redis
from tests.servers.tables import Place, Served, into, rows
from tests.unit.connectors.receiver import Answer, Receiver, Request

pytestmark = pytest.mark.usefixtures("spark", "here")

FULL = pytest.mark.full
SCHEMA = "id int, x string, mail string"
TABLE = "CREATE TABLE t (id int, x varchar(3) NOT NULL CHECK (x <> 'no'), mail varchar(20) UNIQUE)"
# A text of SQLite has no longest.
FIRST = [(1, "a", "m1"), (2, "b", "m1"), (3, "no", "m3"), (4, None, "m4"), (5, "e", "m5")]
SECOND = [(6, "f", "m5"), (7, "g", "m7")]


def put(new_rows: list[tuple[Any, ...]] | str, schema: str = SCHEMA) -> hr.Stream:
    """The rows that were put there before, and these: of a query of SQL what Python's own types lack."""
    folder = Path("in").absolute()
    if new_rows:
        frame = hr.session().sql(new_rows) if isinstance(new_rows, str) else hr.session().createDataFrame(new_rows, schema)
        frame.coalesce(1).write.mode("append").parquet(str(folder))
    return hr.read.files(folder, format="parquet", schema=schema, name="rows")


def run(sink: Any) -> hr.Summary:
    return hr.job("bad", sink).run(checkpoint="ck", progress=False, flush=False)


def dead() -> list[tuple[int, str]]:
    """The dead letters of the sink: the number in the row, and why."""
    letters = [(row[3], json.loads(row[7]), row[4]) for row in hr.letters("ck").table().rows()]
    assert {node for node, _, _ in letters} <= {"out"}
    return sorted((raw["id"], reason) for _, raw, reason in letters)


def test_constraints(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the epoch is cut off behind its dead letters, and comes again."""
    place.run(TABLE)

    def cut(self: Sink, count: int) -> None:
        raise OSError("the plug is out")

    def write(new_rows: list[tuple[Any, ...]]) -> hr.Summary:
        return run(put(new_rows).write.jdbc(place.url, "t", name="out", **place.options))

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "_end", cut)
        with pytest.raises(HeadraceError, match="the plug is out"):
            write(FIRST)
    assert rows(place, "t", "id") == []
    place.run("DELETE FROM t")
    summary = write([])
    assert rows(place, "t", "id, x, mail") == [(1, "a", "m1"), (5, "e", "m5")]
    assert [id for id, _ in dead()] == [2, 3, 4]
    assert (sum(summary.dead_letters.values()), dict(summary.sinks)) == (3, {"out": 2})
    write(SECOND)
    assert rows(place, "t", "id") == [(1,), (5,), (7,)]
    assert [id for id, _ in dead()] == [2, 3, 4, 6]


def test_what_was_refused_before_a_crash_and_is_taken_after_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.run("CREATE TABLE t (id int, x varchar(3) CHECK (x <> 'no'), mail varchar(20))")

    def cut(self: Sink, count: int) -> None:
        raise OSError("the plug is out")

    def write(new_rows: list[tuple[Any, ...]]) -> hr.Summary:
        return run(put(new_rows).write.jdbc(place.url, "t", name="out", **place.options))

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "_end", cut)
        with pytest.raises(HeadraceError, match="the plug is out"):
            write(FIRST)
    assert [id for id, _ in dead()] == [3]
    place.run("DROP TABLE t")
    place.run("CREATE TABLE t (id int, x varchar(3), mail varchar(20))")
    write([])
    assert [id for (id,) in rows(place, "t", "id")] == [1, 2, 3, 4, 5]
    assert dead() == []


def test_a_job_that_is_to_fail(place: Place) -> None:
    place.run(TABLE)
    sink = put(FIRST).write.jdbc(place.url, "t", name="out", on_refused="fail", **place.options)
    with pytest.raises(HeadraceError, match=r"ROW_REFUSED: out: .* rejected the row "):
        run(sink)
    assert rows(place, "t") == [] and dead() == []
    run(put([]).write.jdbc(place.url, "t", name="out", **place.options))
    assert [id for (id,) in rows(place, "t", "id")] == [1, 5]


@pytest.mark.parametrize("kind", ["pg", pytest.param("sqlite", marks=FULL)])
def test_rows_that_would_replace_others(kind: str, request: pytest.FixtureRequest) -> None:
    """The older row of a key goes; two rows that exchange what is unique replace each other; a key that others point to stays."""
    place: Place = request.getfixturevalue(kind)
    place.run("CREATE TABLE t (k varchar(5) PRIMARY KEY, mail varchar(20) UNIQUE, x int CHECK (x < 100))")
    with Harness() as h:
        source = h.source("s", "k string, mail string, x int", changes=True)
        into(h, source.write.jdbc(place.url, "t", key="k", name="out", **place.options))
        h.commit({"s": [("+", ("a", "m1", 1)), ("+", ("b", "m2", 1)), ("+", ("c", "m3", 1)), ("+", ("d", "m3", 1))]})
        taken = rows(place, "t", "k, mail")
        assert len(taken) == 3 and taken[:2] == [("a", "m1"), ("b", "m2")]
        kept = taken[2][0]
        h.commit({"s": [("-", ("a", "m1", 1)), ("+", ("a", "m2", 1)), ("-", ("b", "m2", 1)), ("+", ("b", "m1", 1))]})
        assert rows(place, "t", "k, mail") == [("a", "m2"), ("b", "m1"), (kept, "m3")]
        h.commit({"s": [("-", ("a", "m2", 1)), ("+", ("a", "m2", 100)), ("+", ("e", "m5", 1))]})
        assert rows(place, "t", "k, mail") == [("b", "m1"), (kept, "m3"), ("e", "m5")]
        h.restart()
        h.commit({"s": [("-", ("a", "m2", 100)), ("+", ("a", "m2", 2)), ("-", ("e", "m5", 1))]})
        assert rows(place, "t", "k, mail") == [("a", "m2"), ("b", "m1"), (kept, "m3")]
        # Rows between those that are refused stay.
        h.commit({"s": [("+", (f"g{n}", f"g{n}", 100 if n % 2 == 0 else 1)) for n in range(9)]})
        assert [k for (k,) in rows(place, "t", "k") if k[0] == "g"] == ["g1", "g3", "g5", "g7"]
        h.commit({"s": [("-", (f"g{n}", f"g{n}", 100 if n % 2 == 0 else 1)) for n in range(9)]})
        if kind == "pg":
            place.run("CREATE TABLE u (k varchar(5) REFERENCES t (k))")
            place.run("INSERT INTO u VALUES ('b')")
            h.commit({"s": [("-", ("b", "m1", 1)), ("+", ("f", "m6", 1))]})
            assert rows(place, "t", "k") == [("a",), ("b",), (kept,), ("f",)]


DATES = """
    SELECT int(id) AS id, d, t FROM VALUES
      (0, date'2026-01-01', timestamp'2026-01-01 00:00:00'),
      (1, date'+12000-01-01', timestamp'2026-01-01 00:00:00'),
      (2, date'2026-01-01', timestamp'+12000-01-01 00:00:00'),
      (3, date'-4800-01-01', timestamp'2026-01-01 00:00:00'),
      (4, date'2026-01-01', timestamp'-4800-01-01 00:00:00'),
      (5, date'1001-01-01', timestamp'1001-01-01 00:00:00')
    AS v(id, d, t)
"""
"""Days and moments that not every database has."""


def test_days_and_moments(place: Place) -> None:
    run(put(DATES, "id int, d date, t timestamp").write.jdbc(place.url, "t", name="out", **place.options))
    lost = {"postgresql": [3, 4], "mariadb": [1, 2, 3, 4], "sqlite": []}[place.kind]
    assert [id for (id,) in rows(place, "t", "id")] == [id for id in range(6) if id not in lost]
    assert [id for id, _ in dead()] == lost
    run(put(DATES, "id int, d date, t timestamp").write.jdbc(place.url, "t", name="out", **place.options))
    assert len(rows(place, "t", "id")) == 2 * (6 - len(lost)) and len(dead()) == 2 * len(lost)


@FULL
def test_a_row_that_is_larger_than_a_packet(maria: Served) -> None:
    query = "SELECT int(id) AS id, IF(id = 1, repeat('x', 20000000), 'a') AS x FROM VALUES (0), (1), (2) AS v(id)"
    run(put(query, "id int, x string").write.jdbc(maria.url, "t", name="out", **maria.options))
    assert rows(maria, "t", "id") == [(0,), (2,)]


def test_texts_that_are_not_utf8(place: Place) -> None:
    query = "SELECT int(id) AS id, IF(id = 1, x'61ff', x'61') AS x FROM VALUES (0), (1), (2) AS v(id)"
    run(put(query, "id int, x binary").with_columns(x="CAST(x AS string)").write.jdbc(place.url, "t", name="out", **place.options))
    assert rows(place, "t", "id, x") == [(0, "a"), (2, "a")]
    assert dead() == [(1, "x has a string that is not UTF-8")]


def test_a_key_that_no_index_holds(pg: Served) -> None:
    query = "SELECT int(id) AS id, IF(id = 1, substr(array_join(transform(sequence(1, 2000), i -> sha2(string(i), 512)), ''), 1, 9000), string(id)) AS x FROM VALUES (0), (1), (2) AS v(id)"
    run(put(query, "id int, x string").write.jdbc(pg.url, "t", key="x", name="out", **pg.options))
    assert rows(pg, "t", "id") == [(0,), (2,)]


@pytest.fixture
def picky() -> Iterator[Receiver]:
    """A server that refuses what has a 7 in it, and keeps what it takes."""

    def say(request: Request, number: int) -> Answer:
        return Answer(422, "no sevens") if any(json.loads(line)["id"] % 10 == 7 for line in request.body.splitlines()) else Answer()

    with Receiver(say) as server:
        yield server


def test_http(picky: Receiver) -> None:
    new_rows = [(id, "x", "m") for id in range(20)]
    run(put(new_rows).write.http(picky.url, batch=8, name="out"))
    assert sorted(json.loads(line)["id"] for line in picky.rows()) == [id for id in range(20) if id % 10 != 7]
    assert dead() == [(7, "HTTP 422: no sevens"), (17, "HTTP 422: no sevens")]


def test_redis(redis: Redis) -> None:
    redis.run("CONFIG", "SET", "proto-max-bulk-len", "1048576")
    try:
        query = "SELECT int(id) AS id, IF(id = 1, repeat('x', 1100000), 'a') AS x FROM VALUES (0), (1), (2) AS v(id)"
        schema = "id int, x string"
        write = {"prefix": "refused:", "key": "id", "password": hr.secret(VARIABLE), "name": "out"}
        run(put("SELECT 1 AS id, 'old' AS x", schema).write.redis(redis.url, **write))
        run(put(query, schema).write.redis(redis.url, **write))
        run(put("SELECT 3 AS id, 'new' AS x", schema).write.redis(redis.url, **write))
    finally:
        redis.run("CONFIG", "SET", "proto-max-bulk-len", "536870912")
    assert [id for id, _ in dead()] == [1]


def test_kafka(broker: Broker) -> None:
    topic = broker.create_topic("refused-rows", 1, max_message_bytes=5_000_000)
    query = "SELECT int(id) AS id, IF(id = 1, repeat('x', 2000000), 'a') AS x FROM VALUES (0), (1), (2) AS v(id)"
    schema = "id int, x string"
    write = {"servers": broker.servers, "key": "id", "mode": "upsert", "name": "out"}
    run(put("SELECT 1 AS id, 'old' AS x", schema).write.kafka(topic, **write))
    run(put(query, schema).write.kafka(topic, **write))
    run(put("SELECT 3 AS id, 'new' AS x", schema).write.kafka(topic, **write))
    assert [id for id, _ in dead()] == [1]
