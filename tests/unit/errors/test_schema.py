"""Errors of schemas, durations and values."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.schema import milliseconds, parse_schema, parse_type, schema_of
from headrace.schema.values import zone
from tests.unit.errors import check_error


def test_duration() -> None:
    check_error(
        """
        BAD_DURATION: the delay of a watermark cannot be '5 minits': `minits` is not a unit
          at test_schema.py:*: lambda: milliseconds("5 minits", "the delay of a watermark"),
          hint: write "5 minutes", "1 hour 30 minutes" or datetime.timedelta(minutes=5); units are milliseconds, seconds, minutes, hours, days and weeks
          more: headrace error BAD_DURATION
        """,
        lambda: milliseconds("5 minits", "the delay of a watermark"),
    )


@pytest.mark.parametrize(
    ("duration", "why"),
    [
        ("1 month", "a month has no fixed length"),
        (5, "it is neither a string with units nor a timedelta"),
        ("five", "it is not a duration"),
        ("5", "it has no unit"),
        ("-1 second", "it is negative"),
        ("0.1 ms", "durations are whole milliseconds"),
        ("", "it is empty"),
    ],
)
def test_durations_that_are_none(duration: object, why: str) -> None:
    with pytest.raises(hr.SchemaError) as raised:
        milliseconds(duration, "the delay")  # type: ignore[arg-type]
    assert raised.value.message == f"the delay cannot be {duration!r}: {why}"


def test_schema() -> None:
    check_error(
        """
        BAD_TYPE: the schema `card strin, amount int` cannot be read: no type `strin`, did you mean `string`?
          at test_schema.py:*: lambda: parse_schema("card strin, amount int"),
          hint: a schema looks like "card string, amount decimal(10,2), ts timestamp"
          more: headrace error BAD_TYPE
        """,
        lambda: parse_schema("card strin, amount int"),
    )


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("str", "string"),
        ("text", "string"),
        ("bool", "boolean"),
        ("int64", "bigint"),
        ("float64", "double"),
        ("datetime", "timestamp"),
        ("bytes", "binary"),
        ("list<int>", "array"),
        ("dict<string, int>", "map"),
    ],
)
def test_types_of_python_and_of_databases(theirs: str, ours: str) -> None:
    with pytest.raises(hr.SchemaError, match=f"did you mean `{ours}`") as raised:
        parse_type(theirs)
    assert f"no type `{theirs.partition('<')[0]}`" in raised.value.message


@pytest.mark.parametrize(
    ("ddl", "why"),
    [
        ("a", "the type of `a` is missing"),
        ("a int,", "a name is missing at the end"),
        ("a int b", "`,` is missing before `b`"),
        ("", "it has no columns"),
        ("a int, A string", "the name `A` appears twice"),
        ("a decimal(40,2)", "decimal(precision, scale) needs a precision from 1 to 38, and a scale up to the precision"),
        ("a array<int", "`>` is missing at the end"),
        ("a decimal(ten)", "decimal takes numbers in parentheses"),
        ("a %", "unexpected `%`"),
        ("a varchar", "varchar needs a length, such as varchar(10); did you mean `string`?"),
        ("a interval day to month", "write `interval day to second` or `interval year to month`"),
    ],
)
def test_schemas_that_are_none(ddl: str, why: str) -> None:
    with pytest.raises(hr.SchemaError) as raised:
        parse_schema(ddl)
    assert raised.value.message == f"the schema `{ddl}` cannot be read: {why}"


@pytest.mark.parametrize(("ddl", "column"), [("c char(3)", "c"), ("n int, s struct<x: array<character(3)>>", "s.x")])
def test_texts_that_would_be_padded(ddl: str, column: str) -> None:
    check_error(
        f"""
        BAD_TYPE: the column `{column}` cannot be char(3): headrace does not pad strings
          at test_schema.py:*: lambda: hr.read.memory([], ddl),
          hint: declare it as string, and pad where needed: rpad({column}, 3, ' ')
          more: headrace error BAD_TYPE
        """,
        lambda: hr.read.memory([], ddl),
    )


def test_type() -> None:
    check_error(
        """
        BAD_TYPE: the type `decimal(10,2` cannot be read: `)` is missing at the end
          at test_schema.py:*: lambda: parse_type("decimal(10,2"),
          hint: a type looks like "decimal(10,2)" or "array<string>"
          more: headrace error BAD_TYPE
        """,
        lambda: parse_type("decimal(10,2"),
    )


def test_schema_of_another_kind() -> None:
    check_error(
        """
        BAD_TYPE: a schema cannot be a list
          at test_schema.py:*: lambda: schema_of(["card", "amount"]),
          hint: pass a string, "card string, amount decimal(10,2)", or a pyspark StructType
          more: headrace error BAD_TYPE
        """,
        lambda: schema_of(["card", "amount"]),
    )


def test_value() -> None:
    check_error(
        """
        BAD_VALUE: rows[1], `amount`: 'many' is of type str, but the column is int
          at test_schema.py:*: lambda: hr.read.memory([("a", 1), ("b", "many")], "card string, amount int", name="charges"),
          hint: correct the value or the schema: card string, amount int
          more: headrace error BAD_VALUE
        """,
        lambda: hr.read.memory([("a", 1), ("b", "many")], "card string, amount int", name="charges"),
    )


def test_time_zone() -> None:
    check_error(
        """
        UNKNOWN_TIME_ZONE: there is no time zone `Europe/Stockhom`
          at test_schema.py:*: lambda: zone("Europe/Stockhom"),
          hint: did you mean `Europe/Stockholm`? Use a name like Europe/Stockholm or UTC; on a machine without time zone data, `pip install tzdata`
          more: headrace error UNKNOWN_TIME_ZONE
        """,
        lambda: zone("Europe/Stockhom"),
    )
