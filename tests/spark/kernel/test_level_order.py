"""The order-preserving bytes of rows against Spark's own ordering, over random values of every type."""

from __future__ import annotations

import itertools
import random
import struct
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORDS = [
    "''",
    "'a'",
    "'A'",
    "'b'",
    "'ab'",
    "'a '",
    "'ä'",
    "'Ä'",
    "'z'",
    "'日本'",
    "'\\u0000'",
    "'a\\u0000'",
    "'a\\u0000b'",
    "'a\\u0001'",
    "'😀'",
]
FLOATS = ["0.0", "-0.0", "1.5", "-1.5", "'NaN'", "'Infinity'", "'-Infinity'", "1e-40", "-1e-40", "3e38", "-3e38"]
BYTES = ["X''", "X'00'", "X'0000'", "X'0001'", "X'01'", "X'00FF'", "X'FF'", "X'FF00'", "X'7F'", "X'80'"]


def number(low: int, high: int) -> list[str]:
    rng = random.Random(1)
    return [str(n) for n in (low, high, 0, 1, -1, *(rng.randint(low, high) for _ in range(20)))]


def decimals(digits: int, scale: int) -> list[str]:
    """The ends of the type, values beside them, and random ones of every length."""
    rng = random.Random(3)
    ends = [10**digits - 1, 10**digits - 2, 0, 1]
    numbers = [*ends, *(rng.randrange(10 ** rng.randint(1, digits)) for _ in range(20))]
    return [f"'{sign}{n // 10**scale}.{n % 10**scale:0{scale}d}'" if scale else f"'{sign}{n}'" for n in numbers for sign in ("", "-")]


def strings() -> list[str]:
    """Random words of a few letters, so that many begin alike."""
    rng = random.Random(4)
    return ["'" + "".join(rng.choices("aAbä\U0001f600\ufffd", k=rng.randrange(6))) + "'" for _ in range(60)]


def binaries() -> list[str]:
    rng = random.Random(5)
    return ["X'" + bytes(rng.choices([0, 1, 2, 127, 128, 255], k=rng.randrange(6))).hex() + "'" for _ in range(60)]


def doubles() -> list[str]:
    """Random bits: every size of number, and several NaN."""
    rng = random.Random(6)
    return [f"'{struct.unpack('d', rng.randbytes(8))[0]!r}'" for _ in range(60)]


def texts(of: str) -> list[str]:
    return [f"CAST({v} AS {of})" for v in VALUES[of]]


VALUES: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": number(-128, 127),
    "SMALLINT": number(-32768, 32767),
    "INT": number(-(2**31) + 1, 2**31 - 1),
    "BIGINT": number(-(2**63) + 1, 2**63 - 1),
    "FLOAT": FLOATS,
    "DOUBLE": [*FLOATS, "1.7e308", "-5e-324", *doubles()],
    "DECIMAL(18,0)": decimals(18, 0),
    "DECIMAL(18,18)": decimals(18, 18),
    "DECIMAL(19,0)": decimals(19, 0),
    "DECIMAL(38,0)": decimals(38, 0),
    "DECIMAL(38,37)": decimals(38, 37),
    "DECIMAL(10,2)": ["0", "1.25", "-1.25", "99999999.99", "-99999999.99", "0.01", "-0.01"],
    "DECIMAL(38,10)": [
        "0",
        "1.25",
        "-1.25",
        "9999999999999999999999999999.99BD",
        "-9999999999999999999999999999.99BD",
        "0.0000000001BD",
        "-0.0000000001BD",
        "256",
        "-256",
    ],
    "STRING": [*WORDS, *strings()],
    "CHAR(3)": ["'a'", "'ab'", "''", "'a b'"],
    "VARCHAR(5)": ["'a'", "'ab '", "''", "'a b'", "'ab'"],
    "STRING COLLATE UTF8_LCASE": WORDS,
    "STRING COLLATE UNICODE": WORDS,
    "STRING COLLATE UNICODE_CI": [*WORDS, *strings()],
    "STRING COLLATE UNICODE_AI": WORDS,
    "STRING COLLATE UNICODE_RTRIM": WORDS,
    "STRING COLLATE de_CI": WORDS,
    "STRING COLLATE UTF8_BINARY_RTRIM": WORDS,
    "BINARY": [*BYTES, *binaries()],
    "DATE": ["'2026-01-01'", "'1969-12-31'", "'0001-01-01'", "'9999-12-31'"],
    "TIMESTAMP": ["'2026-01-01 00:00:00'", "'1969-12-31 23:59:59.999999'", "'0001-01-01 00:00:00'", "'9999-12-31 00:00:00'"],
    "TIMESTAMP_NTZ": ["'2026-01-01 00:00:00'", "'1969-12-31 23:59:59.999999'", "'1970-01-01 00:00:00'"],
    "TIME": ["'00:00:00'", "'12:34:56.789'", "'23:59:59.999999'"],
    "INTERVAL YEAR TO MONTH": ["INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '-1-2' YEAR TO MONTH", "INTERVAL '0-0' YEAR TO MONTH"],
    "TIME(3)": ["'00:00:00'", "'12:34:56.789'", "'23:59:59.999'"],
    "INTERVAL MONTH": ["INTERVAL '5' MONTH", "INTERVAL '-5' MONTH", "INTERVAL '0' MONTH", "INTERVAL '300' MONTH"],
    "INTERVAL HOUR": ["INTERVAL '5' HOUR", "INTERVAL '-5' HOUR", "INTERVAL '0' HOUR", "INTERVAL '300' HOUR"],
    "INTERVAL DAY TO SECOND": [
        "INTERVAL '1 02:03:04' DAY TO SECOND",
        "INTERVAL '-1 02:03:04' DAY TO SECOND",
        "INTERVAL '0 00:00:00' DAY TO SECOND",
    ],
    "ARRAY<INT>": ["array()", "array(1)", "array(1, 2)", "array(1, null)", "array(null, 1)", "array(-1, 5)", "array(2)", "array(null)"],
    "ARRAY<STRING>": ["array()", "array('')", "array('a', 'b')", "array('ab')", "array('a')", "array('a', null)"],
    "ARRAY<ARRAY<INT>>": [
        "array()",
        "array(array())",
        "array(array(), array())",
        "array(array(1))",
        "array(array(1), array())",
        "array(array(1, 2))",
        "array(array(null))",
        "array(CAST(null AS ARRAY<INT>))",
        "array(array(), array(1))",
    ],
    "ARRAY<STRUCT<a: STRING, b: DECIMAL(38,2)>>": [
        "array()",
        *(f"array(named_struct('a', {a}, 'b', {b}))" for a in ("'x'", "''", "null") for b in ("1", "-1", "null")),
        "array(named_struct('a', 'x', 'b', 1), named_struct('a', null, 'b', null))",
    ],
    "ARRAY<STRING COLLATE UTF8_LCASE>": ["array()", "array('A')", "array('a')", "array('a', 'B')", "array('A', 'b')", "array('aB')"],
    "STRUCT<a: INT, b: STRING>": [
        f"named_struct('a', {a}, 'b', {b})" for a in ("1", "null", "-1") for b in ("'x'", "null", "''", "'x\\u0000'")
    ],
    "STRUCT<a: ARRAY<DOUBLE>, b: STRUCT<c: BINARY>>": [
        f"named_struct('a', {a}, 'b', named_struct('c', {c}))"
        for a in ("array(1D)", "array(-0.0D)", "array(0.0D, null)", "null")
        for c in ("X'00'", "X''", "null")
    ],
}


def encoded(spark: SparkSession, frame: Any) -> list[tuple[bytes, Any]]:
    jvm: Any = spark._jvm
    plan = frame._jdf.queryExecution()
    key = jvm.headrace.wire.OrderKey(plan.analyzed().schema())
    pairs = []
    for row in plan.executedPlan().executeCollect():
        to = jvm.headrace.wire.OrderBytes()
        key.columnsOf(row, to)
        pairs.append((bytes(to.toArray()), row))
    return pairs


def same_as_spark(spark: SparkSession, frame: Any) -> None:
    jvm: Any = spark._jvm
    fields = frame._jdf.queryExecution().analyzed().schema().fields()
    types = jvm.java.util.ArrayList([f.dataType() for f in fields])
    ordering = jvm.org.apache.spark.sql.catalyst.expressions.InterpretedOrdering.forSchema(
        jvm.scala.jdk.javaapi.CollectionConverters.asScala(types).toSeq()
    )
    pairs = sorted(encoded(spark, frame), key=lambda pair: pair[0])
    for (a, left), (b, right) in itertools.pairwise(pairs):
        sign = ordering.compare(left, right)
        assert sign <= 0 and (sign == 0) == (a == b), (left.toString(), right.toString(), a, b, sign)


@pytest.mark.parametrize("of", list(VALUES))
def test_bytes_are_in_sparks_order(spark: SparkSession, of: str) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    values = [*texts(of), f"CAST(NULL AS {of})"]
    random.Random(of).shuffle(values)
    same_as_spark(spark, spark.sql("SELECT * FROM VALUES " + ", ".join(f"({v})" for v in values) + " AS t(c)"))


def test_a_column_of_nulls_alone_orders_nothing(spark: SparkSession) -> None:
    same_as_spark(spark, spark.sql("SELECT * FROM VALUES (NULL, 2), (NULL, 1), (NULL, NULL) AS t(a, b)"))


def test_rows_of_several_columns_are_in_sparks_order(spark: SparkSession) -> None:
    rng = random.Random(7)
    of = ["STRING", "DOUBLE", "BINARY", "DECIMAL(10,2)", "ARRAY<STRING>", "INT"]
    few = {t: [f"CAST(NULL AS {t})", *rng.sample(texts(t), 3)] for t in of}
    rows = [", ".join(rng.choice(few[t]) for t in of) for _ in range(150)]
    same_as_spark(spark, spark.sql("SELECT * FROM VALUES " + ", ".join(f"({r})" for r in rows)))


def test_types_without_an_order_are_told_apart_by_their_content(spark: SparkSession) -> None:
    frame = spark.sql(
        """SELECT map('a', 1, 'b', 2), parse_json('{"x": 1, "y": 2}'), make_interval(1, 2) UNION ALL
           SELECT map('b', 2, 'a', 1), parse_json('{"y": 2, "x": 1}'), make_interval(1, 2) UNION ALL
           SELECT map('a', 1, 'b', 3), parse_json('{"x": 1, "y": 2}'), make_interval(1, 2) UNION ALL
           SELECT map('a', 1, 'b', 2), parse_json('{"x": 1, "y": "2"}'), make_interval(1, 2) UNION ALL
           SELECT map('a', 1, 'b', 2), parse_json('{"x": 1, "y": 2}'), make_interval(1, 3)"""
    )
    keys = [key for key, _ in encoded(spark, frame)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4
