"""What a user reads of a query that is refused, whole: what, where, and what to write instead. And the page that lists it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tools import refused_table

import headrace as hr
from headrace.errors import PlanError
from headrace.ops.stream import Stream
from headrace.ops.tables import Table
from tests.spark.lift.functions import Refusal, refusals
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIFT = refused_table.PAGE.parents[2] / "src" / "headrace" / "kernel" / "lift"
ALL = refusals()
QUERIES = [refusal for section in ("constructs", "functions", "queries that Spark refuses") for refusal in ALL[section]]

# Cures of guards: Spark itself refuses what would reach them, or no query is known that does.
GUARDS = {"write the number", "join the two tables instead", "use SELECT, JOIN, GROUP BY, window functions and set operations"}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, Stream | Table]]:
    """Two streams, a table outside, and what only the session knows."""
    from pyspark.sql.functions import udtf

    class Rows:
        def eval(self, x: int) -> Iterator[tuple[int]]:
            yield (x,)

    spark.udf.register("python_udf", lambda x: x + 1, "int")
    spark.udtf.register("python_udtf", udtf(Rows, returnType="n int"))
    spark.sql("DECLARE VARIABLE best INT DEFAULT 5")
    spark.range(3).createOrReplaceTempView("view_of_the_session")
    columns = "i int, s string, bin binary, ts timestamp, xs array<int>, st struct<a: int>, v variant"
    yield {
        "t": hr.read.memory([], columns, name="t").watermark("ts", "5 minutes"),
        "u": hr.read.memory([], "id int, w bigint", name="u"),
        "k": hr.lookup.memory([], "id int, name string", name="k"),
    }
    spark.catalog.dropTempView("view_of_the_session")
    for kind, name in [("FUNCTION", "python_udf"), ("FUNCTION", "python_udtf"), ("VARIABLE", "best")]:
        spark.sql(f"DROP TEMPORARY {kind} {name}")


@pytest.mark.parametrize("refusal", QUERIES, ids=lambda refusal: refusal.text)
def test_a_query(tables: dict[str, Stream | Table], refusal: Refusal) -> None:
    with pytest.raises(PlanError) as raised:
        hr.sql(refusal.query, **tables)
    assert (raised.value.code, raised.value.message, raised.value.hint or "") == ("BAD_QUERY", refusal.message, refusal.hint)


@pytest.mark.parametrize("refusal", ALL["DataFrames"], ids=lambda refusal: refusal.text)
def test_a_dataframe(spark: SparkSession, tables: dict[str, Stream | Table], refusal: Refusal) -> None:
    from pyspark.sql import Column, Observation
    from pyspark.sql import functions as F

    def array_to_vector(name: str) -> Column:
        """A function of Scala, as Spark's own library has one."""
        return Column(spark._jvm.org.apache.spark.ml.functions.array_to_vector(F.col(name).cast("array<double>")._jc))

    names = {name: stream.as_dataframe() for name, stream in tables.items() if isinstance(stream, Stream)}
    frame = eval(refusal.text, {**names, "F": F, "spark": spark, "Observation": Observation, "array_to_vector": array_to_vector})
    with pytest.raises(PlanError) as raised:
        hr.from_dataframe(frame)
    assert (raised.value.code, raised.value.message, raised.value.hint) == ("BAD_QUERY", refusal.message, refusal.hint)


def test_the_error_as_it_is_printed(tables: dict[str, Stream | Table]) -> None:
    check_error(
        """
        BAD_QUERY: rand(), which returns another value each time, cannot be kept up to date at line 2, column 10: `rand() AS chance`
          at test_refused.py:*: lambda: hr.sql("SELECT i,\\n         rand() AS chance\\nFROM t", **tables),
          hint: take the value from a column: a retraction must have the value of its insertion
          more: headrace error BAD_QUERY
        """,
        lambda: hr.sql("SELECT i,\n         rand() AS chance\nFROM t", **tables),
    )


def test_a_function_that_spark_does_not_have(tables: dict[str, Stream | Table]) -> None:
    check_error(
        """
        UNKNOWN_FUNCTION: Spark has no function `nosuch` at line 1, column 11: `nosuch(i) FROM t`
          at test_refused.py:*: lambda: hr.sql("SELECT i, nosuch(i) FROM t", **tables),
          hint: if it is your own function, register it on the session before you build the job: spark.udf.registerJavaFunction(name, class), for an aggregate spark.udf.registerJavaUDAF(name, class)
          more: headrace error UNKNOWN_FUNCTION
        """,
        lambda: hr.sql("SELECT i, nosuch(i) FROM t", **tables),
    )


def test_every_cure_of_the_code_is_shown() -> None:
    cures = set(re.findall(r'val \w+ = "(.*)"', (LIFT / "Cures.scala").read_text(encoding="utf-8")))
    for file in LIFT.glob("*.scala"):
        cures |= set(re.findall(r'Refused\(s?"[^"]*", "([^"]*)"', file.read_text(encoding="utf-8")))
    shown = {refusal.hint for section in ALL.values() for refusal in section}
    assert cures - shown == GUARDS


def test_the_page_is_up_to_date() -> None:
    assert refused_table.PAGE.read_text(encoding="utf-8") == refused_table.text(), "write it again: make generated"
