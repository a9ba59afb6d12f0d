"""Errors of columns: what Python asks and a column cannot answer."""

from __future__ import annotations

import headrace as hr
from headrace.expr import literal
from tests.unit.errors import check_error

x = hr.col("x")


def test_literal() -> None:
    check_error(
        """
        BAD_LITERAL: a Python object has no literal in SQL
          at test_expr.py:*: lambda: x == object(),
          hint: int, float, Decimal, str, bool, bytes, date, datetime, timedelta, list, dict and None have literals
          more: headrace error BAD_LITERAL
        """,
        lambda: x == object(),
    )


def test_literal_tuple() -> None:
    check_error(
        """
        BAD_LITERAL: a Python tuple has no literal in SQL
          at test_expr.py:*: lambda: literal((1, 2)),
          hint: a list is an array; for a struct use hr.struct(name=value, ...)
          more: headrace error BAD_LITERAL
        """,
        lambda: literal((1, 2)),
    )


def test_literal_of_a_function() -> None:
    check_error(
        """
        BAD_LITERAL: a Python function has no literal in SQL
          at test_expr.py:*: lambda: x > (lambda row: 1),
          hint: an expression is a column or SQL text: hr.col("amount") * 2, or hr.expr("amount * 2")
          more: headrace error BAD_LITERAL
        """,
        lambda: x > (lambda row: 1),
    )


def test_not_an_aggregate() -> None:
    check_error(
        """
        NOT_AN_AGGREGATE: .over() follows a function, and this is `x`
          at test_expr.py:*: lambda: x.over(per="card"),
          hint: write it at the function: hr.f.sum("amount").over(...)
          more: headrace error NOT_AN_AGGREGATE
        """,
        lambda: x.over(per="card"),
    )


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
        TRACED_BOOL: `x > 500` is not known yet: it has a value only when rows flow, so Python cannot decide on it
          at test_expr.py:*: lambda: 1 if x > 500 else 2,
          hint: in a program use `with hr.when(...)` instead of `if` and `while`; for a value use hr.case((condition, value), otherwise=value)
          more: headrace error TRACED_BOOL
        """,
        lambda: 1 if x > 500 else 2,
    )


def test_and() -> None:
    check_error(
        """
        TRACED_BOOL: `x > 1` is not known yet: it has a value only when rows flow, so Python cannot decide on it
          at test_expr.py:*: lambda: x > 1 and x < 5,
          hint: instead of `and`, `or`, `not` use &, |, ~ with parentheses around comparisons: (x > 1) & (x < 5)
          more: headrace error TRACED_BOOL
        """,
        lambda: x > 1 and x < 5,
    )


def test_in() -> None:
    check_error(
        """
        TRACED_BOOL: `x = 1` is not known yet: it has a value only when rows flow, so Python cannot decide on it
          at test_expr.py:*: lambda: x in [1, 2],
          hint: instead of `in` use x.is_in(1, 2)
          more: headrace error TRACED_BOOL
        """,
        lambda: x in [1, 2],
    )


def test_chain() -> None:
    check_error(
        """
        TRACED_BOOL: `x > 1` is not known yet: it has a value only when rows flow, so Python cannot decide on it
          at test_expr.py:*: lambda: 1 < x < 5,
          hint: a chain of comparisons asks for a truth value: use (1 < x) & (x < 5)
          more: headrace error TRACED_BOOL
        """,
        lambda: 1 < x < 5,
    )


def test_loop() -> None:
    check_error(
        """
        TRACED_VALUE: `x` has a value only when rows flow, so Python cannot loop over it
          at test_expr.py:*: lambda: list(x),
          hint: take items by col("xs")[0], or make rows of an array with .explode("xs")
          more: headrace error TRACED_VALUE
        """,
        lambda: list(x),
    )


def test_length() -> None:
    check_error(
        """
        TRACED_VALUE: `x` has a value only when rows flow, so Python cannot take its length
          at test_expr.py:*: lambda: len(x),
          hint: use hr.f.size(...) for arrays and maps, hr.f.length(...) for text
          more: headrace error TRACED_VALUE
        """,
        lambda: len(x),
    )


def test_number() -> None:
    check_error(
        """
        TRACED_VALUE: `x` has a value only when rows flow, so Python cannot make an int of it
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
          hint: a function of Spark is called as hr.f.upper(...)
          more: headrace error UNKNOWN_METHOD
        """,
        lambda: x.upper(),
    )
