"""Errors of columns: what Python asks and a column cannot answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import headrace as hr
from headrace.expr import literal
from tests.unit.errors import check_error

x = hr.col("x")


def test_literal() -> None:
    check_error(
        """
        BAD_LITERAL: a Python object cannot be a SQL literal
          at test_expr.py:*: lambda: x == object(),
          hint: use int, float, Decimal, str, bool, bytes, date, datetime, timedelta, list, dict or None
          more: headrace error BAD_LITERAL
        """,
        lambda: x == object(),
    )


def test_literal_tuple() -> None:
    check_error(
        """
        BAD_LITERAL: a Python tuple cannot be a SQL literal
          at test_expr.py:*: lambda: literal((1, 2)),
          hint: for an array use a list; for a struct, hr.struct(name=value, ...)
          more: headrace error BAD_LITERAL
        """,
        lambda: literal((1, 2)),
    )


def test_literal_of_a_function() -> None:
    check_error(
        """
        BAD_LITERAL: a Python function cannot be a SQL literal
          at test_expr.py:*: lambda: x > (lambda row: 1),
          hint: pass a column or a SQL string: hr.col("amount") * 2, or hr.expr("amount * 2")
          more: headrace error BAD_LITERAL
        """,
        lambda: x > (lambda row: 1),
    )


def test_not_an_aggregate() -> None:
    check_error(
        """
        NOT_AN_AGGREGATE: .over() must follow a function call, but this is `x`
          at test_expr.py:*: lambda: x.over(per="card"),
          hint: call it on the function: hr.f.sum("amount").over(...)
          more: headrace error NOT_AN_AGGREGATE
        """,
        lambda: x.over(per="card"),
    )


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        (
            lambda: hr.col(3),
            """
            BAD_COLUMN: hr.col expects the name of a column, got 3
              at test_expr.py:*: lambda: hr.col(3),
              hint: write hr.col("amount")
              more: headrace error BAD_COLUMN
            """,
        ),
        (
            lambda: hr.expr(3),
            """
            BAD_COLUMN: hr.expr expects a SQL expression, got 3
              at test_expr.py:*: lambda: hr.expr(3),
              hint: write hr.expr("amount * 2")
              more: headrace error BAD_COLUMN
            """,
        ),
        (
            lambda: x.alias(3),
            """
            BAD_COLUMN: alias expects a name, got 3
              at test_expr.py:*: lambda: x.alias(3),
              hint: write hr.f.sum("amount").alias("spent")
              more: headrace error BAD_COLUMN
            """,
        ),
        (
            lambda: hr.case(),
            """
            BAD_INPUT: hr.case has no branches
              at test_expr.py:*: lambda: hr.case(),
              hint: write hr.case(("amount > 500", "large"), otherwise="small")
              more: headrace error BAD_INPUT
            """,
        ),
        (
            lambda: hr.case("amount > 500"),
            """
            BAD_INPUT: hr.case expects pairs of a condition and a value, got 'amount > 500'
              at test_expr.py:*: lambda: hr.case("amount > 500"),
              hint: write hr.case(("amount > 500", "large"), otherwise="small")
              more: headrace error BAD_INPUT
            """,
        ),
    ],
    ids=["col", "expr", "alias", "no branches", "no pair"],
)
def test_arguments_of_columns(mistake: Callable[[], object], text: str) -> None:
    check_error(text, mistake)


def test_null_comparison() -> None:
    check_error(
        """
        NULL_COMPARISON: `x = NULL` is never true in SQL
          at test_expr.py:*: lambda: x == None,  # noqa: E711
          hint: use .is_null()
          more: headrace error NULL_COMPARISON
        """,
        lambda: x == None,  # noqa: E711
    )


def test_if() -> None:
    check_error(
        """
        TRACED_BOOL: `x > 500` has a value only when the job runs, so Python cannot use it as a condition
          at test_expr.py:*: lambda: 1 if x > 500 else 2,
          hint: in a program use `with hr.when(...)` instead of `if`; for a conditional value use hr.case((condition, value), otherwise=value)
          more: headrace error TRACED_BOOL
        """,
        lambda: 1 if x > 500 else 2,
    )


def test_while() -> None:
    def wait() -> None:
        while x > 500:
            pass

    check_error(
        """
        TRACED_BOOL: `x > 500` has a value only when the job runs, so Python cannot use it as a condition
          at test_expr.py:*: while x > 500:
          hint: loop over a list or map with `with hr.each(...)`; for a condition use `with hr.when(...)`
          more: headrace error TRACED_BOOL
        """,
        wait,
    )


def test_and() -> None:
    check_error(
        """
        TRACED_BOOL: `x > 1` has a value only when the job runs, so Python cannot use it as a condition
          at test_expr.py:*: lambda: x > 1 and x < 5,
          hint: instead of `and`, `or`, `not` use &, |, ~ with parentheses around comparisons: (x > 1) & (x < 5)
          more: headrace error TRACED_BOOL
        """,
        lambda: x > 1 and x < 5,
    )


def test_in() -> None:
    check_error(
        """
        TRACED_BOOL: `x = 1` has a value only when the job runs, so Python cannot use it as a condition
          at test_expr.py:*: lambda: x in [1, 2],
          hint: instead of `in` use x.is_in(1, 2)
          more: headrace error TRACED_BOOL
        """,
        lambda: x in [1, 2],
    )


def test_chain() -> None:
    check_error(
        """
        TRACED_BOOL: `x > 1` has a value only when the job runs, so Python cannot use it as a condition
          at test_expr.py:*: lambda: 1 < x < 5,
          hint: a chained comparison needs a truth value: use (1 < x) & (x < 5)
          more: headrace error TRACED_BOOL
        """,
        lambda: 1 < x < 5,
    )


def test_loop() -> None:
    check_error(
        """
        TRACED_VALUE: `x` has a value only when the job runs, so Python cannot loop over it
          at test_expr.py:*: lambda: list(x),
          hint: for one item use hr.col("xs")[0]; for a row per item, .explode("xs")
          more: headrace error TRACED_VALUE
        """,
        lambda: list(x),
    )


def test_length() -> None:
    check_error(
        """
        TRACED_VALUE: `x` has a value only when the job runs, so Python cannot take its length
          at test_expr.py:*: lambda: len(x),
          hint: use hr.f.size(...) for arrays and maps, hr.f.length(...) for strings
          more: headrace error TRACED_VALUE
        """,
        lambda: len(x),
    )


def test_number() -> None:
    check_error(
        """
        TRACED_VALUE: `x` has a value only when the job runs, so Python cannot convert it to an int
          at test_expr.py:*: lambda: int(x),
          hint: use .cast("int")
          more: headrace error TRACED_VALUE
        """,
        lambda: int(x),
    )


def test_unknown_method() -> None:
    check_error(
        """
        UNKNOWN_METHOD: columns have no method `isin`
          at test_expr.py:*: lambda: x.isin(1, 2),
          hint: did you mean `.is_in()`?
          more: headrace error UNKNOWN_METHOD
        """,
        lambda: x.isin(1, 2),
    )


def test_function_as_method() -> None:
    check_error(
        """
        UNKNOWN_METHOD: columns have no method `upper`
          at test_expr.py:*: lambda: x.upper(),
          hint: call a Spark function as hr.f.upper(...)
          more: headrace error UNKNOWN_METHOD
        """,
        lambda: x.upper(),
    )
