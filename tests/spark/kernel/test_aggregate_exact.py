"""Sums that are exact: floats against fractions, whole numbers and decimals up to their ranges and over them."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scale import runs
from tests.spark.kernel.aggregates import Base, Change, changes, check, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLOATS = "k string, x double, y double"
KEY = {"k": "string"}
INF, NAN = math.inf, math.nan
ZERO = Fraction(0)


def tried(spark: SparkSession, batches: list[list[Change]], calls: list[str], base: str, **more: Any) -> list[tuple[Any, ...]]:
    """What is said of the only group, after each epoch."""
    after = trial(spark, changes(spark, batches, base, {}), calls, KEY, len(batches), **more).after
    return [rows[0][1:] if rows else () for rows in after]


def plus(*rows: Base) -> list[Change]:
    return [(1, r) for r in rows]


def nearest(exact: Fraction) -> float:
    """The double next to a fraction."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return INF if exact > 0 else -INF


@pytest.mark.full
def test_nothing_is_left_of_large_values(spark: SparkSession) -> None:
    """Added and taken away, they leave what was there; a running sum of doubles would have lost it."""
    small, large = ("a", 0.1, 1.0), ("a", 1e300, 1.0)
    least = ("a", 5e-324, 1.0)
    batches: list[list[Change]] = [
        plus(small, least),
        plus(large, large),
        [(-2, large)],
        [(-1, small)],
        plus(("a", -0.0, 1.0)),
        [(-1, least)],
    ]
    results = tried(spark, batches, ["sum(x)", "avg(x)", "var_pop(x)"], FLOATS)
    assert [f[0] for f in results] == [0.1, 2e300, 0.1, 5e-324, 5e-324, 0.0]
    assert math.copysign(1, results[5][0]) == 1
    assert results[2] == results[0]
    assert results[3] == (5e-324, 5e-324, 0.0)


def test_the_range_is_left_and_entered_again(spark: SparkSession) -> None:
    batches = [plus(("a", 1.7e308, 0.0), ("a", 1.7e308, 0.0)), plus(("a", -1.7e308, 0.0))]
    assert tried(spark, batches, ["sum(x)", "avg(x)"], FLOATS) == [(INF, INF), (1.7e308, 1.7e308 / 3)]


def test_nan_and_infinities_come_and_go(spark: SparkSession) -> None:
    one, nan, up, down = (("a", x, 2.0) for x in (1.0, NAN, INF, -INF))
    batches = [plus(one, ("a", 2.0, 3.0)), plus(nan), plus(up), [(-1, nan)], plus(down), [(-1, up)], [(-1, down)]]
    calls = ["sum(x)", "avg(x)", "max(x)", "min(x)", "count(distinct x)", "sum(distinct x)"]
    check(spark, batches, [*calls, "stddev(x)", "kurtosis(x)", "count(x)"], base=FLOATS, derived={})
    results = tried(spark, batches, ["corr(x, y)", "regr_slope(y, x)", "covar_pop(x, y)"], FLOATS)
    assert all(math.isnan(v) for f in results[1:6] for v in f)
    assert results[0] == results[6] == (1.0, 1.0, 0.25)


def test_zeros_of_both_signs(spark: SparkSession) -> None:
    """Equal for DISTINCT, least and greatest; both there in a list, and the one that is taken away is gone."""
    zero, minus = ("a", 0.0, 1.0), ("a", -0.0, 1.0)
    batches = [plus(minus, zero), [(-1, minus)], [*plus(minus), (-1, zero)]]
    results = tried(
        spark, batches, ["collect_list(x)", "count(distinct x)", "approx_count_distinct(x)", "collect_list(distinct x)"], FLOATS
    )
    assert [[math.copysign(1, x) for x in f[0]] for f in results] == [[-1, 1], [1], [-1]]
    assert [f[1:3] for f in results] == [(1, 1)] * 3
    assert [[math.copysign(1, x) for x in f[3]] for f in results] == [[1]] * 3


def test_texts_of_a_collation(spark: SparkSession) -> None:
    base = "k string, s string collate utf8_lcase"
    small, large = ("a", "x"), ("a", "X")
    results = tried(
        spark, [plus(small, large), [(-1, small)], [*plus(small), (-1, large)]], ["collect_list(s)", "count(distinct s)", "min(s)"], base
    )
    assert results == [(["X", "x"], 1, "X"), (["X"], 1, "X"), (["x"], 1, "x")]
    results = tried(spark, [plus(small, large), [(-1, large)]], ["collect_list(distinct s)", "listagg(distinct s)", "mode(s)"], base)
    assert results[0][:2] == (["X"], "X")
    assert results[1] == (["x"], "x", "x")


finite = st.floats(allow_nan=False, allow_infinity=False)
usual = st.integers(-(10**9), 10**9).map(lambda n: n / 100)


@runs(12, 300)
@given(values=st.lists(st.tuples(finite | usual, finite | usual, st.integers(1, 5)), min_size=1, max_size=30), cut=st.integers(0, 30))
def test_sums_of_floats_are_rounded_once(spark: SparkSession, values: list[tuple[float, float, int]], cut: int) -> None:
    rows = [("a", x, y) for x, y, _ in values]
    weights = [n for *_, n in values]
    batches: list[list[Change]] = [list(zip(weights, rows, strict=True)), [(-n, r) for n, r in list(zip(weights, rows, strict=True))[cut:]]]
    # Equal rows become one weight before the operator sees them; here they are given as they come.
    merged = [_merged(batch) for batch in batches]
    results = tried(spark, merged, ["sum(x)", "avg(x)", "var_pop(x)", "covar_pop(x, y)", "regr_sxx(y, x)", "count(*)"], FLOATS)
    for result, left in zip(results, (values, values[:cut]), strict=True):
        if not left:
            assert result == ()
            continue
        xs = [Fraction(x) for x, _, n in left for _ in range(n)]
        ys = [Fraction(y) for _, y, n in left for _ in range(n)]
        n, sx, sy = len(xs), sum(xs, ZERO), sum(ys, ZERO)
        m2 = sum((x * x for x in xs), ZERO) - sx * sx / n
        ck = sum((x * y for x, y in zip(xs, ys, strict=True)), ZERO) - sx * sy / n
        assert result == (nearest(sx), nearest(sx) / n, nearest(m2) / n, nearest(ck) / n, nearest(m2), n)


def _merged(batch: list[Change]) -> list[Change]:
    sums: dict[str, int] = {}
    rows: dict[str, Base] = {}
    for weight, one in batch:
        sums[repr(one)] = sums.get(repr(one), 0) + weight
        rows[repr(one)] = one
    return [(n, rows[r]) for r, n in sums.items() if n]


@runs(6, 100)
@given(values=st.lists(usual, min_size=4, max_size=30))
def test_higher_moments(spark: SparkSession, values: list[float]) -> None:
    results = tried(spark, [_merged(plus(*[("a", x, 0.0) for x in values]))], ["skewness(x)", "kurtosis(x)"], FLOATS)
    xs = [Fraction(x) for x in values]
    n, mean = len(xs), sum(xs, ZERO) / len(xs)
    m2, m3, m4 = (nearest(sum(((x - mean) * (x - mean) ** (k - 1) for x in xs), ZERO)) for k in (2, 3, 4))
    wanted = (math.sqrt(n) * m3 / math.sqrt(m2 * m2 * m2), n * m4 / (m2 * m2) - 3.0) if m2 else (None, None)
    assert results == [wanted]


WHOLE = "k string, i int, l bigint, m decimal(38,2), t tinyint"
MOST = 2**63 - 1


def test_sums_leave_the_range_and_come_back(spark: SparkSession) -> None:
    """Under ANSI the group has no row while its sum is out of range; one dead letter says so when that begins."""
    most, one = ("a", 1, MOST, None, 1), ("a", 1, 1, None, 1)
    batches = [plus(most), plus(one), plus(("a", 2, 5, None, 1)), [(-1, most)]]
    done = trial(spark, changes(spark, batches, WHOLE, {}), ["sum(l)", "count(*)"], KEY, 4)
    assert done.rows == [[(1, ("a", MOST, 1))], [(-1, ("a", MOST, 1))], [], [(1, ("a", 6, 2))]]
    assert [len(dead) for dead in done.dead] == [0, 1, 0, 0]
    weight, reason, raw = done.dead[1][0]
    assert (weight, raw) == (1, '{"key":{"k":"a"}}')
    assert reason.startswith("[ARITHMETIC_OVERFLOW] ")


def test_sums_that_may_leave_the_range(spark: SparkSession) -> None:
    batches = [plus(("a", 1, MOST, None, 1)), plus(("a", 1, MOST, None, 1)), plus(("a", 1, -MOST, None, 1))]
    assert tried(spark, batches, ["try_sum(l)"], WHOLE) == [(MOST,), (None,), (MOST,)]
    wrapped = tried(spark, batches, ["sum(l)", "avg(l)"], WHOLE, settings={"spark.sql.ansi.enabled": "false"})
    assert wrapped == [(MOST, 2.0**63), (-2, 2.0**63), (MOST, 2.0**63 / 3)]
    down = [[(1, ("a", 1, -MOST - 1, None, 1))], [(3, ("a", 1, -MOST - 1, None, 1))]]
    assert tried(spark, down, ["try_sum(l)", "avg(l)"], WHOLE) == [(-MOST - 1, -(2.0**63)), (None, -(2.0**63))]


def test_decimals_that_leave_the_range(spark: SparkSession) -> None:
    most, least = Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36 + ".99")
    batches = [plus(("a", 1, 1, most, 1)), [(1, ("a", 2, 1, most, 1))], plus(("a", 1, 1, least, 1)), plus(("a", 1, 1, Decimal("0.01"), 1))]
    assert tried(spark, batches, ["try_sum(m)", "try_avg(m)"], WHOLE, settings={})[1] == (None, None)
    done = trial(spark, changes(spark, batches, WHOLE, {}), ["sum(m)"], KEY, 4)
    assert [len(rows) for rows in done.after] == [1, 0, 1, 0]
    assert done.after[2] == [("a", most)]
    assert [[reason.split("]")[0] for _, reason, _ in dead] for dead in done.dead] == [
        [],
        ["[ARITHMETIC_OVERFLOW"],
        [],
        ["[ARITHMETIC_OVERFLOW"],
    ]


@pytest.mark.parametrize("scale", [0, 2, 9])
def test_averages_of_decimals_are_rounded_as_sparks(spark: SparkSession, scale: int) -> None:
    base = f"k string, a decimal(9,{scale}), b decimal(18,{scale}), c decimal(30,{scale}), d decimal(38,{scale})"
    values = [7, 1, 10_000_019, 3, 999_999_999, 1, 2, 5, 8, 13, 77, 4_000_005]
    rows = [("a", *[Decimal(v).scaleb(-scale)] * 4) for v in values]
    batches = [plus(*rows[max(0, 2 * i - 1) : 2 * i + 1]) for i in range(6)]
    check(spark, batches, [f"{f}{c})" for f in ("avg(", "sum(", "try_avg(", "avg(distinct ") for c in "abcd"], base=base, derived={})


def test_intervals(spark: SparkSession) -> None:
    base = "k string, n int, l bigint"
    derived = {"y": "make_ym_interval(0, n)", "z": "cast(l as interval second)"}
    batches = [plus(("a", 7, 5)), plus(("a", -3, 9), ("b", None, None)), plus(("a", 1, 1))]
    check(spark, batches, ["sum(y)", "avg(y)", "sum(z)", "avg(z)", "try_sum(y)", "try_avg(z)", "max(y)"], base=base, derived=derived)
    most = 2**31 - 1
    over = trial(spark, changes(spark, [plus(("a", most, 5)), plus(("a", 1, 9))], base, derived), ["sum(y)"], KEY, 2)
    assert [len(rows) for rows in over.after] == [1, 0]
    assert over.dead[1][0][1].startswith("[INTERVAL_ARITHMETIC_OVERFLOW")
    over = trial(spark, changes(spark, [plus(("a", most, 5)), plus(("a", 1, 9))], base, derived), ["try_sum(y)", "try_avg(y)"], KEY, 2)
    assert over.after[1] == [("a", None, None)]


@runs(8, 150)
@given(
    values=st.lists(
        st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(-128, 127)), min_size=1, max_size=20
    )
)
def test_bits_and_whole_numbers(spark: SparkSession, values: list[tuple[int, int, int]]) -> None:
    rows = [("a", i, n, None, t) for i, n, t in values]
    calls = [f"{f}({c})" for f in ("bit_and", "bit_or", "bit_xor") for c in "ilt"] + ["sum(i)", "sum(t)", "try_sum(l)", "avg(i)"]
    results = tried(spark, [_merged(plus(*rows)), [(-1, r) for r in rows[1:]]], calls, WHOLE)
    for result, left in zip(results, (values, values[:1]), strict=True):
        columns = list(zip(*left, strict=True))
        for place, fold in enumerate((operator.and_, operator.or_, operator.xor)):
            assert result[3 * place : 3 * place + 3] == tuple(reduce(fold, column) for column in columns)
        total = sum(columns[1])
        assert result[9:11] == (sum(columns[0]), sum(columns[2]))
        assert result[11] == (total if -MOST - 1 <= total <= MOST else None)
        assert result[12] == float(sum(columns[0])) / len(left)
