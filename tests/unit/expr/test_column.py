"""The texts that operators and functions build."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest
from pyspark.sql.types import LongType

import headrace as hr
from headrace.expr import Expression, literal, of

x, y = hr.col("x"), hr.col("y")


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ((x + 1) * 2 - (y - 3), "(x + 1) * 2 - (y - 3)"),
        (1 - (x + 1), "1 - (x + 1)"),
        (x - (y - 1), "x - (y - 1)"),
        (x - y - 1, "x - y - 1"),
        (x / (y * 2), "x / (y * 2)"),
        (2 / x % 3, "2 / x % 3"),
        (x - -5, "x - -5"),
        (-x * -(x + 1), "-x * -(x + 1)"),
        ((x > 1) & (y < 2) | ~(x == 3), "x > 1 AND y < 2 OR NOT x = 3"),
        ((x > 1) & ((y < 2) | (y > 5)), "x > 1 AND (y < 2 OR y > 5)"),
        (~((x > 1) & (y < 2)), "NOT (x > 1 AND y < 2)"),
        ((~x) == (y > 1), "(NOT x) = (y > 1)"),
        ((x == 1) == (y == 2), "(x = 1) = (y = 2)"),
        (True & x, "true AND x"),
        (x | hr.expr("a or b"), "x OR (a or b)"),
        (hr.expr("a + b") * 2, "(a + b) * 2"),
        (hr.expr("a.b") * 2, "a.b * 2"),
        (x != "it's", "x != 'it\\'s'"),
        (x.city.name, "x.city.name"),
        ((x + y).city, "(x + y).city"),
        (x["two words"][0], "x['two words'][0]"),
        (x.cast("decimal(10,2)"), "CAST(x AS decimal(10,2))"),
        (x.cast(LongType()), "CAST(x AS bigint)"),
        ((x + 1).is_null(), "x + 1 IS NULL"),
        ((x > 1).is_not_null(), "(x > 1) IS NOT NULL"),
        (x.is_in("SE", "NO"), "x IN ('SE', 'NO')"),
        (x.is_in([1, 2]), "x IN (1, 2)"),
        (x.is_in(), "false"),
        (x.between(y + 1, 5), "x BETWEEN y + 1 AND 5"),
        (x.like("a%"), "x LIKE 'a%'"),
        (x.desc(), "x DESC"),
        (hr.col("two words") + hr.col("case"), "`two words` + `case`"),
        (hr.f.round(x * 2, 1), "round(x * 2, 1)"),
        (hr.f.concat("a", hr.lit("a")), "concat(a, 'a')"),
        (hr.f.if_("x > 1", 1, 2), "if(x > 1, 1, 2)"),
        (hr.f.count(), "count(*)"),
        (hr.f.count("x").distinct().where(y > 1), "count(DISTINCT x) FILTER (WHERE y > 1)"),
        (hr.f.sum("x").where("a or b").where("c"), "sum(x) FILTER (WHERE (a or b) AND (c))"),
        (
            hr.f.sum("x").over(per=["a", "b"], by=y.desc(), frame="rows unbounded preceding"),
            "sum(x) OVER (PARTITION BY a, b ORDER BY y DESC rows unbounded preceding)",
        ),
        (hr.struct(a="x", b=y + 1), "named_struct('a', x, 'b', y + 1)"),
        (hr.case((x > 1, "large"), ("y", 3), otherwise=x), "CASE WHEN x > 1 THEN 'large' WHEN y THEN 3 ELSE x END"),
        (x + hr.minutes(1), "x + INTERVAL '0 00:01:00' DAY TO SECOND"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_text(column: hr.Column, text: str) -> None:
    assert column._expression.text == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (-1, "-1"),
        (2**31, "2147483648L"),
        (2**70, "1180591620717411303424BD"),
        (1.5, "1.5D"),
        (1e20, "1e+20D"),
        (float("nan"), "double('NaN')"),
        (float("-inf"), "double('-Infinity')"),
        (Decimal("1.00"), "1.00BD"),
        (Decimal("1E+3"), "1000BD"),
        ("back\\slash", "'back\\\\slash'"),
        (dt.date(2026, 1, 31), "DATE '2026-01-31'"),
        (dt.datetime(2026, 1, 31, 12), "TIMESTAMP '2026-01-31 12:00:00'"),
        (dt.datetime(2026, 1, 31, 12, tzinfo=dt.timezone(dt.timedelta(hours=1))), "TIMESTAMP '2026-01-31 11:00:00+00:00'"),
        (dt.timedelta(days=1, seconds=2, microseconds=3), "INTERVAL '1 00:00:02.000003' DAY TO SECOND"),
        (-dt.timedelta(hours=1), "INTERVAL '-0 01:00:00' DAY TO SECOND"),
        (b"\x01\xff", "X'01FF'"),
        ([1, "a"], "array(1, 'a')"),
        ({"a": 1}, "map('a', 1)"),
    ],
)
def test_literal(value: object, text: str) -> None:
    assert literal(value) == text


def test_names_are_those_of_columns_without_fields() -> None:
    assert of("e.amount + fee * e.rate").names == ("e", "fee")
    assert (x + y.city)._expression.names == ("x", "y")
    assert of("transform(xs, v -> v + y)").names == ("xs", "y")
    assert of("current_date").names == ()


def test_what_sqlglot_cannot_read_is_left_to_spark() -> None:
    assert of("parse_json(a):b.c") == Expression("parse_json(a):b.c", ())


def test_expr_takes_its_name_from_as() -> None:
    assert hr.expr("amount * 2 AS twice")._expression.alias == "twice"
    assert hr.expr("cast(a AS int)")._expression.alias is None
    assert hr.expr("amount * 2 AS twice")._expression.text == "amount * 2"


def test_a_column_is_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(x)


@pytest.mark.parametrize("ask", [bool, len, int, float, list, range, lambda column: column in [1], lambda column: 1 in column])
def test_python_never_gets_a_value(ask: Callable[[object], object]) -> None:
    with pytest.raises(hr.PlanError):
        ask(x)


def test_a_number_in_quotes_is_sql_and_says_so() -> None:
    advice = r"a string is SQL, so '1' is a number; write hr.lit\('1'\) for the string, or the Python value"
    with pytest.warns(UserWarning, match=r"hr.struct\(n='1'\): " + advice) as warned:
        assert str(hr.struct(n="1")) == "<Column named_struct('n', 1)>"
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match=r"hr.f.concat\('1'\): " + advice):
        hr.f.concat("card", "1")
    with pytest.warns(UserWarning, match="so 'true' is true or false"):
        hr.struct(n="true")
    hr.struct(n=1, m=hr.lit("1"), k="card", t="'1'")


@pytest.mark.parametrize(
    ("build", "operand", "sign"),
    [
        (lambda: x > 5 & y, "5", "AND"),
        (lambda: x | "x", "'x'", "OR"),
    ],
)
def test_conditions_without_parentheses(build: Callable[[], object], operand: str, sign: str) -> None:
    with pytest.raises(hr.PlanError) as raised:
        build()
    assert (raised.value.code, raised.value.message) == ("WRONG_TYPE", f"{operand} is not a boolean, as both sides of {sign} must be")
    assert raised.value.hint == "in Python & and | bind tighter than comparisons: put comparisons in parentheses, (x == 1) & (y > 5)"
    assert str(x & True) == "<Column x AND true>"
