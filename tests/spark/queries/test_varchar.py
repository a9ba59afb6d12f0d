"""Columns of type varchar: strings of any length, as Spark reads them from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as t

import headrace as hr
from headrace.testing import Harness

ROWS = [("a", ["hello"], 1), ("a ", ["toolong"], 2), ("abcdef", None, 3)]
DDL = "c varchar(3), xs array<varchar(5)>, n int"
SCHEMAS = {
    "ddl": DDL,
    "pyspark": t.StructType(
        [t.StructField("c", t.VarcharType(3)), t.StructField("xs", t.ArrayType(t.VarcharType(5))), t.StructField("n", t.IntegerType())]
    ),
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_from_files(spark: SparkSession, tmp_path: Path, schema: Any) -> None:
    """What Spark answers over a table of these columns."""
    written = spark.createDataFrame(ROWS, "c string, xs array<string>, n int").coalesce(1)
    for form in ("json", "parquet"):
        written.write.format(form).save(str(tmp_path / form))
        spark.sql(f"CREATE TABLE {form}_table ({DDL}) USING {form} LOCATION '{tmp_path / form}'")
        try:
            query = "SELECT c, xs, n, length(c) AS l, c = 'a' AS e, CAST(c AS char(2)) AS d FROM {}"
            expected = sorted(tuple(row) for row in spark.sql(query.format(f"{form}_table")).collect())
        finally:
            spark.sql(f"DROP TABLE {form}_table")
        files = hr.read.files(str(tmp_path / form), format=form, schema=schema)
        assert sorted(hr.collect(hr.sql(query.format("files"), files=files)).rows()) == expected
        assert [row[3] for row in expected] == [1, 2, 6]


def test_from_memory(spark: SparkSession) -> None:
    rows = hr.read.memory(ROWS, DDL, name="rows")
    assert sorted(hr.collect(rows).rows()) == ROWS
    assert str(rows.schema.ddl) == "c string, xs array<string>, n int"


def test_rows_that_come_and_go(spark: SparkSession) -> None:
    class Last(hr.Program):
        c = hr.Value("varchar(2)")

        def on_event(self, e):
            self.c.set(e.c)
            hr.emit(c=self.c.get(), n=e.n)

    with Harness() as h:
        changing, added = h.source("changing", DDL, changes=True), h.source("added", DDL)
        sums = h.collect(changing.filter("c <> 'x'").group_by("c").agg(n="sum(n)"))
        last = h.collect(added.key_by("c").process(Last))
        h.commit({"changing": [("+", row) for row in ROWS], "added": [("+", row) for row in ROWS]})
        h.restart()
        h.commit({"changing": [("-", ROWS[2]), ("+", ("a", None, 5))]})
        assert sums.rows() == [("a", 6), ("a ", 2)]
        assert last.rows() == [("a", 1), ("a ", 2), ("abcdef", 3)]
