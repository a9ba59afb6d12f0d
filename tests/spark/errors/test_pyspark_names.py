"""Names of PySpark that headrace has not: each hint names what does the same, and that works."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import date, datetime

import pytest
from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession, functions

import headrace as hr
from headrace.words import function_cure, method_cure
from tests.unit.errors import check_error

charges = hr.read.memory(
    [("a", 1, datetime(2026, 1, 1), ["x"], ("y",)), ("b", 9, datetime(2026, 1, 2), [], ("z",))],
    "card string, amount int, ts timestamp, tags array<string>, place struct<city: string>",
    name="charges",
)


def test_each_function_of_pyspark_is_one_of_sql_or_has_a_cure(spark: SparkSession) -> None:
    known = {function.name for function in spark.catalog.listFunctions()}
    unknown = {name for name in functions.__all__ if name.islower() and name not in known}
    assert {name for name in unknown if function_cure(name) is None} == {"bucket", "unwrap_udt"}  # of tables and of types


def test_each_method_of_a_column_of_pyspark_has_a_cure(spark: SparkSession) -> None:
    known = {function.name for function in spark.catalog.listFunctions()}
    has = [name for name in dir(hr.Column) if not name.startswith("_")]
    for name in (name for name in dir(SparkColumn) if not name.startswith("_") and name not in has):
        cure = method_cure(name, has)
        assert name.lower() in known if f"hr.f.{name}(" in cure else cure


CURES: dict[str, Callable[[], hr.Stream]] = {
    "col": lambda: charges.select(n=hr.f.upper(hr.col("card"))),
    "lit": lambda: charges.select(n=hr.lit("large")),
    "expr": lambda: charges.select(n=hr.expr("amount * 2")),
    "case": lambda: charges.select(n=hr.case((hr.col("amount") > 3, "x"), otherwise="y")),
    "case in SQL": lambda: charges.select(n="CASE WHEN amount > 3 THEN 'x' ELSE 'y' END"),
    "count": lambda: charges.group_by("card").agg(n=hr.f.count("card").distinct(), m="count(DISTINCT card)"),
    "sum": lambda: charges.group_by("card").agg(n=hr.f.sum("amount").distinct(), m="sum(DISTINCT amount)"),
    "listagg": lambda: charges.group_by("card").agg(n=hr.f.listagg("card").distinct(), m="listagg(DISTINCT card)"),
    "product": lambda: charges.group_by("card").agg(n=hr.expr("exp(sum(ln(amount)))")),
    "orders": lambda: charges.top(1, by=[hr.col("amount").desc(), hr.col("ts").asc(), "card asc nulls last", "amount desc nulls first"]),
    "values": lambda: charges.select(
        a=hr.expr("~amount"),
        b=hr.f.map(hr.lit("key"), "card"),
        c=hr.f.negative("amount"),
        d=hr.expr("timestampadd(HOUR, 1, ts)"),
        e=hr.expr("timestampdiff(HOUR, ts, ts)"),
        f=hr.col("ts") + hr.hours(1) + hr.days(1) + hr.expr("INTERVAL '1' MONTH"),
        g=hr.f.month("ts"),
    ),
    "methods": lambda: charges.select(
        a=hr.expr("try_cast(card AS int)"),
        b=hr.f.equal_null("card", "place.city"),
        c=hr.f.try_element_at("tags", 1),
        d=hr.col("place").city,
        e=hr.struct(city="place.city"),
        f=hr.expr("amount & 4"),
        g=hr.f.contains("card", hr.lit("a")),
    ),
    "times": lambda: charges.filter(hr.col("ts") > datetime(2026, 1, 1)).filter("ts > TIMESTAMP'2026-01-01 00:00:00'"),
    "seconds": lambda: charges.filter("ts > timestamp_seconds(20260101)"),
    "dates": lambda: charges.filter(hr.col("ts").cast("date") > date(2026, 1, 1)).filter("date(ts) > DATE'2026-01-01'"),
    "days": lambda: charges.filter("date(ts) > date_from_unix_date(20000)"),
    "windows": lambda: charges.window(hr.tumble("ts", "1 minute")).group_by("card", "window_start").agg(n="count(*)"),
}


@pytest.mark.parametrize("cure", CURES)
def test_cures_work(spark: SparkSession, cure: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert hr.collect(CURES[cure]()).rows()


def test_functions(spark: SparkSession) -> None:
    check_error(
        """
        UNKNOWN_FUNCTION: charges.filter: Spark has no function `col`, in `col(amount) > 3`
          at test_pyspark_names.py:*: lambda: hr.collect(charges.filter(hr.f.col("amount") > 3)),
          hint: write hr.col("amount")
          more: headrace error UNKNOWN_FUNCTION
        """,
        lambda: hr.collect(charges.filter(hr.f.col("amount") > 3)),
    )
    check_error(
        """
        UNKNOWN_FUNCTION: aggregate(charges): Spark has no function `countDistinct`, in `countDistinct(amount)`
          at test_pyspark_names.py:*: lambda: hr.collect(charges.group_by("card").agg(n=hr.f.countDistinct("amount"))),
          hint: write hr.f.count("amount").distinct(), in SQL count(DISTINCT amount)
          more: headrace error UNKNOWN_FUNCTION
        """,
        lambda: hr.collect(charges.group_by("card").agg(n=hr.f.countDistinct("amount"))),
    )
    check_error(
        """
        UNKNOWN_METHOD: columns have no method `otherwise`
          at test_pyspark_names.py:*: lambda: hr.f.when(hr.col("amount") > 3, hr.lit("x")).otherwise(hr.lit("y")),
          hint: write hr.case((condition, value), otherwise=value), in SQL CASE WHEN condition THEN value ELSE value END
          more: headrace error UNKNOWN_METHOD
        """,
        lambda: hr.f.when(hr.col("amount") > 3, hr.lit("x")).otherwise(hr.lit("y")),
    )


def test_windows(spark: SparkSession) -> None:
    hint = 'assign windows first: .window(hr.tumble("ts", "1 minute")), which adds window_start and window_end'
    check_error(
        f"""
        UNNAMED_COLUMN: `window(ts, 1 minute)` has no name
          at test_pyspark_names.py:*: lambda: charges.group_by("card", hr.f.window("ts", "1 minute")),
          hint: {hint}
          more: headrace error UNNAMED_COLUMN
        """,
        lambda: charges.group_by("card", hr.f.window("ts", "1 minute")),
    )
    for named in (
        hr.f.window("ts", "1 minute").alias("w"),
        hr.f.window("ts", hr.lit("1 minute")).alias("w"),
        "window(ts, '1 minute') AS w",
    ):
        with pytest.raises(hr.PlanError) as caught:
            hr.collect(charges.group_by("card", named).agg(n="count(*)"))
        assert caught.value.hint == hint
    with pytest.raises(hr.PlanError) as caught:
        hr.collect(charges.select(w="session_window(ts, '1 minute')"))
    assert caught.value.hint is not None and caught.value.hint.startswith("assign sessions first")
