"""Rows that files and lakes cannot hold, among others: the others are all there, those are dead letters of each sink, and the next start goes on."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.connectors.files import Sink
from headrace.connectors.files.folders import for_spark
from headrace.errors import HeadraceError
from headrace.testing import Harness

SCHEMA = "id int, x binary, a binary, m binary, d date, t timestamp, p string"
ROWS = """
    SELECT int(id) AS id, x, a, m, d, t, p FROM VALUES
      (0, binary('ok'), binary('ok'), binary('ok'), date'2026-01-01', timestamp'2026-01-01 00:00:00', 'a'),
      (1, x'61ff', binary('ok'), binary('ok'), date'2026-01-01', timestamp'2026-01-01 00:00:00', 'a'),
      (2, binary('ok'), x'ff', binary('ok'), date'2026-01-01', timestamp'2026-01-01 00:00:00', 'a'),
      (3, binary('ok'), binary('ok'), x'eda080', date'2026-01-01', timestamp'2026-01-01 00:00:00', 'a'),
      (4, binary('ok'), binary('ok'), binary('ok'), date'2026-01-01', timestamp'2026-01-01 00:00:00', 'b\\0'),
      (5, binary('ok'), binary('ok'), binary('ok'), date'2026-01-01', timestamp'2026-01-01 00:00:00', repeat('é', 127)),
      (6, binary('ok'), binary('ok'), binary('ok'), date'2026-01-01', timestamp'2026-01-01 00:00:00', repeat('é', 126)),
      (7, binary('ok'), binary('ok'), binary('ok'), date'2026-01-01', timestamp'2026-01-01 00:00:00', repeat('/', 85)),
      (8, binary('é"\\n\\t%/='), binary('ü'), binary('ö'), date'1582-10-04', timestamp'0001-01-01 00:00:00', '. /=%\\n\\t"{}[]'),
      (9, binary('ok'), binary('ok'), binary('ok'), date'+10000-01-01', timestamp'2026-01-01 00:00:00', 'a'),
      (10, binary('ok'), binary('ok'), binary('ok'), date'9999-12-31', timestamp'0000-12-31 23:59:59', 'a')
    AS v(id, x, a, m, d, t, p)
"""
NOT_UTF8 = {1: "x has a string that is not UTF-8", 2: "a has a string that is not UTF-8", 3: "m has a string that is not UTF-8"}
NO_FOLDER = {
    4: "p has a string with a NUL character, which no folder's name can have",
    5: "p gives a folder name of 256 bytes; the limit is 255",
    7: "p gives a folder name of 257 bytes; the limit is 255",
}
FAR = {9: "d has a date outside the years 1 to 9999", 10: "t has a timestamp outside the years 1 to 9999"}
FORMATS = ("parquet", "json", "csv", "orc", "avro")
Read = Callable[[], list[int]]


def put(spark: SparkSession, folder: Path, sql: str, schema: str = SCHEMA) -> hr.Stream:
    if sql:
        spark.sql(sql).coalesce(1).write.mode("append").parquet(str(folder / "in"))
    return hr.read.files(folder / "in", format="parquet", schema=schema, name="rows")


def texts(rows: hr.Stream) -> hr.Stream:
    """Texts that are not UTF-8 come of bytes: a source has none."""
    nested = "array(named_struct('s', CAST(a AS string)))"
    return rows.select("id", x="CAST(x AS string)", a=nested, m="map('k', CAST(m AS string))", d="d", t="t", p="p")


def ids(folder: Path, format: str) -> Read:
    """The rows of a files sink; its text formats are read by nothing of Spark's."""

    def read() -> list[int]:
        files = hr.committed_files(folder)
        if format == "json":
            return [json.loads(line)["id"] for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        spark = hr.session()
        options = {"header": "true", "multiLine": "true"} if format == "csv" else {}
        names = [str(file).replace("\\", "\\\\") for file in files]
        numbers: list[int] = []
        for name in names:
            literal = "".join(f"\\{sign}" if sign in "{}[]*?\\" else sign for sign in name)
            numbers += [
                int(row["id"]) for row in spark.read.format(for_spark(format)).options(**options).load(literal).select("id").collect()
            ]
        return numbers

    return read


def delta(folder: Path) -> list[int]:
    from deltalake import DeltaTable

    return list(DeltaTable(str(folder)).to_pyarrow_table()["id"].to_pylist())


def iceberg(catalog: dict[str, str], table: str) -> list[int]:
    from pyiceberg.catalog import load_catalog

    return list(load_catalog("default", **catalog).load_table(table).scan().to_arrow()["id"].to_pylist())


def dead(checkpoint: Path) -> dict[str, dict[int, str]]:
    reasons: dict[str, dict[int, str]] = defaultdict(dict)
    for row in hr.letters(checkpoint).table().rows():
        reasons[row[3]][json.loads(row[7])["id"]] = row[4]
    return dict(reasons)


@pytest.mark.full
def test_files_and_lakes(spark: SparkSession, tmp_path: Path) -> None:
    rows = texts(put(spark, tmp_path, ROWS))
    flat = rows.drop("a", "m")
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": str(tmp_path / "warehouse")}
    sinks: list[Any] = []
    read: dict[str, Read] = {}
    lost: dict[str, dict[int, str]] = {}

    def add(sink: Any, name: str, reader: Read, refused: dict[int, str]) -> None:
        sinks.append(sink)
        read[name], lost[name] = reader, refused

    for format in FORMATS:
        stream, wrong = (flat, {1: NOT_UTF8[1]}) if format == "csv" else (rows, NOT_UTF8)
        for name, by, more in ((format, (), {}), (f"{format}-by", ("p",), NO_FOLDER)):
            sink = stream.write.files(tmp_path / name, format=format, partition_by=by, name=name)
            add(sink, name, ids(tmp_path / name, format), wrong | more)
    ways: dict[str, tuple[dict[str, Any], dict[int, str]]] = {"": ({}, {}), "-by": ({"partition_by": "p"}, NO_FOLDER)}
    ways |= {"-days": ({"partition_by": ["d", "t"]}, {}), "-key": ({"key": "id"}, {})}
    for way, (options, more) in ways.items():
        name = f"delta{way}"
        wrong = NOT_UTF8 | FAR | more
        add(rows.write.delta(tmp_path / name, name=name, **options), name, partial(delta, tmp_path / name), wrong)
        if way != "-key":
            name, table = f"iceberg{way}", f"db.t{way.replace('-', '_')}"
            add(rows.write.iceberg(table, catalog=catalog, name=name, **options), name, partial(iceberg, catalog, table), wrong)

    job = hr.job("bad", *sinks)
    summary = job.run(checkpoint=tmp_path / "ck", progress=False, flush=False)
    reasons = dead(tmp_path / "ck")
    assert {name: reasons.get(name, {}) for name in lost} == lost
    assert sum(summary.dead_letters.values()) == sum(map(len, lost.values()))
    assert {name: sorted(ids()) for name, ids in read.items()} == {name: [id for id in range(11) if id not in lost[name]] for name in read}
    put(spark, tmp_path, ROWS.replace("int(id)", "int(id) + 20"))
    job.run(checkpoint=tmp_path / "ck", progress=False, flush=False)
    assert {name: len(ids()) for name, ids in read.items()} == {name: 2 * (11 - len(lost[name])) for name in read}


def test_rows_that_a_table_refuses_are_not_counted_as_written(tmp_path: Path) -> None:
    """Nor are those that tasks put aside, which they never staged."""
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (id int CHECK (id <> 2), x double)")
    rows = hr.read.memory([(1, 1.0), (2, 1.0), (3, 1.0), (4, float("nan"))], "id int, x double", name="rows")
    job = hr.job("bad", rows.write.jdbc(f"sqlite:{tmp_path / 't.db'}", "t", name="out"))
    summary = job.run(checkpoint=tmp_path / "ck", progress=False)
    assert sqlite3.connect(tmp_path / "t.db").execute("SELECT id FROM t ORDER BY id").fetchall() == [(1,), (3,)]
    assert (dict(summary.sinks), sum(summary.dead_letters.values())) == ({"out": 2}, 2)


def test_an_epoch_that_comes_again(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = texts(put(spark, tmp_path, ROWS))
    job = hr.job("bad", rows.write.files(tmp_path / "out", format="json", partition_by="p", name="out"))

    def cut(self: Sink, epoch: int, staged: Any) -> None:
        raise OSError("the plug is out")

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "commit", cut)
        with pytest.raises(HeadraceError, match="the plug is out"):
            job.run(checkpoint=tmp_path / "ck", progress=False)
    summary = job.run(checkpoint=tmp_path / "ck", progress=False)
    assert sorted(ids(tmp_path / "out", "json")()) == [0, 6, 8, 9, 10]
    assert len(hr.letters(tmp_path / "ck").table().rows()) == sum(summary.dead_letters.values()) == 6


def test_a_job_that_is_to_fail(spark: SparkSession, tmp_path: Path) -> None:
    rows = texts(put(spark, tmp_path, ROWS))

    def job(what: str) -> hr.Job:
        return hr.job("bad", rows.write.files(tmp_path / "out", format="json", partition_by="p", name="out", on_refused=what))

    with pytest.raises(HeadraceError, match="ROW_REFUSED: out: "):
        job("fail").run(checkpoint=tmp_path / "ck", progress=False)
    assert hr.committed_files(tmp_path / "out") == [] and hr.letters(tmp_path / "ck").table().rows() == []
    job("dead_letter").run(checkpoint=tmp_path / "ck", progress=False)
    assert sorted(ids(tmp_path / "out", "json")()) == [0, 6, 8, 9, 10]


def test_rows_that_would_replace_others(spark: SparkSession, tmp_path: Path) -> None:
    """Without the row that cannot be written its key is gone; when that row goes nothing is missing."""
    with Harness() as h:
        source = h.source("s", "k string, n int, b binary", changes=True)
        h._sinks.append(source.select("k", "n", x="CAST(b AS string)").write.delta(tmp_path / "t", key="k", name="out")._use())

        def there() -> list[tuple[str, int]]:
            from deltalake import DeltaTable

            return sorted((row["k"], row["n"]) for row in DeltaTable(str(tmp_path / "t")).to_pyarrow_table().to_pylist())

        h.commit({"s": [("+", ("a", 1, b"x")), ("+", ("b", 1, b"x")), ("+", ("c", 1, b"\xff"))]})
        assert there() == [("a", 1), ("b", 1)]
        h.commit({"s": [("-", ("a", 1, b"x")), ("+", ("a", 2, b"\xff"))]})
        assert there() == [("b", 1)]
        h.restart()
        h.commit({"s": [("-", ("a", 2, b"\xff")), ("+", ("a", 3, b"x")), ("-", ("c", 1, b"\xff"))]})
        assert there() == [("a", 3), ("b", 1)]


@pytest.mark.full
def test_a_path_that_is_too_long(spark: SparkSession, tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(20)]
    columns = ", ".join(f"repeat('x', IF(id = 1, 250, 10)) AS {name}" for name in names)
    schema = f"id int, {', '.join(f'{name} string' for name in names)}"
    rows = put(spark, tmp_path, f"SELECT int(id) AS id, {columns} FROM VALUES (0), (1) AS v(id)", schema)
    hr.job("bad", rows.write.files(tmp_path / "out", format="parquet", partition_by=names, name="out")).run(
        checkpoint=tmp_path / "ck", progress=False
    )
    assert ids(tmp_path / "out", "parquet")() == [0]
    (reason,) = dead(tmp_path / "ck")["out"].values()
    assert reason.startswith("the columns of partition_by give a path of ") and reason.endswith(" bytes; the limit is 4095")
    assert not [name for _, _, files in os.walk(tmp_path / "out" / "_headrace" / "staging") for name in files]
