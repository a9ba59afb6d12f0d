"""Lookups in a table that is loaded as a whole."""

from __future__ import annotations

import datetime as dt
import decimal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Harness
from tests.spark.lookups.shelf import Shelf
from tests.unit.errors import check_error


def test_files_are_read_again_when_they_are_too_old(shelf: Shelf, tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("name,id,more\none,1,x\ntwo,2,y\n")
    shelf.object.at(0)
    with Harness() as h:
        events = h.source("events", "id bigint")
        table = hr.lookup.files(file, format="csv", schema="id int, name string", refresh="10 seconds")
        out = h.collect(events.lookup(table, on="id"))
        h.commit({"events": [("+", (1,)), ("+", (3,)), ("+", (None,))]})
        file.write_text("name,id,more\nuno,1,x\ntres,3,y\n")
        h.commit({"events": [("+", (1,))]})
        shelf.object.at(11)
        h.commit({"events": [("+", (1,)), ("+", (3,))]})
        file.write_text("name,id,more\nein,1,x\n")
        h.restart()
        h.commit({"events": [("+", (1,))]})
        assert out.changes() == [
            (1, "+", (None, None)),
            (1, "+", (1, "one")),
            (1, "+", (3, None)),
            (2, "+", (1, "one")),
            (3, "+", (1, "uno")),
            (3, "+", (3, "tres")),
            (4, "+", (1, "ein")),
        ]


@pytest.mark.parametrize("format", ["json", "parquet", "orc", "csv"])
def test_values_are_those_that_spark_reads(spark: SparkSession, tmp_path: Path, format: str) -> None:
    rows: list[Any] = [
        (
            1,
            "ä\n;",
            decimal.Decimal("12345678901234567890.123456789012345678"),
            dt.date(1969, 12, 31),
            None,
        ),
        (1, None, None, None, None),
        (2, "two", decimal.Decimal("0E-18"), dt.date(2026, 2, 28), None),
    ]
    schema = "id int, name string, amount decimal(38,18), day date, at timestamp"
    writer = spark.createDataFrame([row[:4] for row in rows], "id int, name string, amount decimal(38,18), day date")
    writer.selectExpr("*", "timestamp'2026-01-01 00:00:00.001' AS at").write.format(format).option("header", "true").option(
        "quoteAll", "true"
    ).option("emptyValue", "").save(str(tmp_path / "t"))
    events = hr.read.memory([(1,), (2,), (3,)], "id bigint", name="events")
    table = hr.lookup.files(tmp_path / "t", format=format, schema=schema, options={"multiLine": "true"} if format == "csv" else None)
    answer = hr.collect(events.lookup(table, on="id").select("id", "name", "amount", "day", "unix_micros(at) AS at")).rows()
    wanted = [(id_, name, amount, day, 1767225600001000) for id_, name, amount, day, _ in rows] + [(3, None, None, None, None)]
    assert Counter(answer) == Counter(wanted)


def test_keys_of_several_columns_and_types(spark: SparkSession) -> None:
    """-0.0 is 0.0 and NaN is itself, as in a join; a decimal meets a whole number."""
    nan = float("nan")
    events = hr.read.memory(
        [(0.0, 1, "a"), (-0.0, 1, "b"), (nan, 2, "c"), (1.5, None, "d"), (1.5, 3, "e")], "x double, n int, v string", name="events"
    )
    table = hr.lookup.memory(
        [(0.0, decimal.Decimal("1.0"), "zero"), (nan, decimal.Decimal(2), "nan"), (1.5, decimal.Decimal("3.1"), "no")],
        "x double, n decimal(5,1), w string",
        name="table",
    )
    joined = hr.collect(events.lookup(table, on=["x", "n"]).select("v", "w"))
    assert sorted(joined.rows()) == [("a", "zero"), ("b", "zero"), ("c", "nan"), ("d", None), ("e", None)]


def test_a_line_that_cannot_be_read_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"id": 1}\n{"id": "x"}\n')
    events = hr.read.memory([(1,)], "id int", name="events")
    table = hr.lookup.files(tmp_path / "t.json", format="json", schema="id int, name string")
    with pytest.raises(HeadraceError) as caught:
        hr.collect(events.lookup(table, on="id", retry="0 seconds"))
    assert caught.value.code == "LOOKUP_FAILED" and "the lookup failed" in caught.value.message


def test_a_folder_that_a_sink_wrote(spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.read.memory([("a", 1), ("b", 2)], "k string, id bigint", name="rows")
    written = rows.write.files(tmp_path / "out", format="parquet", partition_by="k", name="out")
    hr.job("write", written).run(checkpoint=tmp_path / "state", progress=False)
    (tmp_path / "out" / "k=b" / "of-nobody.parquet").write_bytes(b"no parquet")
    table = hr.lookup.files(tmp_path / "out", format="parquet", schema="id bigint, k string", name="table")
    joined = hr.read.memory([(1,), (3,)], "id bigint", name="asked").lookup(table, on="id", how="left")
    assert sorted(hr.collect(joined).rows()) == [(1, "a"), (3, None)]


def test_there_is_no_file(spark: SparkSession, tmp_path: Path) -> None:
    events = hr.read.memory([(1,)], "id int", name="events")
    table = hr.lookup.files(tmp_path / "t.json", format="json", schema="id int, name string")
    check_error(
        """
        PATH_MISSING: there is no file <folder>/t.json
          at test_whole.py:*: lambda: hr.collect(events.lookup(table, on="id")),
          hint: the full path is <folder>/t.json
          more: headrace error PATH_MISSING
        """,
        lambda: hr.collect(events.lookup(table, on="id")),
        hide={str(tmp_path): "<folder>"},
    )
