"""The type check of a plan: one JSON request, answered with every schema and every independent error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.jvm.session import jvm
from tests.spark.kernel import whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSI = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
CHARGES = {"id": "charges", "schema": "card string, amount decimal(10,2), ts timestamp", "watermark": "ts"}


def check(spark: SparkSession, *nodes: dict[str, Any], **settings: str) -> dict[str, Any]:
    request = json.dumps({"settings": ANSI | settings, "nodes": list(nodes)})
    answer: dict[str, Any] = json.loads(jvm(spark).headrace.check.Check.check(spark._jsparkSession, request))
    return answer


def steps(name: str, source: str, *all_steps: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "site": None, "input": source, "steps": [whole.step(step, name) | {"site": "job.py:12"} for step in all_steps]}


def errors(answer: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(e["node"], e["site"], e["at"], e["class"]) for e in answer["errors"]]


def program(*handlers: dict[str, Any], name: str = "alerts", sources: tuple[str, ...] = ("charges",), **more: Any) -> dict[str, Any]:
    names = ("event", *(f"in{i}" for i in range(1, len(sources))))
    numbered = enumerate(zip(names, sources, strict=True))
    inputs = [{"name": n, "side": i, "from": s, "key": [["card", "card"]], "broadcast": False} for i, (n, s) in numbered]
    operator = {
        "name": name,
        "site": "job.py:20",
        "kind": "program",
        "order": "time",
        "clock": "event",
        "inputs": inputs,
        "cells": [
            {"name": "small_at", "kind": "value", "type": "timestamp"},
            {"name": "n", "kind": "value", "type": "int"},
            {"name": "forget", "kind": "timer", "type": "timestamp"},
        ],
        "handlers": list(handlers),
        "outputs": [{"name": "main", "time": None}],
    } | more
    cells = [{"site": None, **cell} for cell in operator["cells"]]
    return {"id": name, "operator": operator | {"cells": cells, "handlers": [whole.handler(one) for one in operator["handlers"]]}}


def on(handler: str, *body: dict[str, Any], kind: str = "input") -> dict[str, Any]:
    return {"on": handler, "kind": kind, "body": [{"site": f"job.py:{30 + i}", **s} for i, s in enumerate(body)]}


def emit(output: str = "main", /, **row: str) -> dict[str, Any]:
    return {"do": "emit", "output": output, "row": [[k, v] for k, v in row.items()]}


def test_steps_give_schemas(spark: SparkSession) -> None:
    answer = check(
        spark,
        {"id": "t", "schema": "k string, v int, xs array<struct<a: int, b: string>>"},
        steps("f", "t", {"where": "v > 1"}),
        steps(
            "p", "f", {"project": [["k", "k"], ["w", "v + 1L"], ["xs", "xs"]]}, {"generate": "explode(xs)", "names": ["x"], "outer": False}
        ),
        steps(
            "q", "p", {"generate": "posexplode_outer(array(1, 2))", "names": ["i", "n"], "outer": False}, {"project": [["a", "x.a + i"]]}
        ),
    )
    assert answer["errors"] == []
    assert answer["schemas"] == {
        "t": "k STRING,v INT,xs ARRAY<STRUCT<a: INT, b: STRING>>",
        "f": "k STRING,v INT,xs ARRAY<STRUCT<a: INT, b: STRING>>",
        "p": "k STRING,w BIGINT,xs ARRAY<STRUCT<a: INT, b: STRING>>,x STRUCT<a: INT, b: STRING>",
        "q": "a INT",
    }


def test_all_independent_errors_are_reported(spark: SparkSession) -> None:
    answer = check(
        spark,
        CHARGES,
        steps("a", "charges", {"where": "amout > 3"}),
        steps("b", "charges", {"where": "amount"}),
        steps("c", "charges", {"project": [["x", "amount +"], ["y", "card"], ["z", "nope(card)"], ["Y", "sum(amount)"]]}),
        steps("d", "a", {"where": "also_wrong"}),
        steps("e", "charges", {"generate": "card", "names": ["x"]}),
        {"id": "u", "union": ["charges", "a"]},
    )
    assert errors(answer) == [
        ("a", "job.py:12", "steps/0", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("b", "job.py:12", "steps/0", "NOT_BOOLEAN"),
        ("c", "job.py:12", "steps/0", "COLUMN_ALREADY_EXISTS"),
        ("c", "job.py:12", "steps/0/project/0", "PARSE_SYNTAX_ERROR"),
        ("c", "job.py:12", "steps/0/project/2", "UNRESOLVED_ROUTINE"),
        ("c", "job.py:12", "steps/0/project/3", "AGGREGATE_IN_ROW_EXPRESSION"),
        ("e", "job.py:12", "steps/0", "NOT_A_GENERATOR"),
    ]
    assert list(answer["schemas"]) == ["charges"]
    first = answer["errors"][0]
    assert first["text"] == "amout > 3"
    assert first["parameters"]["objectName"] == "`amout`"
    assert first["parameters"]["proposal"].startswith("`amount`, ")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("max(amount) > 3", "AGGREGATE_IN_ROW_EXPRESSION"),
        ("row_number() OVER (ORDER BY ts) > 3", "WINDOW_IN_ROW_EXPRESSION"),
        ("explode(array(true))", "GENERATOR_IN_ROW_EXPRESSION"),
        ("amount > (SELECT 1)", "SUBQUERY_IN_ROW_EXPRESSION"),
        ("input_file_name() = ''", "INPUT_FILE"),
        ("rand() BETWEEN 0 AND 1", "NON_DETERMINISTIC_TWICE"),
    ],
)
def test_refused_in_a_row_expression(spark: SparkSession, text: str, condition: str) -> None:
    assert errors(check(spark, CHARGES, steps("a", "charges", {"where": text}))) == [("a", "job.py:12", "steps/0", condition)]


def test_what_is_not_repeatable_is_a_warning(spark: SparkSession) -> None:
    answer = check(spark, CHARGES, steps("a", "charges", {"project": [["x", "current_timestamp()"], ["r", "rand() + 1"]]}))
    assert answer["errors"] == []
    assert [(w["at"], w["class"]) for w in answer["warnings"]] == [
        ("steps/0/project/0", "PROCESSING_TIME"),
        ("steps/0/project/1", "NON_DETERMINISTIC"),
    ]


def test_a_constant_part_that_fails_is_left_to_the_row(spark: SparkSession) -> None:
    answer = check(spark, CHARGES, steps("a", "charges", {"project": [["x", "1 / 0"], ["y", "if(card = 'a', 1 div 0, 2)"]]}))
    assert answer["errors"] == []
    assert answer["schemas"]["a"] == "x DOUBLE,y BIGINT"


def test_settings_of_the_plan_win(spark: SparkSession) -> None:
    ntz = check(spark, {"id": "t", "schema": "ts timestamp"}, **{"spark.sql.timestampType": "TIMESTAMP_NTZ"})
    assert ntz["schemas"] == {"t": "ts TIMESTAMP_NTZ"}
    upper = steps("f", "t", {"where": "V > 1"})
    t = {"id": "t", "schema": "v int"}
    assert check(spark, t, upper)["errors"] == []
    strict = check(spark, t, upper, **{"spark.sql.caseSensitive": "true"})
    assert errors(strict) == [("f", "job.py:12", "steps/0", "UNRESOLVED_COLUMN.WITH_SUGGESTION")]


def test_sources(spark: SparkSession) -> None:
    answer = check(
        spark,
        {"id": "a", "site": "job.py:1", "schema": "k strin"},
        {"id": "b", "site": "job.py:2", "schema": "k string, K int"},
        {"id": "c", "site": "job.py:3", "schema": "k string", "watermark": "ts"},
        {"id": "d", "site": "job.py:4", "schema": "ts date", "watermark": {"column": "ts", "delay_ms": 5}},
        {"id": "e", "site": "job.py:5", "schema": "k string NOT NULL, c char(3), xs array<int>"},
    )
    assert errors(answer) == [
        ("a", "job.py:1", "schema", "UNSUPPORTED_DATATYPE"),
        ("b", "job.py:2", "schema", "COLUMN_ALREADY_EXISTS"),
        ("c", "job.py:3", "watermark", "WATERMARK_COLUMN_MISSING"),
        ("d", "job.py:4", "watermark", "NOT_A_TIMESTAMP"),
    ]
    assert answer["schemas"] == {"e": "k STRING,c STRING,xs ARRAY<INT>"}


def test_union_by_name_widens(spark: SparkSession) -> None:
    a, b, c = ({"id": n, "schema": s} for n, s in (("a", "k string, v int"), ("b", "v bigint, k string"), ("c", "k string")))
    answer = check(spark, a, b, c, {"id": "u", "union": ["a", "b"]}, {"id": "w", "site": "job.py:3", "union": ["a", "c"]})
    assert answer["schemas"]["u"] == "k STRING,v BIGINT"
    assert [(e["node"], e["site"], e["at"]) for e in answer["errors"]] == [("w", "job.py:3", "union")]


def test_program(spark: SparkSession) -> None:
    answer = check(
        spark,
        CHARGES,
        program(
            on(
                "event",
                {"do": "read", "local": "small_at__1", "cell": "small_at"},
                {
                    "do": "when",
                    "branches": [
                        ["(small_at__1 IS NOT NULL) AND e.amount > 500", [emit(card="key.card", amount="e.amount", at="e.ts")]],
                        ["e.amount < 1", [{"do": "set", "cell": "small_at", "value": "e.ts"}]],
                        [None, [{"do": "clear", "cell": "small_at"}, emit("big", n="1")]],
                    ],
                },
                {"do": "set", "cell": "forget", "value": "e.ts + INTERVAL '60' SECOND"},
                {"do": "set", "cell": "n", "value": "NULL"},
                emit(card="'x'", amount="12345678901234567890.5BD", at="NULL"),
            ),
            on("forget", {"do": "clear", "cell": "small_at"}, emit("gone", at="at", card="key.card"), kind="timer"),
            on("late", emit(card="e.card", amount="e.amount", at="e.ts"), kind="late"),
            outputs=[
                {"name": "main", "time": "at"},
                {"name": "big", "time": None},
                {"name": "gone", "time": None},
                {"name": "late", "time": None},
            ],
        ),
    )
    assert answer["errors"] == []
    assert answer["keys"] == {"alerts": "card STRING"}
    assert answer["schemas"] == {
        "charges": "card STRING,amount DECIMAL(10,2),ts TIMESTAMP",
        "alerts": "card STRING,amount DECIMAL(22,2),at TIMESTAMP",
        "alerts#big": "n INT",
        "alerts#gone": "at TIMESTAMP,card STRING",
        "alerts#late": "card STRING,amount DECIMAL(10,2),ts TIMESTAMP",
        "alerts#dead_letter": "node STRING,reason STRING,file STRING,position BIGINT,raw STRING",
    }


def test_errors_of_a_program(spark: SparkSession) -> None:
    answer = check(
        spark,
        CHARGES,
        program(
            on(
                "event",
                {"do": "set", "cell": "n", "value": "e.card"},
                {"do": "set", "cell": "forget", "value": "5"},
                {"do": "when", "branches": [["e.amount", []], ["e.amuont > 1", [{"do": "set", "cell": "n", "value": "key.cord"}]]]},
                emit(a="1", b="e.ts"),
                emit(a="1"),
                emit(a="true", b="5"),
                emit(a="sum(e.amount)", b="at"),
            ),
            on("forget", {"do": "set", "cell": "n", "value": "e.amount"}, kind="timer"),
            outputs=[{"name": "main", "time": "c"}],
        ),
    )
    assert errors(answer) == [
        ("alerts", "job.py:32", "handlers/0/body/2/branches/1/0", "FIELD_NOT_FOUND"),
        ("alerts", "job.py:32", "handlers/0/body/2/branches/1/1/0/value", "FIELD_NOT_FOUND"),
        ("alerts", "job.py:36", "handlers/0/body/6/row/0", "AGGREGATE_IN_ROW_EXPRESSION"),
        ("alerts", "job.py:36", "handlers/0/body/6/row/1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("alerts", "job.py:30", "handlers/0/body/0/value", "CELL_TYPE"),
        ("alerts", "job.py:31", "handlers/0/body/1/value", "CELL_TYPE"),
        ("alerts", "job.py:32", "handlers/0/body/2/branches/0/0", "NOT_BOOLEAN"),
        ("alerts", "job.py:34", "handlers/0/body/4", "EMIT_NAMES_DIFFER"),
        ("alerts", "job.py:35", "handlers/0/body/5/row/0", "EMIT_TYPES_DIFFER"),
        ("alerts", "job.py:35", "handlers/0/body/5/row/1", "EMIT_TYPES_DIFFER"),
        ("alerts", "job.py:30", "handlers/1/body/0/value", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("alerts", "job.py:20", "outputs/main/time", "TIME_COLUMN_MISSING"),
    ]
    assert list(answer["schemas"]) == ["charges"]


def test_statements_inside_branches_keep_their_own_line(spark: SparkSession) -> None:
    inner = {"do": "set", "cell": "n", "value": "e.card", "site": "job.py:77"}
    answer = check(spark, CHARGES, program(on("event", {"do": "when", "branches": [["true", [inner]]]})))
    assert errors(answer) == [("alerts", "job.py:77", "handlers/0/body/0/branches/0/1/0/value", "CELL_TYPE")]


def test_keys_of_several_inputs(spark: SparkSession) -> None:
    a, b, c, d = (
        {"id": "a", "schema": "card int"},
        {"id": "b", "schema": "card bigint"},
        {"id": "c", "schema": "card date"},
        {"id": "d", "schema": "card map<string, int>"},
    )
    assert check(spark, a, b, program(sources=("a", "b")))["keys"] == {"alerts": "card BIGINT"}
    assert errors(check(spark, a, c, program(sources=("a", "c")))) == [("alerts", "job.py:20", "inputs/0/key/0", "KEYS_DIFFER")]
    assert errors(check(spark, d, program(sources=("d",)))) == [("alerts", "job.py:20", "inputs/0/key/0", "KEY_TYPE")]
    missing = program(sources=("a",))
    missing["operator"]["inputs"][0]["key"] = [["x", "x"]]
    assert errors(check(spark, a, missing)) == [("alerts", "job.py:20", "inputs/0/key/0", "UNRESOLVED_COLUMN.WITH_SUGGESTION")]


def test_a_program_without_keys(spark: SparkSession) -> None:
    whole = program(on("event", emit(n="e.amount")))
    whole["operator"]["inputs"][0]["key"] = []
    answer = check(spark, CHARGES, whole)
    assert (answer["errors"], answer["keys"], answer["schemas"]["alerts"]) == ([], {"alerts": ""}, "n DECIMAL(10,2)")


def test_a_node_fed_by_a_broken_one_is_left_out(spark: SparkSession) -> None:
    answer = check(spark, CHARGES, steps("a", "charges", {"where": "nope"}), program(on("event", emit(n="e.nope")), sources=("a",)))
    assert errors(answer) == [("a", "job.py:12", "steps/0", "UNRESOLVED_COLUMN.WITH_SUGGESTION")]


def test_a_broken_request_is_an_answer(spark: SparkSession) -> None:
    answer = json.loads(jvm(spark).headrace.check.Check.check(spark._jsparkSession, "{"))
    assert [e["class"] for e in answer["errors"]] == ["INTERNAL"]


def test_a_large_plan_is_quick(spark: SparkSession) -> None:
    nodes = [
        CHARGES,
        *(
            steps(f"s{i}", "charges", {"where": f"amount > {i}"}, {"project": [["card", "upper(card)"], ["x", f"amount * {i}"]]})
            for i in range(100)
        ),
    ]
    check(spark, *nodes)
    # The processor time of the JVM's thread that answers this one: other work on the machine does not count.
    clock = jvm(spark).java.lang.management.ManagementFactory.getThreadMXBean()
    started = clock.getCurrentThreadCpuTime()
    assert check(spark, *nodes)["errors"] == []
    spent = (clock.getCurrentThreadCpuTime() - started) / 1e9
    assert 0.001 < spent < 5
