"""Routes: the stateless steps in front of an operator or a sink, and where failing rows go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.kernel.queries import DEAD, Query, count_rows, emit, program, route, second, source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW = "k string, v int, xs array<int>"


def stateless(
    spark: SparkSession, folder: Path, out: str, rows: list[tuple[Any, ...]], *steps: dict[str, Any], schema: str = ROW
) -> tuple[list[Any], list[Any]]:
    q = Query(spark, folder, [source("t", schema, route(2, out, *steps), delay_ms=None, dead=3)], [], {2: out, 3: DEAD}, clock="none")
    q.commit(t=rows)
    q.stop()
    return q.out.rows[2], q.out.rows[3]


def test_steps_in_a_chain(spark: SparkSession, tmp_path: Path) -> None:
    steps = [
        {"where": "v > 0"},
        {"project": [["k", "upper(k)"], ["w", "v + 1"]]},
        {"where": "w <> 3"},
        {"project": [["k", "k"], ["w", "CAST(w AS bigint)"]]},
    ]
    rows, dead = stateless(
        spark, tmp_path, "k string, w bigint", [("a", 1, None), ("b", 0, None), ("c", 2, None), ("d", None, None)], *steps
    )
    assert rows == [("A", 2)] and dead == []


def test_a_generator_appends_its_columns_and_outer_keeps_rows_without_any(spark: SparkSession, tmp_path: Path) -> None:
    inputs = [("a", 1, [5, 6]), ("b", 2, []), ("c", 3, None)]
    step = {"generate": "explode(xs)", "names": ["x"], "outer": False}
    out = "k string, v int, xs array<int>, x int"
    rows, _ = stateless(spark, tmp_path / "1", out, inputs, step)
    assert [(k, x) for k, _, _, x in rows] == [("a", 5), ("a", 6)]
    rows, _ = stateless(spark, tmp_path / "2", out, inputs, {**step, "outer": True})
    assert [(k, x) for k, _, _, x in rows] == [("a", 5), ("a", 6), ("b", None), ("c", None)]


def test_any_generator_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    inputs = [("a", 1, [5, 6])]
    rows, _ = stateless(
        spark,
        tmp_path / "1",
        "k string, p int, x int",
        inputs,
        {"generate": "posexplode(xs)", "names": ["p", "x"], "outer": False},
        {"project": [["k", "k"], ["p", "p"], ["x", "x"]]},
    )
    assert rows == [("a", 0, 5), ("a", 1, 6)]
    rows, _ = stateless(
        spark, tmp_path / "2", "s bigint", inputs,
        {"generate": "inline(array(struct(v, k), named_struct('v', v + 1, 'k', k)))", "names": ["n", "m"], "outer": False}, {"project": [["s", "CAST(n AS bigint)"]]},
    )  # fmt: skip
    assert rows == [(1,), (2,)]
    rows, _ = stateless(
        spark,
        tmp_path / "3",
        "a int, b int",
        inputs,
        {"generate": "stack(2, v, 10, v + 1, 20)", "names": ["a", "b"], "outer": False},
        {"project": [["a", "a"], ["b", "b"]]},
    )
    assert rows == [(1, 10), (2, 20)]


def test_a_failing_step_sends_its_row_to_the_dead_letters_with_node_and_reason(spark: SparkSession, tmp_path: Path) -> None:
    steps = [{"where": "10 / v > 1", "node": "t.filter"}, {"project": [["k", "k"], ["w", "xs[5 - v]"]], "node": "t.select"}]
    rows, dead = stateless(spark, tmp_path, "k string, w int", [("a", 5, [7]), ("b", 0, [7]), ("c", 4, [7])], *steps)
    assert rows == [("a", 7)]
    assert [(d[0], d[1].split(".")[0], d[4]) for d in dead] == [
        ("t.filter", "[DIVIDE_BY_ZERO] Division by zero", '{"k":"b","v":0,"xs":[7]}'),
        ("t.select", "[INVALID_ARRAY_INDEX] The index 1 is out of bounds", '{"k":"c","v":4,"xs":[7]}'),
    ]
    assert all("\n" not in d[1] and "== SQL" not in d[1] for d in dead)


def test_a_failing_generator_and_a_failing_row_behind_one(spark: SparkSession, tmp_path: Path) -> None:
    steps = [
        {"generate": "explode(array(v, 10 / v))", "names": ["x"], "outer": True},
        {"where": "1 / (x - 2) < 5"},
        {"project": [["k", "k"], ["x", "x"]]},
    ]
    rows, dead = stateless(spark, tmp_path, "k string, x double", [("a", 2, None), ("b", 0, None)], *steps)
    assert rows == [("a", 5.0)]
    assert [d[4] for d in dead] == ['{"k":"a","v":2,"xs":null,"x":2.0}', '{"k":"b","v":0,"xs":null}']


def test_the_last_cast_to_the_consumers_schema_may_fail_too(spark: SparkSession, tmp_path: Path) -> None:
    rows, dead = stateless(spark, tmp_path, "k string, v tinyint", [("a", 5), ("b", 500)], schema="k string, v int")
    assert rows == [("a", 5)]
    assert dead[0][1].startswith("[CAST_OVERFLOW] The value 500")


def test_null_keys_and_null_times_are_dead_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    schema = "k string, g int, ts timestamp"
    p = program(
        1,
        1,
        "k string, g int",
        {"event": schema},
        {"event": [*count_rows(), emit(n="n1")]},
        cells={"n": "bigint"},
        outputs={"main": ("n bigint", None, [route(2, "n bigint")])},
    )
    r = route(1, schema, key="k g", key_schema="k string, g int", time="ts", order="time")
    q = Query(spark, tmp_path, [source("t", schema, r, dead=3)], [[p]], {2: "n bigint", 3: DEAD})
    q.commit(t=[("a", 1, second(1)), (None, 1, second(1)), ("a", None, second(1)), ("a", 1, None)])
    q.finish()
    assert sorted(d[1].split(":")[0] for d in q.out.rows[3]) == ["NULL_KEY", "NULL_KEY", "NULL_TIME"]
    assert {d[0] for d in q.out.rows[3]} == {"t"}
    assert q.balanced(1) == 4 and q.out.counts["", 1, 0, "dead"] == 3
    q.stop()


def test_float_keys_meet_as_sql_says(spark: SparkSession, tmp_path: Path) -> None:
    schema = "k double, ts timestamp"
    p = program(
        1,
        1,
        "k double",
        {"event": schema},
        {"event": [*count_rows(), emit(n="n1")]},
        cells={"n": "bigint"},
        outputs={"main": ("n bigint", None, [route(2, "n bigint")])},
    )
    r = route(1, schema, key="k", key_schema="k double", time="ts", order="time")
    q = Query(spark, tmp_path, [source("t", schema, r)], [[p]], {2: "n bigint"})
    q.commit(t=[(0.0, second(1)), (-0.0, second(1)), (float("nan"), second(1)), (-float("nan"), second(2))])
    q.finish()
    assert sorted(n for (n,) in q.out.rows[2]) == [1, 1, 2, 2]
    q.stop()


def test_routes_behind_an_operator_and_their_dead_letters(spark: SparkSession, tmp_path: Path) -> None:
    """A step behind an operator fails: the row is dead under the step's name, in the operator's own dead letters."""
    schema = "k string, v int, ts timestamp"
    out = "k string, q double"
    steps = [{"project": [["k", "k"], ["q", "1 / v"]], "node": "p1.select"}, {"where": "q < 1", "node": "p1.filter"}]
    p = program(
        1, 1, "k string", {"event": schema}, {"event": [emit(k="key.k", v="e.v")]},
        outputs={"main": ("k string, v int", None, [route(2, out, *steps)]), "dead_letter": (DEAD, None, [route(3, DEAD)])},
    )  # fmt: skip
    r = route(1, schema, key="k", key_schema="k string", time="ts", order="time")
    q = Query(spark, tmp_path, [source("t", schema, r)], [[p]], {2: out, 3: DEAD})
    q.commit(t=[("a", 2, second(1)), ("a", 0, second(1)), ("a", 1, second(1))])
    q.finish()
    assert q.out.rows[2] == [("a", 0.5)]
    assert [(d[0], d[4]) for d in q.out.rows[3]] == [("p1.select", '{"k":"a","v":0}')]
    assert q.balanced(1) == 3
    q.stop()


def test_lines_become_rows_or_dead_letters_with_their_place(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"k": "a", "v": 1}\n\n{oops\n{"k": "b", "v": 0}\n')

    def scan() -> Any:
        frame = (
            spark.readStream.format("org.apache.spark.sql.headrace.LineFormat")
            .schema("value binary, _position bigint")
            .load(str(tmp_path / "in"))
        )
        return frame._jdf

    s = source(
        "t",
        "k string, v int",
        route(2, "k string", {"where": "1 / v > 0"}, {"project": [["k", "k"]]}),
        delay_ms=None,
        dead=3,
        reader="json",
    )
    q = Query(spark, tmp_path, [s], [], {2: "k string", 3: DEAD}, clock="none", scans={"t": scan})
    q.settle()
    assert q.out.rows[2] == [("a",)]
    assert [(d[0], d[2].rpartition("/")[2], d[3], d[4]) for d in q.out.rows[3]] == [
        ("t", "a.json", 20, "{oops"),
        ("x", "a.json", 26, '{"k":"b","v":0}'),
    ]
    assert [q.out.counts["t", 0, 0, metric] for metric in ("read", "malformed", "skipped")] == [4, 1, 1]
    q.stop()
