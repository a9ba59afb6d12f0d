"""Every function of Spark, printed as text, read again and evaluated.

A query over many of them is lifted, which refuses what does not come back from its text as it was; what the lifted tree gives is then
compared with what Spark's batch engine answers to the query itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.functions import lit

from headrace.jvm.session import jvm
from tests.spark.lift.functions import SETTINGS, Use, refusals, table, uses
from tests.spark.lift.lifting import lift
from tests.spark.lift.rebuilt import Rebuilt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

USES = uses()
CHUNK = 60

# Generated code would have to be compiled for each chunk; what is said here of texts is the same without.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="module")
def t(spark: SparkSession) -> Iterator[DataFrame]:
    before = {name: spark.conf.get(name, None) for name in SETTINGS | _INTERPRETED}
    for name, value in (SETTINGS | _INTERPRETED).items():
        spark.conf.set(name, value)
    yield table(spark)
    spark.catalog.dropTempView("t")
    for name, old in before.items():
        spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def test_every_function_of_spark_is_here(spark: SparkSession) -> None:
    known = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    written = {use.name for use in itertools.chain(*USES.values(), refusals()["functions"])}
    assert known - written == set(), "functions of this Spark that functions.txt and refused.txt do not have"
    assert {use.name for use in itertools.chain(*USES.values())} - known == set(), "functions.txt has names that are no functions of Spark"


@pytest.mark.full
def test_a_word_of_the_grammar_that_is_printed_as_it_is_means_a_column(spark: SparkSession) -> None:
    vocabulary = jvm(spark).org.apache.spark.sql.catalyst.parser.SqlBaseLexer.VOCABULARY
    literals = (vocabulary.getLiteralName(token) for token in range(vocabulary.getMaxTokenType() + 1))
    words = [literal.strip("'") for literal in literals if literal and literal.strip("'").isidentifier()]
    plain = [word for word in words if jvm(spark).headrace.lift.DistinctNames.quoted(word) == word]
    assert len(words) > len(plain) > 300
    strict = ("spark.sql.ansi.enabled", "spark.sql.ansi.enforceReservedKeywords")
    before = {name: spark.conf.get(name, None) for name in strict}
    try:
        for name in strict:
            spark.conf.set(name, "true")
        columns = spark.range(1).select(*(lit(1).alias(word) for word in plain))
        assert columns.selectExpr(*plain).dtypes == columns.dtypes
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


@pytest.mark.parametrize("section", ["rows", "aggregates", "distinct", "windows"])
def test_what_is_printed_means_the_same(spark: SparkSession, t: DataFrame, section: str) -> None:
    for chunk in chunks(USES[section]):
        query = together(chunk)
        original, got = spark.sql(query), rebuilt(spark, t, query)
        assert different(chunk, types(original), types(got)) == []
        assert different(chunk, columns(original), columns(got)) == []


@pytest.mark.full
def test_rows_that_are_made_are_the_same(spark: SparkSession, t: DataFrame) -> None:
    """Generators and whole queries, each a part of one union: its text, a row and the type of the row."""
    queries = [f"SELECT {use.text} FROM t" for use in USES["generators"]] + [use.text for use in USES["queries"]]
    parts = [
        f"SELECT {k} AS k, CAST(struct(*) AS STRING) AS r, typeof(struct(*)) AS kind FROM ({query})" for k, query in enumerate(queries)
    ]
    query = " UNION ALL ".join(parts)
    original, got = (sorted(frame.collect(), key=repr) for frame in (spark.sql(query), rebuilt(spark, t, query)))
    assert {row[0] for row in original} == set(range(len(queries))), "each gives a row"
    assert got == original


@pytest.mark.parametrize(
    "setting",
    [
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
        {"spark.sql.session.timeZone": "America/New_York"},
    ],
    ids=["without_ansi", "without_zone", "another_zone"],
)
def test_printed_under_other_settings(spark: SparkSession, t: DataFrame, setting: dict[str, str]) -> None:
    for section in ("rows", "aggregates", "windows"):
        for chunk in chunks(USES[section]):
            assert lifted(spark, t, together(chunk), **setting)


@pytest.mark.parametrize("call", ["now(9)", "current_timestamp(9)", "localtimestamp(9)"])
def test_clocks_of_nanoseconds_are_refused(spark: SparkSession, t: DataFrame, call: str) -> None:
    answer = lift(spark, f"SELECT {call} FROM t", {"t": "i INT"})
    assert answer["refused"]["what"] == f"{call.removesuffix('9)')}), which reads the current time,"


_NUMBERS = ["{} + {}", "{} - {}", "{} * {}", "{} % {}", "-{}", "+{}", "abs({})", "CAST({} AS BIGINT)", "{}::int", "try_add({}, 1)"]
_WHOLE = ["{} DIV {}", "{} & {}", "{} | {}", "{} ^ {}", "~{}", "{} << 2", "{} >> 1", "{} >>> 1"]
_FRACTIONS = ["{} / {}"]
_TESTS = [
    "{} = {}",
    "{} <=> {}",
    "{} <> {}",
    "{} < {}",
    "{} IN ({}, 2)",
    "{} BETWEEN {} AND 3",
    "{} NOT BETWEEN 1 AND {}",
    "{} IS DISTINCT FROM {}",
]
_TRUTHS = [
    "{} AND {}",
    "{} OR {}",
    "NOT {}",
    "{} IS NULL",
    "{} <=> {}",
    "if({}, {}, b)",
    "{} IN ({}, true)",
    "CASE WHEN {} THEN i ELSE 1 END = 1",
]


def test_one_inside_the_other(spark: SparkSession, t: DataFrame) -> None:
    """Each operator within each other: a text without the brackets that it needs would come back as something else, and be refused."""
    texts = [
        *nested(_NUMBERS + _WHOLE + _FRACTIONS + _TESTS, _NUMBERS + _WHOLE, "ti", "i"),
        *nested(_NUMBERS + _FRACTIONS + _TESTS, _FRACTIONS, "ti", "i"),
        *nested(_TRUTHS, _TESTS, "b", "i"),
        *nested(_TRUTHS, _TRUTHS, "b", "true"),
    ]
    assert len(texts) > 800
    for chunk in chunks([Use("", text) for text in texts], 150):
        assert lifted(spark, t, together(chunk))


def nested(outer: Sequence[str], inner: Sequence[str], beside: str, within: str) -> Iterator[str]:
    """Each inner text in each place of each outer one; `beside` is in the other places, `within` inside."""
    for text, part in itertools.product(outer, inner):
        filled = f"({part.format(*[within] * part.count('{}'))})"
        count = text.count("{}")
        for here in range(count):
            yield text.format(*(filled if place == here else beside for place in range(count)))


def chunks(all: Sequence[Use], size: int = CHUNK) -> list[Sequence[Use]]:
    return [all[start : start + size] for start in range(0, len(all), size)]


def together(chunk: Sequence[Use]) -> str:
    return f"SELECT {', '.join(f'{use.text} AS c{k}' for k, use in enumerate(chunk))} FROM t"


def lifted(spark: SparkSession, t: DataFrame, query: str, **settings: str) -> dict[str, object]:
    answer = lift(spark, query, {"t": t._jdf.schema().toDDL()}, **settings)
    assert "tree" in answer, answer
    tree: dict[str, object] = answer["tree"]
    return tree


def rebuilt(spark: SparkSession, t: DataFrame, query: str) -> DataFrame:
    return Rebuilt(spark, {"t": t}).frame(lifted(spark, t, query))


def types(frame: DataFrame) -> list[str]:
    """Asked of Spark itself, as PySpark does not know all of its types."""
    return [field.dataType().catalogString() for field in frame._jdf.schema().fields()]


def columns(frame: DataFrame) -> list[list[object]]:
    """The values of each column as text, which every type has."""
    rows = frame.selectExpr(*(f"CAST({name} AS STRING)" for name in frame._jdf.columns())).collect()
    return [sorted((row[k] for row in rows), key=repr) for k in range(len(rows[0]))]


def different(chunk: Sequence[Use], original: Sequence[object], got: Sequence[object]) -> list[tuple[str, object, object]]:
    return [(use.text, a, b) for use, a, b in zip(chunk, original, got, strict=True) if a != b]
