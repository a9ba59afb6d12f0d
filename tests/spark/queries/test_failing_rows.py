"""A row whose expression fails becomes a dead letter, and every other row gives what it gives without that row.

Some expressions of Spark keep what a failing row left in them, as a builder of maps keeps the keys it had; Spark ends the task then, and
headrace goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness

GOOD = [(2, "b:1", 1.5, "#.#"), (3, "c:1,d:2", 2.5, "0.00"), (4, "b:9,a:3", 0.5, "0")]
BAD = [(1, "a:1,a:2", 1.0, "#.#.#"), (5, "b:1,b:1", 2.0, "a,b.c.d"), (6, "x:1,b:3,x:2", 7.0, "#.#.#")]
SCHEMA = "id int, kv string, x double, form string"
MAP = "str_to_map(kv)"

# Each fails for the rows of BAD.
VALUES = {
    "str_to_map": MAP,
    "map": "map(substr(kv, 1, 1), 1, CASE WHEN id IN (1, 5, 6) THEN substr(kv, 1, 1) ELSE 'z' END, 2)",
    "map, by a value": "map('a', 1, 'b', 1 / (CASE WHEN id IN (1, 5, 6) THEN 0 ELSE id END))",
    "map_from_arrays": "map_from_arrays(transform(split(kv, ','), e -> substr(e, 1, 1)), split(kv, ','))",
    "map_from_entries": "map_from_entries(transform(split(kv, ','), e -> (substr(e, 1, 1), e)))",
    "map_concat": "map_concat(map(kv, 1, 'q', 2), map(IF(id IN (1, 5, 6), 'q', 'r'), 3))",
    "transform_keys": "transform_keys(map('k', 1, 'l', id), (k, v) -> IF(id IN (1, 5, 6), 'k', k || kv))",
    "a map in a lambda": "transform(array(id, 9), e -> map(e, 1, IF(id IN (1, 5, 6), e, e + 1), 2))",
    "format_number": "format_number(x, form)",
    "to_xml": "to_xml(named_struct('a', id, 'm', map(IF(id IN (1, 5, 6), 'a b', 'a'), kv)))",
    "to_json": "to_json(named_struct('a', id, 't', IF(id IN (1, 5, 6), TIMESTAMP_NTZ'2024-01-01 00:00:00', NULL)), map('timestampNTZFormat', 'VV'))",
    "to_csv": "to_csv(named_struct('a', id, 't', IF(id IN (1, 5, 6), TIMESTAMP_NTZ'2024-01-01 00:00:00', NULL)), map('timestampNTZFormat', 'VV'))",
}


def sql(query: str) -> Callable[[hr.Stream], hr.Stream]:
    return lambda t: hr.sql(query, t=t)


PLACES: dict[str, Callable[[hr.Stream], hr.Stream]] = {
    **{f"select {name}": sql(f"SELECT id, {text} AS v FROM t") for name, text in VALUES.items()},
    "select, as a verb": lambda t: t.select("id", m=MAP),
    "where": sql(f"SELECT id FROM t WHERE {MAP}['b'] = '1'"),
    "filter": lambda t: t.filter(f"size({MAP}) > 0").select("id"),
    "generator": sql(f"SELECT id, k, v FROM t LATERAL VIEW explode({MAP}) AS k, v"),
    "explode": lambda t: t.explode(MAP, as_=("k", "v")),
    "expect": lambda t: t.expect(f"size({MAP}) > 0").select("id"),
    "key of groups": sql(f"SELECT map_keys({MAP}) AS k, count(*) FROM t GROUP BY ALL"),
    "argument of an aggregate": lambda t: (
        t.select(k="id % 2", kv="kv").group_by("k").agg(n=f"sum(size({MAP}))", all=f"collect_set(map_keys({MAP}))")
    ),
    "result of an aggregate": lambda t: t.group_by("id").agg(m="str_to_map(max(kv))"),
    "window function": sql(f"SELECT id, max(size({MAP})) OVER (PARTITION BY id) FROM t"),
    "over a window function": sql("SELECT id, str_to_map(max(kv) OVER (PARTITION BY id)) FROM t"),
    "order": lambda t: t.top(1, by=f"size({MAP})", per="id").select("id"),
    "condition of a join": sql(
        f"SELECT a.id, b.kv FROM t a JOIN t b ON a.id = b.id AND size(map_concat({MAP.replace('kv', 'a.kv')}, map('', ''))) < 9"
    ),
}


def test_other_rows_are_what_they_are_without_it(spark: SparkSession) -> None:
    """Before a good row, in the same epoch as the good row's retraction, between two epochs, and taken away itself."""
    with Harness(partitions=1) as h:
        failing, clean = (h.source(name, SCHEMA, changes=True, trusted=True) for name in ("failing", "clean"))
        outs = {name: (h.collect(make(failing)), h.collect(make(clean))) for name, make in PLACES.items()}
        good = [("+", row) for row in GOOD]
        gone = [("-", GOOD[0]), ("-", GOOD[2])]
        bad, taken = [[(sign, row) for row in BAD] for sign in "+-"]
        for with_failing, without in (
            ([*bad, *good], good),
            ([*bad[:1], *gone], gone),
            ([*taken, bad[1], ("+", GOOD[0]), bad[0], ("-", GOOD[1])], [("+", GOOD[0]), ("-", GOOD[1])]),
            ([bad[2], ("-", GOOD[0]), taken[2]], [("-", GOOD[0])]),
        ):
            h.commit({"failing": with_failing, "clean": without})
            assert {name: got.rows() for name, (got, _) in outs.items()} == {name: expected.rows() for name, (_, expected) in outs.items()}
        assert all(expected.rows() == [] for _, expected in outs.values())


class Maps(hr.Program):
    def on_event(self, e):
        hr.emit(id=e.id, m=hr.expr("str_to_map(e.kv)"))


def test_in_a_program(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        out = h.collect(h.source("t", SCHEMA).select("id", "kv", k="1").key_by("k").process(Maps))
        h.commit({"t": [("+", row) for row in (*BAD, *GOOD, *BAD, *GOOD)]})
        maps = [(id, dict(part.split(":") for part in kv.split(","))) for id, kv, *_ in GOOD]
        assert sorted(out.rows(), key=str) == sorted([row for row in maps for _ in range(2)], key=str)
