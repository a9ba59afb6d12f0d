"""The functions with which users make columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headrace.errors import PlanError, here
from headrace.expr.column import ATOM, Column, argument, composed, inside, operand, sql
from headrace.expr.expression import Expression
from headrace.expr.literal import text_literal
from headrace.expr.text_argument import text_argument
from headrace.syntax import quote, split_alias

of_text = sql
of_value = operand


def col(name: str) -> Column:
    """Returns the column with this name.

    Args:
        name: The name; any characters are allowed, without backquotes. A field of a struct is `hr.col("place").city`.

    Raises:
        PlanError: `BAD_COLUMN` for another type, such as a PySpark column; `UNKNOWN_COLUMN`, by a verb, if its stream lacks the column.

    Examples:
        >>> import headrace as hr
        >>> hr.col("amount") > 500
        <Column amount > 500>
        >>> hr.col("two words")
        <Column `two words`>
    """
    name = text_argument(name, "hr.col expects the name of a column", 'hr.col("amount")')
    return Column(Expression(quote(name), (name,), here()), ATOM)


def lit(value: Any) -> Column:
    """Returns a Python value as a constant column.

    Args:
        value: An int, float, Decimal, str, bool, bytes, date, datetime, timedelta, list, dict or None. A datetime without a zone is in the
            job's time zone. A column is returned unchanged.

    Raises:
        PlanError: `BAD_LITERAL` for another type, an int of more than 38 digits or a Decimal that is not finite.

    Examples:
        >>> import headrace as hr
        >>> hr.f.concat("city", hr.lit(", "), "country")
        <Column concat(city, ', ', country)>
    """
    return operand(value)


def expr(text: str) -> Column:
    """Returns any Spark SQL expression as a column.

    Args:
        text: One expression of a SELECT list, with or without `AS` and a name.

    Raises:
        PlanError: `BAD_COLUMN` for another type, such as a PySpark column. Spark reports `BAD_SYNTAX` when the plan is checked.

    Examples:
        >>> import headrace as hr
        >>> hr.expr("amount * 2 AS twice")
        <Column amount * 2 AS twice>
    """
    text = text_argument(text, "hr.expr expects a SQL expression", 'hr.expr("amount * 2")')
    written, alias = split_alias(text)
    column = sql(written)
    return Column(replace(column._expression, alias=alias), column._binds) if alias else column


def struct(**columns: Column | str) -> Column:
    """Returns a struct of named columns.

    Args:
        **columns: The fields by name: columns, or texts of Spark SQL. Write `hr.lit("x")` for a string.

    Raises:
        PlanError: `BAD_LITERAL` if a value is neither a column nor a text and has no SQL literal.

    Examples:
        >>> import headrace as hr
        >>> hr.struct(card="card", cents=hr.col("amount") * 100)
        <Column named_struct('card', card, 'cents', amount * 100)>
    """
    values = {name: argument(value, f"hr.struct({name}={value!r})") for name, value in columns.items()}
    items = ", ".join(f"{text_literal(name)}, {column._expression.text}" for name, column in values.items())
    return composed(f"named_struct({items})", ATOM, *values.values())


def case(*branches: tuple[Column | str, Any], otherwise: Any = None) -> Column:
    """Returns the value of the first condition that is true, as SQL's `CASE WHEN`.

    Args:
        *branches: Pairs of a condition, as a SQL text or column, and a value. A text as a value is a string.
        otherwise: The value if no condition is true. Default: null.

    Raises:
        PlanError: `BAD_LITERAL` if a value is no column and has no SQL literal; `BAD_INPUT` without branches, or for one that is not a
            pair.

    Examples:
        >>> import headrace as hr
        >>> hr.case((hr.col("amount") > 500, "large"), otherwise="small")
        <Column CASE WHEN amount > 500 THEN 'large' ELSE 'small' END>
    """
    hint = 'write hr.case(("amount > 500", "large"), otherwise="small")'
    if not branches:
        raise PlanError("BAD_INPUT", "hr.case has no branches", hint=hint, site=here())
    for branch in branches:
        if not isinstance(branch, tuple) or len(branch) != 2:
            raise PlanError("BAD_INPUT", f"hr.case expects pairs of a condition and a value, got {branch!r}", hint=hint, site=here())
    pairs = [(sql(condition), operand(value)) for condition, value in branches]
    last = operand(otherwise)
    whens = " ".join(f"WHEN {condition._expression.text} THEN {value._expression.text}" for condition, value in pairs)
    return composed(f"CASE {whens} ELSE {inside(last, 0)} END", ATOM, *(column for pair in pairs for column in pair), last)


def columns_of(columns: Iterable[Column | str], named: dict[str, Column | str]) -> tuple[Expression, ...]:
    """Returns the columns given to a verb as expressions; those given by keyword get that name as their alias."""
    all_columns = [expr(column) if isinstance(column, str) else sql(column) for column in columns]
    all_columns += [sql(column).alias(name) for name, column in named.items()]
    return tuple(column._expression for column in all_columns)
