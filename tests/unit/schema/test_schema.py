"""Schemas, durations and values, without a JVM."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace.schema import milliseconds, parse_schema, parse_type, schema_of, shown
from headrace.schema.values import rows_from_internal, rows_to_internal, zone

STOCKHOLM = zone("Europe/Stockholm")


def test_spellings_become_one() -> None:
    ddl = "a STRING, b: DECIMAL( 10 , 2 ) NOT NULL COMMENT 'x', `c d` STRUCT<x: LONG, y: ARRAY<MAP<STRING, INTEGER>>>, e INTERVAL DAY TO SECOND, f dec"
    plain = (
        "a string, b decimal(10,2) not null, `c d` struct<x: bigint, y: array<map<string, int>>>, e interval day to second, f decimal(10,0)"
    )
    assert parse_schema(ddl).ddl == plain
    assert parse_schema(plain).ddl == plain


def test_types_of_pyspark() -> None:
    from pyspark.sql import types

    inner = types.StructType([types.StructField("x", types.DayTimeIntervalType())])
    struct = types.StructType(
        [
            types.StructField("a", types.LongType(), False),
            types.StructField("b", types.ArrayType(types.DecimalType(10, 2))),
            types.StructField("c", types.MapType(types.StringType(), inner)),
        ]
    )
    expected = "a bigint not null, b array<decimal(10,2)>, c map<string, struct<x: interval day to second>>"
    assert schema_of(struct).ddl == expected


@pytest.mark.parametrize(
    ("text", "millis"),
    [("5 minutes", 300_000), ("1h30m", 5_400_000), ("1.5 s", 1500), ("2 weeks", 1_209_600_000), ("interval 3 days", 259_200_000)],
)
def test_durations(text: str, millis: int) -> None:
    assert milliseconds(text, "it") == millis


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**12))
def test_a_duration_reads_as_it_is_shown(millis: int) -> None:
    assert milliseconds(shown(millis), "it") == millis


def test_values_there_and_back() -> None:
    schema = parse_schema(
        "k string, n decimal(10,2), ts timestamp, d date, st struct<a: int, b: string>, m map<string, int>, xs array<int>, b binary, "
        "i interval day to second, local timestamp_ntz, clock time, x double, yes boolean"
    )
    row = (
        "a",
        Decimal("1.50"),
        dt.datetime(2026, 1, 1, tzinfo=STOCKHOLM),
        dt.date(2026, 1, 2),
        (1, None),
        {"a": 1},
        [1, 2],
        b"x",
        dt.timedelta(days=-1),
        dt.datetime(2026, 1, 1, 12),
        dt.time(12, 30, 0, 5),
        0.5,
        True,
    )
    internal = rows_to_internal([row, (None,) * 13], schema, STOCKHOLM, "rows")
    assert internal[0][2:4] == (1767222000000000, 20455)
    assert rows_from_internal(internal, schema, STOCKHOLM) == [row, (None,) * 13]


@pytest.mark.parametrize(
    ("time", "utc"),
    [
        ("2026-01-01 00:00:00", dt.datetime(2025, 12, 31, 23, tzinfo=dt.UTC)),
        ("2026-01-01T00:00:00Z", dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        (dt.datetime(2026, 1, 1), dt.datetime(2025, 12, 31, 23, tzinfo=dt.UTC)),
        (dt.datetime(2026, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo")), dt.datetime(2025, 12, 31, 15, tzinfo=dt.UTC)),
        # In the hour that the clocks skip, and the first of the hour that comes twice: as in Java.
        ("2026-03-29 02:30:00", dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC)),
        ("2026-10-25 02:30:00", dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)),
    ],
)
def test_a_time_without_a_zone_is_one_of_the_session(time: object, utc: dt.datetime) -> None:
    schema = parse_schema("ts timestamp")
    internal = rows_to_internal([(time,)], schema, STOCKHOLM, "rows")
    [(back,)] = rows_from_internal(internal, schema, STOCKHOLM)
    assert back.astimezone(dt.UTC) == utc and back.tzinfo is STOCKHOLM


@pytest.mark.parametrize(
    ("ddl", "value", "why"),
    [
        ("a tinyint", 200, "200 is out of range for tinyint"),
        ("a int", True, "True is of type bool, but the column is int"),
        ("a decimal(4,2)", "1.234", "1.234 has too many decimal places for decimal(4,2)"),
        ("a decimal(4,2)", 100, "100 has too many digits for decimal(4,2)"),
        ("a decimal(4,2)", 1.5, "1.5 is of type float, but the column is decimal(4,2) (pass a Decimal, an int or a string)"),
        ("a varchar(2)", "abc", "'abc' is too long for varchar(2)"),
        ("a timestamp", "noon", "'noon' is not a timestamp: write 2026-01-31 12:00:00"),
        ("a string not null", None, "None is not allowed in a `not null` column"),
        ("a array<int>", "ab", "'ab' is of type str, expected a list"),
        ("a map<string, int>", {None: 1}, "a map key cannot be None"),
    ],
)
def test_values_that_do_not_fit(ddl: str, value: object, why: str) -> None:
    with pytest.raises(hr.SchemaError) as raised:
        rows_to_internal([(value,)], parse_schema(ddl), dt.UTC, "t")
    assert raised.value.message == f"rows[0] of t, `a`: {why}"


def test_the_place_of_a_wrong_value_inside() -> None:
    with pytest.raises(hr.SchemaError, match=r"rows\[0\] of t, `a.b`: 'x' is of type str, but the column is int"):
        rows_to_internal([{"a": {"b": "x"}}], parse_schema("a struct<b: int>"), dt.UTC, "t")


@pytest.mark.parametrize("name", ["Europe/Stockholm", "America/New_York", "+14:00", "-12:00", "UTC"])
def test_times_at_the_ends_of_the_calendar(name: str) -> None:
    schema = parse_schema("ts timestamp")
    for text in ("9999-12-31 23:59:59.999999", "9999-12-31 23:00:00", "0001-01-01 00:00:00", "0001-01-01 01:00:00"):
        for session_zone in (zone(name), dt.UTC):
            internal = rows_to_internal([(text,)], schema, session_zone, "rows")
            [(back,)] = rows_from_internal(internal, schema, zone(name))
            assert (back - dt.datetime.fromisoformat(text).replace(tzinfo=session_zone)) == dt.timedelta(), (text, session_zone)
    # in UTC where the zone has no such year, and the other way round
    [(back,)] = rows_from_internal(rows_to_internal([("9999-12-31 23:30:00+00:00",)], schema, dt.UTC, "rows"), schema, STOCKHOLM)
    assert str(back) == "9999-12-31 23:30:00+00:00"
    [(back,)] = rows_from_internal(rows_to_internal([("0001-01-01 00:00:00",)], schema, STOCKHOLM, "rows"), schema, STOCKHOLM)
    assert back.tzinfo is STOCKHOLM and back.year == 1


def test_large_decimals_are_exact() -> None:
    schema = parse_schema("a decimal(38,18)")
    [(value,)] = rows_to_internal([("12345678901234567890.123456789012345678",)], schema, dt.UTC, "rows")
    assert value == Decimal("12345678901234567890.123456789012345678")


def test_one_type() -> None:
    assert parse_type("MAP<STRING, LONG>").text == "map<string, bigint>"
