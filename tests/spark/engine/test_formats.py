"""ORC and Avro: what a sink writes is what Spark reads, and a source gives rows with their places, over restarts too."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

import headrace as hr

SCHEMA = "k string, n bigint, tiny tinyint, d decimal(20,4), x double, day date, ts timestamp, b binary, goods array<struct<name: string, price: int>>, m map<string, int>"
ROWS: list[tuple[Any, ...]] = [
    (
        "a",
        2**62,
        -128,
        Decimal("12345678901234.5678"),
        -0.0,
        dt.date(1969, 12, 31),
        dt.datetime(1969, 12, 31, 23, 59, 58, 999999, dt.UTC),
        b"\x00\xff",
        [("ä\n", 1), (None, None)],
        {"x": 1},
    ),
    ("b, c", -1, 127, Decimal("-0.0001"), float("nan"), dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC), b"", [], {}),
    (None,) * 10,
]
CLASS = {"orc": "orc", "avro": "org.apache.spark.sql.avro.AvroFileFormat"}


@pytest.mark.parametrize("format", ["orc", "avro"])
def test_what_is_written_is_read(format: str, spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.read.memory(ROWS, SCHEMA, name="rows")
    hr.job("write", rows.write.files(tmp_path / "out", format=format, name="out")).run(checkpoint=tmp_path / "c1", progress=False)
    by_spark = spark.read.format(CLASS[format]).load(str(tmp_path / "out"))
    # Avro has no whole numbers smaller than an int.
    held = SCHEMA.replace("tinyint", "int") if format == "avro" else SCHEMA
    assert [field.dataType.simpleString() for field in by_spark.schema] == [
        field.dataType.simpleString() for field in spark.createDataFrame([], held).schema
    ]
    assert sorted(repr(row.k) for row in by_spark.collect()) == sorted(repr(row[0]) for row in ROWS)
    again = hr.read.files(tmp_path / "out", format=format, schema=SCHEMA, name="again")
    inferred = hr.read.files(tmp_path / "out", format=format, name="inferred")
    assert sorted(map(repr, hr.collect(again).rows())) == sorted(map(repr, hr.collect(rows).rows()))
    assert sorted(map(repr, hr.collect(inferred).rows())) == sorted(map(repr, hr.collect(rows).rows()))


def test_csv_keeps_the_blanks_of_texts(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["a", " a", "a ", "tab\t", "\u2003wide", " , "]
    rows = hr.read.memory(list(enumerate(texts)), "i int, t string", name="rows")
    hr.job("write", rows.write.files(tmp_path / "out", format="csv", name="out")).run(checkpoint=tmp_path / "c", progress=False)
    values = duckdb.sql(f"SELECT t FROM read_csv('{tmp_path}/out/*.csv', header=true, all_varchar=true) ORDER BY i::int").fetchall()
    assert [text for (text,) in values] == texts
    again = hr.read.files(tmp_path / "out", format="csv", schema="i int, t string", name="again")
    assert sorted(hr.collect(again).rows()) == list(enumerate(texts))


@pytest.mark.filterwarnings("ignore:.* failed and:RuntimeWarning")
def test_commas_of_decimals_as_the_documentation_has_them(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["9,5", "1.234,50", "9.5"]
    (tmp_path / "1.csv").write_text("a\n" + "".join(f'"{text}"\n' for text in texts), encoding="utf-8")
    (tmp_path / "1.json").write_text("".join(f'{{"a": "{text}"}}\n' for text in texts), encoding="utf-8")

    def values(stream: hr.Stream) -> list[str]:
        return [str(value) for (value,) in hr.collect(stream).rows()]

    for format in ("csv", "json"):

        def read(type: str, format: str = format, **options: str) -> hr.Stream:
            return hr.read.files(tmp_path / f"1.{format}", format=format, schema=f"a {type}", name="rows", options=options)

        assert values(read("decimal(10,2)")) == ["95.00", "1.23", "9.50"]
        assert values(read("decimal(10,2)", locale="de-DE")) == ["9.50", "1234.50", "95.00"]
        assert values(read("string").with_columns(a="CAST(replace(a, ',', '.') AS decimal(10,2))")) == ["9.50", "9.50"]
        assert hr.collect(read("int")).rows() == []
    assert values(hr.read.files(tmp_path / "1.csv", format="csv", schema="a double", name="rows")) == ["9.5"]


@pytest.mark.full
@pytest.mark.parametrize("format", ["orc", "avro"])
def test_partition_folders(format: str, spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.read.memory([("a", 1, 7), ("b", 2, 8), ("a", 3, 9)], "k string, n int, day int", name="rows")
    job = hr.job("write", rows.write.files(tmp_path / "out", format=format, partition_by=["day", "k"], name="out"))
    job.run(checkpoint=tmp_path / "c1", progress=False)
    read_rows = spark.read.format(CLASS[format]).load(str(tmp_path / "out")).select("k", "n", "day").collect()
    assert sorted(map(tuple, read_rows)) == [("a", 1, 7), ("a", 3, 9), ("b", 2, 8)]
    again = hr.read.files(tmp_path / "out", format=format, schema="k string, n int, day int", name="again")
    assert sorted(hr.collect(again).rows()) == [("a", 1, 7), ("a", 3, 9), ("b", 2, 8)]


@pytest.mark.full
@pytest.mark.parametrize("format", ["orc", "avro"])
def test_letters_say_which_row_of_which_file(format: str, spark: SparkSession, tmp_path: Path) -> None:
    for number in (1, 2):
        frame = spark.range(0, 5000, 1, 1).selectExpr("id AS n", f"IF(id = 4321, 0, id + {number}) AS v")
        frame.write.format(CLASS[format]).save(str(tmp_path / f"frame{number}"))
        [file] = (tmp_path / f"frame{number}").glob(f"*.{format}")
        (tmp_path / "in").mkdir(exist_ok=True)
        file.rename(tmp_path / "in" / f"{number}.{format}")
    rows = hr.read.files(tmp_path / "in", format=format, schema="n bigint, v bigint", name="rows", files_per_epoch=1)
    job = hr.job("divide", rows.select("n", q="1 / v").filter("n < 3").write.memory(name="out"))
    job.run(checkpoint=tmp_path / "checkpoint", progress=False)
    letters = [(row[5].rpartition("/")[2], row[6], row[7]) for row in hr.letters(tmp_path / "checkpoint").table().rows()]
    assert letters == [(f"{number}.{format}", 4321, '{"n":4321,"v":0}') for number in (1, 2)]
