"""Every function of Spark over rows for which it fails: what it gives for the others, and for the failing row again, is what code gives
that has never failed.

The rows have one odd value each, the texts are those of `functions.txt` and some whose formats are columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.jvm.packages import attach
from headrace.jvm.session import jvm
from headrace.packages import Packages
from tests.scale import FULL
from tests.spark.lift.functions import COLUMNS, SETTINGS, table, uses

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ODD = {
    "string": [
        f"'{text}'"
        for text in [
            "",
            "x",
            "[",
            "(",
            "a:1,a:2",
            "a:1,b",
            '{"a":1,"a":2}',
            "{",
            "9999-99-99",
            "$.",
            "%",
            "yyyy-qqq",
            "#.#.#",
            "<p><a>",
            "-5",
            "12:00",
            "http://[",
        ]
    ],
    "tinyint": ["0", "-128", "127"],
    "int": ["0", "-1", "-2147483648", "100"],
    "bigint": ["0", "-1", "9223372036854775807"],
    "float": ["0", "float('NaN')", "1e38"],
    "double": ["0", "double('NaN')", "1e308"],
    "decimal(10,2)": ["0", "99999999.99"],
    "binary": ["X''", "X'FF'"],
    "date": ["'0001-01-01'", "'9999-12-31'"],
    "timestamp": ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"],
    "timestamp_ntz": ["'9999-12-31 23:59:59.999999'"],
    "interval year to month": ["INTERVAL '178956970-7' YEAR TO MONTH"],
    "interval day to second": ["INTERVAL '106751991 04:00:54.775807' DAY TO SECOND"],
    "interval": ["make_interval(100000000)"],
    "array<int>": ["array()", "array(NULL)", "array(1, 1)", "array(0)", "array(2147483647, 1)"],
    "array<string>": ["array()", "array('p', 'p')", "array(NULL, 'a')"],
    "array<float>": ["array()", "array(0F, 0F)"],
    "array<array<int>>": ["array()", "array(NULL)"],
    "array<struct<k: string, w: int>>": ["array(('p', 1), ('p', 2))", "array(('p', 1), (NULL, 2))", "array(NULL)"],
    "map<string, int>": ["map('c', 1, 'a', 2147483647)", "map('a b', 1)", "map('a', 0)"],
    "variant": ["parse_json('1')", "parse_json('null')", """parse_json('{"a": "x"}')"""],
}

KEEPING = """\
map(s, i, s2, l)
map('a', 1 / i, 'b', 2)
map('o', map(s, 1, 'x', 2))
map_from_arrays(ss, xs)
map_from_arrays(array(s, 'x'), array(1, 1 / i))
map_from_entries(es)
map_concat(m, map(s, 1))
str_to_map(s)
str_to_map(s, s2, s3)
transform_keys(m, (k, w) -> w)
transform_keys(m, (k, w) -> substr(k, 2))
transform(xs, e -> map(e, 1, 1, 2))
aggregate(xs, map('a', 1), (a, e) -> map_concat(a, map(CAST(e AS string), e)))
map_keys(map(s, 1, 'x', 2))
to_json(struct(IF(i = 3, NULL, nt) AS nt), map('timestampNTZFormat', 'VV'))
to_csv(struct(IF(i = 3, NULL, nt) AS nt), map('timestampNTZFormat', 'VV'))
to_xml(struct(s, m))
format_number(x, s)""".splitlines()
"""What keeps something of the row before, in Spark."""

OTHERS = """\
map_zip_with(m, m, (k, p, q) -> 1 / (p + q))
from_json(s, 'a int', map('mode', 'FAILFAST'))
from_csv(s, 'a int, b int', map('mode', 'FAILFAST'))
from_xml(s, 'a int', map('mode', 'FAILFAST'))
format_string(s, i)
date_format(ts, s)
to_timestamp(s, s2)
to_date(s, s2)
unix_timestamp(s, s2)
from_unixtime(l, s)
regexp_replace(s, s2, s3)
regexp_replace(s2, s, s3)
regexp_replace(s2, s3, s)
regexp_extract(s2, s, i)
regexp_extract_all(s2, s, i)
s2 RLIKE s
s2 LIKE s
split(s2, s)
split_part(s2, s, i)
translate(s, s2, s3)
from_utc_timestamp(ts, s)
convert_timezone(s, nt)
parse_url(s, s2)
aes_decrypt(bin, s)
reflect('java.lang.Integer', 'parseInt', s)
variant_get(v, '$.a', 'int')
CAST(v AS map<string, int>)
xpath(s, 'p/a/text()')
next_day(day, s)
url_decode(s)
encode(s, s2)
raise_error(s)
zip_with(xs, ys, (p, q) -> p / q)
array_sort(xs, (p, q) -> CAST(p / q AS int))""".splitlines()


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """The rows of the table, and its first one with each odd value of each column."""
    attach(spark, [Packages(scala=Path(__file__).parent / "scala", name="failing")])
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    usual = table(spark)
    odd = [(name, f"CAST({value} AS {kind})") for name, (kind, *_) in COLUMNS.items() for value in ODD.get(kind, [])]
    cases = {name: " ".join(f"WHEN {n} THEN {value}" for n, (of, value) in enumerate(odd) if of == name) for name in COLUMNS}
    one_odd = [f"CASE n {cases[name]} ELSE {name} END AS {name}" if cases.get(name) else name for name in usual.columns]
    yield usual.union(usual.limit(1).crossJoin(spark.range(len(odd)).withColumnRenamed("id", "n")).selectExpr(*one_odd)).localCheckpoint()
    spark.catalog.dropTempView("t")
    for name, old in before.items():
        spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def outcomes(spark: SparkSession, rows: DataFrame, texts: Sequence[str]) -> dict[str, Any]:
    array = spark._sc._gateway.new_array(jvm(spark).java.lang.String, len(texts))
    for n, text in enumerate(texts):
        array[n] = text
    return dict(zip(texts, jvm(spark).failing.Failing.outcomes(spark._jsparkSession, rows._jdf, array), strict=True))


def test_expressions_that_keep_something(spark: SparkSession, rows: DataFrame) -> None:
    results = outcomes(spark, rows, KEEPING)
    assert {text: one.difference() for text, one in results.items() if one.difference()} == {}
    assert [text for text, one in results.items() if one.failures() in ("0", "refused")] == [], "these fail for no row"


def test_all_functions(spark: SparkSession, rows: DataFrame) -> None:
    """At full scale all of them; else some."""
    texts = [use.text for use in uses()["rows"] if use.text != "v:a"] + OTHERS
    results = outcomes(spark, rows, texts if FULL else texts[::16])
    assert {text: one.difference() for text, one in results.items() if one.difference()} == {}
