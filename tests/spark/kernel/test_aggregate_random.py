"""Random changes against Spark batch after each epoch, and what cannot be an aggregate."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scale import runs
from tests.spark.kernel.aggregates import SETTINGS, Base, Change, changes, check, trial
from tests.spark.kernel.trials import attached

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

texts = st.text("ab\x00é", max_size=3)
few = st.integers(-3, 3)
decimals = st.integers(-99_999, 99_999).map(lambda n: Decimal(n).scaleb(-2))
rows = st.tuples(
    st.none() | st.sampled_from("pqr"),
    st.none() | few,
    st.none() | st.integers(-(2**40), 2**40),
    st.none() | st.integers(-1000, 1000).map(lambda n: n / 8),
    st.none() | st.integers(-1000, 1000).map(lambda n: n / 3),
    st.none() | decimals,
    st.none() | decimals.map(lambda d: (d * 10**15).quantize(Decimal("0.00001"))),
    st.none() | st.booleans(),
    st.none() | texts,
)


@st.composite
def histories(draw: st.DrawFn) -> list[list[Change]]:
    """Batches in which only rows that are there are taken away; each row once per batch."""
    there: Counter[str] = Counter()
    known: dict[str, Base] = {}
    batches = []
    for _ in range(draw(st.integers(1, 5))):
        batch: dict[str, int] = {}
        for one in draw(st.lists(rows, max_size=8)):
            known[repr(one)] = one
            batch[repr(one)] = draw(st.integers(1, 3))
        for name in draw(st.lists(st.sampled_from(sorted(there)), max_size=6, unique=True)) if there else []:
            batch[name] = batch.get(name, 0) - draw(st.integers(1, there[name]))
        there.update(batch)
        there = +there  # without those that are gone
        batches.append([(n, known[name]) for name, n in batch.items() if n])
    return batches


ALL: list[str | tuple[str, str]] = [
    *("count(*)", "count(s)", "count(distinct s, i)", "count(distinct d) filter (where b)", "approx_count_distinct(c)"),
    *("sum(i)", "sum(l)", "sum(m)", "sum(w)", "sum(d)", "sum(distinct m)", "avg(l)", "avg(m)", "avg(w)", "avg(e)", "try_sum(y)", "avg(z)"),
    *("min(s)", "max(s)", "min(d) filter (where i > 0)", "max(r)", "min(a)", "max(w)", "every(b)", "bit_xor(l)", "bit_and(t)"),
    *("var_samp(d)", "covar_pop(d, e)", "regr_slope(d, i)", "median(d)", "percentile(i, 0.4)", "mode(i, true)"),
    *(
        (call, "s, i, d")
        for call in ("first(s)", "last(s, true)", "max_by(s, i)", "min_by(s, i)", "max_by(s, struct(i, s), 2)", "array_agg(distinct s)")
    ),
    ("listagg(s, ',') within group (order by i, d desc)", "s, i, d"),
    *(("collect_list(r)", "r"), ("collect_list(c)", "c, s")),
]


@runs(4, 150)
@given(batches=histories(), keyed=st.booleans(), restart=st.booleans())
def test_random_changes(spark: SparkSession, batches: list[list[Change]], keyed: bool, restart: bool) -> None:
    keys = {"k": "string"} if keyed else {}
    check(spark, batches, ALL, keys, restart=restart, tolerance=1e-9)


def test_groups_by_two_columns_one_of_them_a_float(spark: SparkSession) -> None:
    """-0.0 and 0.0 are one group, and its name is 0.0; so is every NaN."""
    base = "x double, n int"
    one = [(1, (0.0, 1)), (1, (-0.0, 2)), (1, (float("nan"), 3)), (1, (None, 4))]
    tried = check(spark, [one, [(-1, (-0.0, 2))], [(-1, (0.0, 1))]], ["sum(n)"], {"x": "double"}, base=base, derived={})
    assert [len(rows) for rows in tried.after] == [3, 3, 2]


# ---- rows and results that fail

BASE = "k string, n int, d int, b boolean"


def test_a_row_that_fails_takes_no_part(spark: SparkSession) -> None:
    """In none of the aggregates, whichever of them fails over it; its going cancels its letter."""
    good, bad = ("a", 6, 2, True), ("a", 6, 0, True)
    batches = [[(1, good), (2, bad)], [(-1, bad)], [(-1, bad)], [(-1, good)]]
    tried = trial(spark, changes(spark, batches, BASE, {}), ["sum(n / d)", "count(*)", "max(n)"], {"k": "string"}, 4)
    assert tried.rows == [[(1, ("a", 3.0, 1, 6))], [], [], [(-1, ("a", 3.0, 1, 6))]]
    assert [[(n, reason.split("]")[0], json.loads(raw)) for n, reason, raw in dead] for dead in tried.dead] == [
        [(2, "[DIVIDE_BY_ZERO", {"k": "a", "n": 6, "d": 0, "b": True})],
        [(-1, "[DIVIDE_BY_ZERO", {"k": "a", "n": 6, "d": 0, "b": True})],
        [(-1, "[DIVIDE_BY_ZERO", {"k": "a", "n": 6, "d": 0, "b": True})],
        [],
    ]


def test_a_group_of_failing_rows_has_no_row_and_no_state(spark: SparkSession) -> None:
    tried = trial(spark, changes(spark, [[(1, ("a", 6, 0, True))]], BASE, {}), ["sum(n / d)"], {"k": "string"}, 1)
    assert tried.rows == [[]]
    assert tried.keys == 0


def test_a_filter_keeps_arguments_from_failing(spark: SparkSession) -> None:
    batches = [[(1, ("a", 6, 2, True)), (1, ("a", 6, 0, True)), (1, ("a", 6, None, None))]]
    assert not check(spark, batches, ["sum(n / d) filter (where d <> 0)", "count(*)"], base=BASE, derived={}).dead[0]
    # In a batch one more of the kind makes Spark evaluate what both have in common first, and fail; so does DISTINCT.
    calls = [f"{f}n / d) filter (where d <> 0)" for f in ("sum(", "max(", "count(distinct ")]
    tried = trial(spark, changes(spark, batches, BASE, {}), calls, {"k": "string"}, 1)
    assert tried.rows == [[(1, ("a", 3.0, 3.0, 1))]]


def test_a_filter_that_fails(spark: SparkSession) -> None:
    batches = [[(1, ("a", 6, 2, True)), (1, ("a", 6, 0, True))]]
    tried = trial(spark, changes(spark, batches, BASE, {}), ["count(*) filter (where n / d > 1)", "count(*)"], {"k": "string"}, 1)
    assert tried.rows == [[(1, ("a", 1, 1))]]
    assert len(tried.dead[0]) == 1


def test_what_was_never_there_is_left_alone(spark: SparkSession) -> None:
    """A trusted source that lies does no harm but to its own group."""
    batches = [
        [(-1, ("a", 1, 1, True)), (1, ("b", 1, 1, True))],
        [(1, ("a", 2, 2, True))],
        [(1, ("a", 3, 3, True))],
        [(-2, ("a", 3, 3, True))],
    ]
    calls = ["max(n)", "count(distinct n)", "stddev(n)", "collect_list(n)", "sum(n)"]
    tried = trial(spark, changes(spark, batches, BASE, {}), calls, {"k": "string"}, 4)
    assert [[row[0] for row in rows] for rows in tried.after] == [["b"], ["b"], ["a", "b"], ["b"]]


# ---- what is refused


def types(spark: SparkSession, *texts: str, columns: str = "k string, i int, d double, m decimal(10,2)") -> list[str]:
    aggregate_trial = attached(spark).headrace.operator.aggregate.AggregateTrial
    return list(json.loads(aggregate_trial.types(spark._jsparkSession, columns, json.dumps(texts))))


def test_types(spark: SparkSession) -> None:
    texts = {
        "sum(i)": "BIGINT",
        "sum(m)": "DECIMAL(20,2)",
        "avg(m)": "DECIMAL(14,6)",
        "count(distinct i, d)": "BIGINT",
        "collect_list(i)": "ARRAY<INT>",
        "approx_count_distinct(i)": "BIGINT",
        "max_by(k, i) filter (where d > 0)": "STRING",
        "listagg(k, ', ') within group (order by i)": "STRING",
    }
    assert types(spark, *texts) == list(texts.values())


def test_refusals(spark: SparkSession) -> None:
    texts = {
        "i + 1": "MISSING_GROUP_BY",
        "1": "NOT_AN_AGGREGATE",
        "sum(x)": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        "sum(k": "PARSE_SYNTAX_ERROR",
        "sum(rand())": "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
        "count(*) filter (where current_timestamp() > timestamp'2024-01-01')": "NON_DETERMINISTIC_AGGREGATE",
        "sum(uuid() = k)": "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        "max((select 1))": "SUBQUERY_IN_AGGREGATE",
        "sum(i) over ()": "MISSING_GROUP_BY",
        "single_value(i)": "UNRESOLVED_ROUTINE",
        "sum(sum(i))": "NESTED_AGGREGATE_FUNCTION",
        "explode(collect_list(i))": "NOT_AN_AGGREGATE",
    }
    answers = types(spark, *texts)
    assert {text: answer.split(":")[0] for text, answer in zip(texts, answers, strict=True)} == texts


GROUPED_AGG: Literal[202] = 202
"""Spark's number for functions that aggregate pandas columns."""


@pytest.mark.filterwarnings("ignore:.*type hints for pandas UDF")
def test_python_aggregates_are_refused(spark: SparkSession) -> None:
    from pyspark.sql.pandas.functions import pandas_udf

    def middle(values: Any) -> float:
        return float(values.median())

    spark.udf.register("middle", pandas_udf(middle, "double", GROUPED_AGG))
    assert types(spark, "middle(d)") == ["PYTHON_FUNCTION: the Python function middle in an aggregate"]


def test_settings_say_what_a_text_means(spark: SparkSession) -> None:
    batches = [[(1, ("a", 6, 0, True))]]
    off = SETTINGS | {"spark.sql.ansi.enabled": "false"}
    tried = trial(spark, changes(spark, batches, BASE, {}), ["sum(n / d)", "count(*)"], {"k": "string"}, 1, settings=off)
    assert tried.rows == [[(1, ("a", None, 1))]]
