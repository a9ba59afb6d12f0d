"""Every aggregate function of Spark, kept up to date over groups whose rows come and go."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.functions import expr

from headrace.jvm import compile, java
from headrace.jvm.session import jvm
from tests.spark.kernel.aggregates import Base, Change, by_key, changes, check, prefixes, same, trial
from tests.spark.versions import IS_OLDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Call = str | tuple[str, str]

ANY_ORDER: dict[str, list[str]] = {
    "any": ["any(b)", "any(i > 2) filter (where i is not null)"],
    "approx_count_distinct": ["approx_count_distinct(i)", "approx_count_distinct(s)", "approx_count_distinct(d, 0.01)"],
    "avg": ["avg(i)", "avg(t)", "avg(l)", "avg(d)", "avg(f)", "avg(m)", "avg(w)", "avg(y)", "avg(z)", "avg(distinct i)", "avg(distinct m)"],
    "bit_and": ["bit_and(i)", "bit_and(l)", "bit_and(t)", "bit_and(distinct h)"],
    "bit_or": ["bit_or(i)", "bit_or(l)", "bit_or(t)"],
    "bit_xor": ["bit_xor(i)", "bit_xor(l)", "bit_xor(t)", "bit_xor(distinct i)"],
    "bool_and": ["bool_and(b)"],
    "bool_or": ["bool_or(b)", "bool_or(distinct b)"],
    "corr": ["corr(d, e)", "corr(i, d) filter (where b)"],
    "count": [
        "count(*)",
        "count(1)",
        "count(null)",
        "count(i)",
        "count(i, s)",
        "count(distinct i)",
        "count(distinct s)",
        "count(distinct c)",
        "count(distinct i, s)",
        "count(distinct d)",
        "count(distinct r)",
        "count(distinct a)",
        "count(distinct s) filter (where i > 1)",
        "count(*) filter (where b)",
    ],
    "count_if": ["count_if(b)", "count_if(i > 1)"],
    "covar_pop": ["covar_pop(d, e)"],
    "covar_samp": ["covar_samp(d, e)", "covar_samp(distinct i, l)"],
    "every": ["every(b)"],
    "kurtosis": ["kurtosis(d)", "kurtosis(i)"],
    "max": [*(f"max({c})" for c in "ildemwbstfxyzhar"), "max(dt)", "max(ts)", "max(i) filter (where b)"],
    "mean": ["mean(d)"],
    "median": ["median(i)", "median(d)", "median(y)"],
    "min": [*(f"min({c})" for c in "ildemwbstfxyzhar"), "min(dt)", "min(ts)", "min(distinct i)", "min(s) filter (where b)"],
    "mode": ["mode(i, true)", "mode() within group (order by s)", "mode() within group (order by s desc)"],
    "percentile": ["percentile(i, 0.3)", "percentile(d, array(0.25, 0.75))", "percentile(i, 0.5, abs(i) + 1)"],
    "percentile_cont": ["percentile_cont(0.25) within group (order by d)", "percentile_cont(0.25) within group (order by i desc)"],
    "percentile_disc": ["percentile_disc(0.25) within group (order by i)"],
    "regr_avgx": ["regr_avgx(d, e)"],
    "regr_avgy": ["regr_avgy(d, e)"],
    "regr_count": ["regr_count(d, e)"],
    "regr_intercept": ["regr_intercept(d, e)"],
    "regr_r2": ["regr_r2(d, e)"],
    "regr_slope": ["regr_slope(d, e)"],
    "regr_sxx": ["regr_sxx(d, e)"],
    "regr_sxy": ["regr_sxy(d, e)"],
    "regr_syy": ["regr_syy(d, e)"],
    "skewness": ["skewness(d)", "skewness(distinct i)"],
    "some": ["some(b)"],
    "std": ["std(d)"],
    "stddev": ["stddev(m)"],
    "stddev_pop": ["stddev_pop(d)", "stddev_pop(i)"],
    "stddev_samp": ["stddev_samp(d)", "stddev_samp(distinct i)"],
    "sum": [
        "sum(i)",
        "sum(l)",
        "sum(t)",
        "sum(d)",
        "sum(f)",
        "sum(m)",
        "sum(w)",
        "sum(y)",
        "sum(z)",
        "sum(distinct i)",
        "sum(distinct d)",
        "sum(distinct m)",
        "sum(i * 2 + 1)",
        "sum(i) filter (where b and i > 0)",
        "sum(distinct i) filter (where b)",
    ],
    "try_avg": ["try_avg(i)", "try_avg(m)", "try_avg(y)"],
    "try_sum": ["try_sum(i)", "try_sum(m)", "try_sum(z)", "try_sum(d)"],
    "var_pop": ["var_pop(d)"],
    "var_samp": ["var_samp(d)", "var_samp(l)"],
    "variance": ["variance(d)"],
}
"""Those that do not look at the order of rows."""

IN_ORDER: dict[str, list[tuple[str, str]]] = {
    "any_value": [("any_value(i)", "i"), ("any_value(s, true)", "s")],
    "approx_percentile": [("approx_percentile(i, 0.5)", "i")],
    "approx_top_k": [("approx_top_k(s, 3)", "s")],
    "array_agg": [("array_agg(i)", "i"), ("array_agg(distinct s)", "s")],
    "collect_list": [("collect_list(d)", "d"), ("collect_list(r)", "r"), ("collect_list(s) filter (where b)", "s")],
    "collect_set": [("collect_set(i)", "i"), ("collect_set(s)", "s")],
    "collect_union": [("collect_union(a)", "a"), ("collect_union(distinct a)", "a")],
    "count_min_sketch": [("count_min_sketch(i, 0.5d, 0.5d, 1)", "i")],
    "first": [("first(i)", "i"), ("first(s, true)", "s"), ("first(i) filter (where b)", "i")],
    "first_value": [("first_value(d)", "d")],
    "histogram_numeric": [("histogram_numeric(i, 3)", "i")],
    "last": [("last(i)", "i"), ("last(s, true)", "s"), ("last(c)", "c, s")],
    "last_value": [("last_value(d)", "d")],
    "listagg": [
        ("listagg(s, '-')", "s"),
        ("listagg(distinct s, '-')", "s"),
        ("listagg(s, '-') within group (order by i desc, d)", "s, i, d"),
        ("listagg(s) within group (order by s desc)", "s"),
    ],
    "string_agg": [("string_agg(s, ',')", "s")],
    "schema_of_variant_agg": [("schema_of_variant_agg(to_variant_object(r))", "r")],
    "max_by": [("max_by(s, i)", "s, i"), ("max_by(i, d)", "i, d"), ("max_by(s, i, 3)", "s, i"), ("max_by(s, i) filter (where b)", "s, i")],
    "min_by": [("min_by(s, i)", "s, i"), ("min_by(i, s)", "i, s"), ("min_by(s, i, 2)", "s, i"), ("min_by(d, l)", "d, l")],
    "mode": [("mode(s)", "s")],
    "vector_avg": [("vector_avg(v)", "v")],
    "vector_sum": [("vector_sum(v)", "v"), ("vector_sum(v) filter (where b)", "v")],
    "percentile_approx": [("percentile_approx(d, 0.5)", "d"), ("percentile_approx(i, array(0.1, 0.9), 100)", "i")],
}

SKETCHES: dict[str, list[str]] = {
    "approx_top_k_accumulate": ["approx_top_k_estimate(approx_top_k_accumulate(i))"],
    "bitmap_construct_agg": ["bitmap_count(bitmap_construct_agg(bitmap_bit_position(l)))"],
    "bitmap_or_agg": ["bitmap_count(bitmap_or_agg(if(s is null, null, to_binary(hex(s), 'hex'))))"],
    "bitmap_and_agg": ["bitmap_count(bitmap_and_agg(if(s is null, null, to_binary(hex(s), 'hex'))))"],
    "hll_sketch_agg": ["hll_sketch_estimate(hll_sketch_agg(i))", "hll_sketch_estimate(hll_sketch_agg(s, 10))"],
    "kll_sketch_agg_bigint": ["kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(l), 0.5)"],
    "kll_sketch_agg_double": ["kll_sketch_get_quantile_double(kll_sketch_agg_double(d), 0.5)"],
    "kll_sketch_agg_float": ["kll_sketch_get_quantile_float(kll_sketch_agg_float(f), 0.5)"],
    "theta_sketch_agg": ["theta_sketch_estimate(theta_sketch_agg(i))"],
    "tuple_sketch_agg_double": ["tuple_sketch_estimate_double(tuple_sketch_agg_double(i, d))"],
    "tuple_sketch_agg_integer": ["tuple_sketch_estimate_integer(tuple_sketch_agg_integer(i, i))"],
}
"""Compared by what they estimate: the bytes of a sketch tell how it was put together."""

MERGES: dict[str, tuple[str, str]] = {
    "approx_top_k_combine": ("approx_top_k_accumulate(i)", "approx_top_k_estimate({})"),
    "hll_union_agg": ("hll_sketch_agg(i)", "hll_sketch_estimate({})"),
    "kll_merge_agg_bigint": ("kll_sketch_agg_bigint(l)", "kll_sketch_get_quantile_bigint({}, 0.5)"),
    "kll_merge_agg_double": ("kll_sketch_agg_double(d)", "kll_sketch_get_quantile_double({}, 0.5)"),
    "kll_merge_agg_float": ("kll_sketch_agg_float(f)", "kll_sketch_get_quantile_float({}, 0.5)"),
    "theta_intersection_agg": ("theta_sketch_agg(i)", "theta_sketch_estimate({})"),
    "theta_union_agg": ("theta_sketch_agg(i)", "theta_sketch_estimate({})"),
    "tuple_intersection_agg_double": ("tuple_sketch_agg_double(i, d)", "tuple_sketch_estimate_double({})"),
    "tuple_intersection_agg_integer": ("tuple_sketch_agg_integer(i, i)", "tuple_sketch_estimate_integer({})"),
    "tuple_union_agg_double": ("tuple_sketch_agg_double(i, d)", "tuple_sketch_estimate_double({})"),
    "tuple_union_agg_integer": ("tuple_sketch_agg_integer(i, i)", "tuple_sketch_estimate_integer({})"),
}
"""Aggregates of sketches: what makes one, and what is estimated from those put together."""

if IS_OLDER:
    ANY_ORDER["corr"] = []  # Spark's own fails with DIVIDE_BY_ZERO where a column has one value
    del IN_ORDER["collect_union"]


def row(k: str | None, i: int | None, s: str | None = None, b: bool | None = None) -> Base:
    """A row whose other columns follow from `i`."""
    if i is None:
        return (k, None, None, None, None, None, None, b, s)
    cents = decimal.Decimal(i * 37 % 1000).scaleb(-2)
    wide = decimal.Decimal("12345678901234567890.12345") * (i % 9 + 1)
    return (k, i, i * 1_000_003, 1.5 + i / 7, 2.25 + i * i / 3, cents, wide, b, s)


def plus(*rows: Base, n: int = 1) -> list[Change]:
    return [(n, r) for r in rows]


def minus(*rows: Base) -> list[Change]:
    return [(-1, r) for r in rows]


ROWS = [row("a", i, s, b) for i, s, b in [(1, "x", True), (2, "y", False), (3, "z", True), (3, "z", True), (5, "X", None), (8, "yy", True)]]
NULLS = [row("b", None, None, None), row("b", None, "x", None), row("b", 4, None, False)]
BATCHES: list[list[Change]] = [
    [*plus(*ROWS[:3]), *plus(*NULLS), *plus(row(None, 7, "n", True))],
    [*plus(*ROWS[3:]), *plus(row("c", 2, "q", True)), *minus(NULLS[0])],
    # A row comes and goes in one epoch, another three times at once.
    [*plus(row("a", 9, "gone", True)), *minus(row("a", 9, "gone", True)), *plus(row("c", 6, "r", False), n=3), *minus(ROWS[0], ROWS[5])],
    # Groups vanish, with nulls and without.
    [*minus(NULLS[1], NULLS[2]), *minus(row(None, 7, "n", True)), *minus(ROWS[1], ROWS[2])],
    # One comes back; all but one value is taken away.
    [*plus(row("b", 3, "back", True)), *minus(row("c", 2, "q", True))],
]


def test_those_that_do_not_look_at_order(spark: SparkSession) -> None:
    check(spark, BATCHES, [call for calls in ANY_ORDER.values() for call in calls])


def test_those_that_look_at_order(spark: SparkSession) -> None:
    check(spark, BATCHES, [call for calls in IN_ORDER.values() for call in calls], restart=True)


def test_sketches(spark: SparkSession) -> None:
    check(spark, BATCHES, [call for calls in SKETCHES.values() for call in calls])


@pytest.mark.full
def test_sketches_of_sketches(spark: SparkSession) -> None:
    """A sketch of each (k, b) by Spark itself; those of a k are put together."""
    columns = {name: f"s{i}" for i, name in enumerate(MERGES)}
    texts = [estimate.format(f"{name}({columns[name]})") for name, (_, estimate) in MERGES.items()]
    frame = changes(spark, [[(1, r) for r in prefixes(BATCHES)[1]]]).where("i is not null")
    sketched = frame.groupBy("k", "b").agg(*[expr(inner).alias(columns[name]) for name, (inner, _) in MERGES.items()]).persist()
    try:
        oracle = sketched.groupBy("k").agg(*[expr(text) for text in texts]).collect()
        tried = trial(spark, sketched.selectExpr("0 as _epoch", "1L as _weight", "*"), texts, {"k": "string"}, 1)
        assert same(by_key(tried.after[0], 1), by_key([tuple(row) for row in oracle], 1))
    finally:
        sketched.unpersist()


def test_the_global_group_is_there_without_rows(spark: SparkSession) -> None:
    batches: list[list[Change]] = [[], plus(*ROWS), minus(*ROWS), plus(*NULLS)]
    listed: list[Call] = [call for calls in ANY_ORDER.values() for call in calls]
    listed += ["collect_list(1)", ("first(i)", "i"), ("max_by(s, i)", "s, i"), ("listagg(s)", "s")]
    tried = check(spark, batches, listed, keys={})
    assert [len(rows) for rows in tried.after] == [1, 1, 1, 1]


def test_nothing_is_aggregated(spark: SparkSession) -> None:
    """Distinct rows: an aggregate without aggregates."""
    tried = check(spark, BATCHES, [], keys={"k": "string"})
    assert tried.rows[1] == [(1, ("c",))]
    assert tried.pages == 0


def test_what_does_not_change_is_not_said_again(spark: SparkSession) -> None:
    batches = [plus(row("a", 5), row("a", 2)), plus(row("a", 3)), minus(row("a", 3)), minus(row("a", 5))]
    tried = check(spark, batches, ["max(i)"])
    assert tried.rows == [[(1, ("a", 5))], [], [], [(-1, ("a", 5)), (1, ("a", 2))]]


def test_append_keeps_only_the_best(spark: SparkSession) -> None:
    batches = [plus(*ROWS[:2], *NULLS), plus(*ROWS[2:4], row("b", 1, "w", True)), plus(*ROWS[4:], *NULLS)]
    calls: list[Call] = [f"{f}({c})" for f in ("min", "max") for c in ("i", "s", "m", "w", "d", "r", "c")]
    calls += [(f"{f}({c})", c) for f in ("first", "last", "any_value") for c in ("i", "s")]
    calls += [("first(s, true)", "s"), ("max_by(s, i)", "s, i"), ("min_by(s, i)", "s, i"), ("min_by(s, b)", "s, b")]
    calls += ["sum(i)", "min(i) filter (where b)", "count(distinct s)"]
    tried = check(spark, batches, calls, append=True, restart=True)
    assert tried.pages == 0
    few: list[Call] = ["min(i)", ("max_by(s, i)", "s, i")]
    assert check(spark, batches, few, append=True).bytes < check(spark, batches, few).bytes


def test_functions_share_what_they_read(spark: SparkSession) -> None:
    """A dozen functions over one column keep one multiset."""
    one = check(spark, BATCHES, ["min(i)"])
    many = check(spark, BATCHES, ["min(i)", "max(i)", "count(distinct i)", ("first(i)", "i"), ("collect_list(i)", "i"), "median(i)"])
    assert one.accesses == many.accesses
    assert many.bytes - one.bytes < 100 * len(BATCHES)


@pytest.mark.full
def test_a_large_group_lies_in_pages(spark: SparkSession) -> None:
    """20,000 rows of one group, then a few: the epoch of a few touches a few pages."""
    rows = [(1, row("a", i % 5000, f"value {i % 7}", i % 2 == 0)) for i in range(20_000)]
    few = [(1, row("a", 70_000, "last", True)), (-1, row("a", 0, "value 0", True)), (-1, row("a", 4999, "value 0", False))]
    calls: list[Call] = ["min(i)", "max(i)", "count(distinct i)", "sum(distinct i)", "sum(i)"]
    calls += [("max_by(s, i)", "s, i"), ("min_by(s, i)", "s, i")]
    first, both = check(spark, [rows], calls), check(spark, [rows, few], calls)
    assert both.pages > 50
    assert both.accesses - first.accesses < 30
    check(spark, [rows, few], [("collect_list(i)", "i"), "median(d)"])


LONGEST = """
package trial

import org.apache.spark.sql.{Encoder, Encoders}
import org.apache.spark.sql.expressions.Aggregator

/** The longest text, the first of several. */
final class Longest extends Aggregator[String, String, String] {
  def zero: String = ""
  def reduce(a: String, b: String): String = if (b != null && b.length > a.length) b else a
  def merge(a: String, b: String): String = reduce(a, b)
  def finish(a: String): String = a
  def bufferEncoder: Encoder[String] = Encoders.STRING
  def outputEncoder: Encoder[String] = Encoders.STRING
}
object Longest {
  def register(session: org.apache.spark.sql.SparkSession): Unit =
    session.udf.register("longest", org.apache.spark.sql.functions.udaf(new Longest, Encoders.STRING))
}
"""


@pytest.mark.full
def test_user_defined_aggregates_of_the_jvm(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "Longest.scala").write_text(LONGEST)
    assert compile.scalac(java.find(), tmp_path / "src", tmp_path / "longest.jar") is None
    spark.sparkContext._jsc.addJar(str(tmp_path / "longest.jar"))
    loader = jvm(spark).java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm(spark).java.io.File(str(tmp_path / "longest.jar")).toURI().toURL())
    jvm(spark).trial.Longest.register(spark._jsparkSession)
    check(spark, BATCHES, [("longest(s)", "s"), ("longest(s) filter (where b)", "s"), ("longest(distinct s)", "s"), "sum(i)"])


def test_every_aggregate_of_spark_is_tried(spark: SparkSession) -> None:
    known = jvm(spark).org.apache.spark.sql.catalyst.analysis.FunctionRegistry.expressions()
    classes = jvm(spark).java.lang.Class
    base = classes.forName("org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction")
    aggregates = set()
    for name in known.keySet().mkString(" ").split(" "):
        info = known.apply(name)._1()
        is_aggregate = info.getGroup() == "agg_funcs" or base.isAssignableFrom(classes.forName(info.getClassName()))
        if is_aggregate and info.getGroup() != "window_funcs":
            aggregates.add(name)
    # grouping and grouping_id tell of grouping sets, measure of a metric view: the analyser replaces them.
    assert set(ANY_ORDER) | set(IN_ORDER) | set(SKETCHES) | set(MERGES) == aggregates - {"grouping", "grouping_id", "measure"}
