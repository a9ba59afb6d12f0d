"""What the statements of a state program do, in rows handled as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.kernel.trial import SECOND, Json, clear, emit, epoch, on, program, put, read, row, timer, trial, when

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def arrival(*handlers: Json, **more: Any) -> Json:
    return program(*handlers, order="arrival", **more)


def test_a_read_is_a_snapshot(spark: SparkSession) -> None:
    p = arrival(
        on("event", read("n__1", "n"), put("n", "e.v"), read("n__2", "n"), emit(was="n__1", now="n__2")),
        cells={"n": "int"},
        outputs={"main": "was int, now int"},
    )
    tried = trial(spark, p, epoch(row(1, v=1), row(2, v=2), row(3, "b", v=3)), epoch(row(4, v=4)))
    assert tried.values() == [[(None, 1), (1, 2), (None, 3)], [(2, 4)]]


def test_set_clear_and_null(spark: SparkSession) -> None:
    p = arrival(
        on(
            "event",
            when(("e.v = 0", [clear("n")]), ("e.v = 1", [put("n", "NULL")]), (None, [put("n", "e.v")])),
            read("n__1", "n"),
            emit(v="n__1", there="n__1 IS NOT NULL"),
        ),
        cells={"n": "int"},
        outputs={"main": "v int, there boolean"},
    )
    tried = trial(spark, p, *(epoch(row(i, v=v)) for i, v in enumerate([5, 0, 6, 1])))
    assert tried.values() == [[(5, True)], [(None, False)], [(6, True)], [(None, False)]]
    assert tried.state == []


def test_branches(spark: SparkSession) -> None:
    p = arrival(
        on(
            "event",
            when(
                ("e.v > 10", [when(("e.v > 20", [emit(v="2")])), emit(v="1")]),
                ("e.v > 5", [emit(v="3")]),
                ("e.v IS NULL", []),
                (None, [emit(v="4")]),
            ),
            when(("e.v = 7", [emit(v="5")])),
            when((None, [emit(v="6")])),
        )
    )
    tried = trial(spark, p, *(epoch(row(1, v=v)) for v in (30, 15, 7, None, 1)))
    assert tried.values() == [[2, 1, 6], [1, 6], [3, 5, 6], [6], [4, 6]]


def test_emit_to_outputs_with_time(spark: SparkSession) -> None:
    p = arrival(
        on("event", emit(v="e.v", at="e.ts + make_dt_interval(0, 0, 0, e.v)"), emit("side", k="key.k"), emit("big", v="e.v + 0L")),
        outputs={"main": "v int, at timestamp", "side": "k string", "big": "v bigint"},
        times={"main": "at"},
    )
    tried = trial(spark, p, epoch(row(10 * SECOND, v=5), row(10 * SECOND, v=-5), row(10 * SECOND)))
    # A derived row is never older than what made it, and takes that time where it has none of its own.
    assert tried.times() == [
        [15 * SECOND, 10 * SECOND, 10 * SECOND, 10 * SECOND, 10 * SECOND, 10 * SECOND, 10 * SECOND, 10 * SECOND, 10 * SECOND]
    ]
    assert tried.values("side") == [["a", "a", "a"]]
    assert tried.values("big") == [[5, -5, None]]


def test_whole_rows_and_keys(spark: SparkSession) -> None:
    p = arrival(
        on("event", read("last__1", "last"), emit(last="last__1", v="last__1.v", key="key", n="struct(e, key)"), put("last", "e")),
        cells={"last": "struct<v: int, ts: timestamp>"},
        key="k string, n int",
        outputs={
            "main": "last struct<v: int, ts: timestamp>, v int, key struct<k: string, n: int>, n struct<a: struct<v: int, ts: timestamp>, b: struct<k: string, n: int>>"
        },
    )
    key = {"k": "a", "n": 1}
    tried = trial(spark, p, epoch(row(1, key, v=1), row(2, key, v=2)))
    first, second = tried.values()[0]
    assert first[:3] == (None, None, key)
    assert (second[0]["v"], second[1], second[3]["b"]) == (1, 1, key)


def test_what_a_cell_keeps_does_not_change_with_the_row(spark: SparkSession) -> None:
    p = arrival(
        on(
            "event",
            read("s__1", "s"),
            read("xs__1", "xs"),
            read("m__1", "m"),
            emit(s="s__1", xs="xs__1", m="m__1"),
            put("s", "e.s"),
            put("xs", "e.xs"),
            put("m", "map(e.s, e.xs)"),
        ),
        cells={"s": "string", "xs": "array<string>", "m": "map<string, array<string>>"},
        inputs={"event": "s string, xs array<string>"},
        outputs={"main": "s string, xs array<string>, m map<string, array<string>>"},
    )
    rows = [{"input": "event", "key": {"k": "a"}, "time": 1, "row": {"s": s, "xs": [s, s]}} for s in ("first", "second", "third")]
    for epochs in ([epoch(*rows)], [epoch(r) for r in rows]):
        seen = [v for e in trial(spark, p, *epochs).values() for v in e]
        assert seen == [(None, None, None), *((s, [s, s], {s: [s, s]}) for s in ("first", "second"))]


TYPES = {
    "boolean": "true",
    "tinyint": "-5Y",
    "smallint": "300S",
    "int": "7",
    "bigint": "12345678901L",
    "float": "1.5F",
    "double": "-2.25D",
    "decimal(10,2)": "12.34BD",
    "decimal(38,10)": "1234567890123456789.0123456789BD",
    "string": "concat('häl', 'lo')",
    "string collate utf8_lcase": "'Ab' COLLATE utf8_lcase",
    "char(3)": "'abc'",
    "varchar(5)": "'abcd'",
    "binary": "X'00ff10'",
    "date": "DATE '2024-02-29'",
    "timestamp": "TIMESTAMP '2024-02-29 12:34:56.789012'",
    "timestamp_ntz": "TIMESTAMP_NTZ '2024-02-29 12:34:56.789012'",
    "time": "TIME '12:34:56.789'",
    "interval year to month": "INTERVAL '1-2' YEAR TO MONTH",
    "interval day to second": "INTERVAL '1 02:03:04.5' DAY TO SECOND",
    "interval": "make_interval(1, 2, 3, 4, 5, 6, 7.5)",
    "variant": 'parse_json(\'{"a": [1, "x"]}\')',
    "array<int>": "array(1, NULL, 3)",
    "array<decimal(20,2)>": "array(1.25BD, NULL)",
    "map<string, array<int>>": "map('a', array(1, 2), 'b', NULL)",
    "struct<a: int, b: string, c: struct<d: array<string>>>": "named_struct('a', 1, 'b', 'x', 'c', named_struct('d', array('y', NULL)))",
    "array<struct<m: map<int, string>>>": "array(named_struct('m', map(1, 'x')))",
}


def test_every_type_as_a_cell(spark: SparkSession) -> None:
    names = [f"c{i}" for i in range(len(TYPES))]
    p = arrival(
        on(
            "event",
            *(read(f"{c}__1", c) for c in names),
            # typeof tells a silent change of type, the text a change of value.
            *(
                emit(type=f"typeof({c}__1)", text=f"to_json(struct({c}__1 AS x))", same=f"to_json(struct({v} AS x))")
                for c, v in zip(names, TYPES.values(), strict=True)
            ),
            *(put(c, v) for c, v in zip(names, TYPES.values(), strict=True)),
        ),
        cells=dict(zip(names, TYPES, strict=True)),
        outputs={"main": "type string, text string, same string"},
    )
    tried = trial(spark, p, epoch(row(1, v=1)), epoch(row(2, v=1)), epoch(row(3, "b", v=1)))
    assert tried.dead() == []
    empty, full, other = tried.values()
    assert [text for _, text, _ in empty] == ["{}"] * len(TYPES) == [text for _, text, _ in other]
    assert [text for _, text, _ in full] == [same for _, _, same in full]
    assert all(text != "{}" for _, text, _ in full)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (put("n", "e.v div 0", "job.py:7"), "[DIVIDE_BY_ZERO] Division by zero."),
        (put("n", "2147483647 + e.v", "job.py:7"), "[ARITHMETIC_OVERFLOW"),
        (put("n", "CAST(concat('x', e.v) AS int)", "job.py:7"), "[CAST_INVALID_INPUT]"),
        (put("n", "e.v + 9999999999L", "job.py:7"), "[CAST_OVERFLOW"),
        (emit(v="array(1)[e.v]", site="job.py:7"), "[INVALID_ARRAY_INDEX]"),
        (when(("raise_error('no')", [])) | {"site": "job.py:7"}, "[USER_RAISED_EXCEPTION] no"),
        (put("t", "e.ts + make_interval(300000)", "job.py:7"), "ArithmeticException: long overflow"),
    ],
)
def test_a_failing_row_leaves_no_trace(spark: SparkSession, statement: Json, reason: str) -> None:
    p = arrival(
        on(
            "event",
            read("n__1", "n"),
            put("n", "coalesce(n__1, 0) + 1"),
            put("t", "e.ts + INTERVAL '9' SECOND"),
            put("s", "concat('s', e.v)"),
            emit(v="coalesce(n__1, 0)"),
            when(("e.v = 5", [statement])),
        ),
        cells={"n": "int", "s": "string"},
        timers=("t",),
    )
    good = [row(1, v=1), row(2, v=2), row(4, v=3)]
    tried = trial(spark, p, epoch(good[0], good[1], row(3, v=5), good[2]))
    clean = trial(spark, p, epoch(*good))
    assert tried.values() == [[0, 1, 2]] == clean.values()
    assert tried.state == clean.state
    assert tried.counts == [{"event.handled": 3, "event.dead": 1}]
    ((cause, raw),) = tried.dead()
    assert cause.startswith(reason), cause
    assert cause.endswith(" at job.py:7"), cause
    assert raw == '{"v":5,"ts":"1970-01-01T00:00:00.000003Z"}'


def test_a_failing_first_row_leaves_no_state(spark: SparkSession) -> None:
    p = arrival(on("event", put("n", "1"), emit(v="1 div e.v")), cells={"n": "int"}, outputs={"main": "v bigint"})
    tried = trial(spark, p, epoch(row(1, v=0)))
    assert (tried.values(), tried.state, tried.counts) == ([[]], [], [{"event.dead": 1}])


def test_a_failing_timer_is_consumed(spark: SparkSession) -> None:
    p = arrival(
        on("event", put("n", "e.v"), put("t", "e.ts")),
        timer("t", put("n", "0"), put("t", "at + INTERVAL '1' SECOND"), emit(v="CAST(1 div 0 AS int)", site="job.py:9")),
        cells={"n": "int"},
        timers=("t",),
    )
    tried = trial(spark, p, epoch(row(5 * SECOND, v=7), watermark=1), epoch(watermark=9 * SECOND))
    assert tried.counts == [{"event.handled": 1}, {}]
    ((cause, raw),) = tried.dead()
    assert cause.endswith(" at job.py:9")
    assert raw == '{"timer":"t","at":"1970-01-01T00:00:05.000000Z","key":{"k":"a"}}'
    (left,) = tried.state
    assert left["alarm"] is None
    assert left == trial(spark, arrival(on("event", put("n", "e.v")), cells={"n": "int"}, timers=("t",)), epoch(row(1, v=7))).state[0]


def test_without_a_dead_letter_output_a_failing_row_is_counted(spark: SparkSession) -> None:
    p = arrival(on("event", emit(v="CAST(1 div e.v AS int)")))
    p["outputs"] = p["outputs"][:1]
    assert trial(spark, p, epoch(row(1, v=0), row(2, v=1))).counts == [{"event.handled": 1, "event.dead": 1}]


def test_expressions_without_generated_code(spark: SparkSession) -> None:
    p = arrival(
        on(
            "event",
            read("xs__1", "xs"),
            put("xs", "transform(e.xs, (x, i) -> concat(x, key.k, i, coalesce(xs__1[0], '')))"),
            read("xs__2", "xs"),
            emit(
                xs="xs__2",
                n="aggregate(e.xs, 0, (s, x) -> s + length(x))",
                any="exists(xs__2, x -> x = e.xs[0])",
                m="map_filter(map(1, e.xs[0]), (k, v) -> v > 'a')",
            ),
            put("t", "e.ts"),
        ),
        timer("t", read("xs__1", "xs"), emit(xs="transform(xs__1, x -> CAST(at AS string))", n="1", any="true", m="map()")),
        cells={"xs": "array<string>"},
        timers=("t",),
        inputs={"event": "xs array<string>, ts timestamp"},
        outputs={"main": "xs array<string>, n int, any boolean, m map<int, string>"},
    )
    tried = trial(spark, p, epoch(row(SECOND, xs=["p", "q"]), row(2 * SECOND, xs=["r"]), watermark=1), epoch(watermark=9 * SECOND))
    assert tried.dead() == []
    assert tried.values() == [
        [(["pa0", "qa1"], 2, False, {"1": "p"}), (["ra0pa0"], 1, False, {"1": "r"})],
        [(["1970-01-01 00:00:02"], 1, True, {})],
    ]


def test_texts_of_other_shapes(spark: SparkSession) -> None:
    p = arrival(
        on(
            "event",
            emit(
                a="e.v BETWEEN 1 AND 3",
                b="nullif(e.v, 2)",
                c="e.v IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
                d="CASE WHEN e.v > 1 THEN 'x' END",
                e="date_format(e.ts, 'HH:mm')",
            ),
        ),
        outputs={"main": "a boolean, b int, c boolean, d string, e string"},
    )
    assert trial(spark, p, epoch(row(SECOND, v=2), row(None, v=None))).values() == [
        [(True, None, True, "x", "00:00"), (None, None, None, None, None)]
    ]


def test_types_are_widened_to_the_output(spark: SparkSession) -> None:
    p = arrival(on("event", emit(v="e.v"), emit(v="1.5BD"), emit(v="NULL")), outputs={"main": "v decimal(12,2)"})
    assert trial(spark, p, epoch(row(1, v=2))).values() == [[2.0, 1.5, None]]


def test_settings_of_the_plan_win(spark: SparkSession) -> None:
    p = arrival(
        on("event", emit(v="e.v + 2147483647", h="hour(e.ts)"), put("n", "e.v + 1L")), cells={"n": "int"}, outputs={"main": "v int, h int"}
    )
    lax = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Tokyo"}
    rows = [{"input": "event", "key": {"k": "a"}, "time": 1, "row": {"v": 1, "ts": "1970-01-01T00:00:00Z"}}]
    assert trial(spark, p, epoch(*rows), settings=lax).values() == [[(-2147483648, 9)]]
    assert trial(spark, p, epoch(*rows)).values() == [[]]


def test_a_handler_longer_than_a_method_may_be(spark: SparkSession) -> None:
    many = range(400)
    p = arrival(
        on(
            "event",
            *(read(f"c{i}__1", f"c{i}") for i in many),
            *(
                when(
                    (f"e.v % {i + 2} = 0", [put(f"c{i}", f"coalesce(c{i}__1, 0) + CAST(concat('{i}', '') AS int)")]),
                    (None, [clear(f"c{i}")]),
                )
                for i in many
            ),
            when(*((f"e.v = {i}", [emit(v=f"{i}"), emit(v=f"c{i}__1 + {i}")]) for i in many), (None, [emit(v="-1")])),
            emit("wide", **{f"w{i}": f"coalesce(c{i}__1, e.v) * 2" for i in many}),
            when(("e.v = 399", [emit(v="CAST(1 div 0 AS int)")])),
        ),
        cells={f"c{i}": "int" for i in many},
        outputs={"wide": ", ".join(f"w{i} int" for i in many)},
    )
    tried = trial(spark, p, epoch(row(1, v=840)), epoch(row(2, v=390)), epoch(row(3, v=399)), epoch(row(4, v=1000)))
    assert tried.values()[:2] == [[-1], [390, None]]
    assert tried.counts[2] == {"event.dead": 1}
    wide = tried.values("wide")
    assert wide[0] == [(1680,) * 400]
    assert wide[3][0] == tuple((2 * i * 2 if 840 % (i + 2) == 0 else i * 2) if 390 % (i + 2) == 0 else 2000 for i in many)


def test_a_program_that_keeps_nothing(spark: SparkSession) -> None:
    tried = trial(spark, arrival(on("event", emit(v="e.v + 1")), clock="none"), epoch(row(None, v=1), row(None, v=2)))
    assert (tried.values(), tried.times(), tried.state) == ([[2, 3]], [[None, None]], [])


def test_a_program_without_keys_or_handlers(spark: SparkSession) -> None:
    p = arrival(
        on("event", read("n__1", "n"), put("n", "coalesce(n__1, 0) + e.v"), emit(v="n__1")),
        cells={"n": "int"},
        key="",
        inputs={"event": "v int, ts timestamp", "other": "x int"},
    )
    rows = [row(1, {}, v=1), row(2, {}, v=2), {"input": "other", "key": {}, "time": 3, "row": {"x": 1}}]
    tried = trial(spark, p, epoch(*rows))
    assert (tried.values(), tried.counts) == ([[None, 1]], [{"event.handled": 2, "other.handled": 1}])


def test_intervals_are_added_as_spark_adds_them(spark: SparkSession) -> None:
    """Those of less than a day as microseconds, longer ones by the calendar, where New York's clocks are put forward and back."""
    added = [
        "+ INTERVAL '3' HOUR",
        "- INTERVAL '23:59:59.999999' HOUR TO SECOND",
        "+ INTERVAL '1' DAY",
        "- INTERVAL '30' HOUR",
        "+ INTERVAL '0' SECOND",
    ]
    times = [
        "2026-03-07 23:30:00",
        "2026-03-08 01:59:59.999999",
        "2026-03-08 03:00:00",
        "2026-11-01 00:30:00",
        "2026-11-01 23:30:00",
        "1883-11-18 11:00:00",
    ]
    zone = {"spark.sql.session.timeZone": "America/New_York"}
    columns = {f"c{n}": f"CAST(e.ts {text} AS string)" for n, text in enumerate(added)}
    schema = ", ".join(f"{name} string" for name in columns)
    p = arrival(on("event", emit(**columns)), inputs={"event": "ts timestamp"}, outputs={"main": schema})
    tried = trial(spark, p, epoch(*(row(1, ts=time) for time in times)), settings=zone)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone["spark.sql.session.timeZone"])
    try:
        rows = spark.createDataFrame([(n, time) for n, time in enumerate(times)], "n int, t string").selectExpr(
            "n", "CAST(t AS timestamp) AS ts"
        )
        expected = [tuple(r)[1:] for r in rows.alias("e").selectExpr("n", *columns.values()).orderBy("n").collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    assert tried.all() == expected
