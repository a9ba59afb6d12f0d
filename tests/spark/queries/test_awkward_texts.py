"""Conditions of joins mean in a verb what they mean in SQL, however they are written."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

import headrace as hr
from headrace.syntax import conjuncts, equal_sides
from headrace.testing import Harness

A = "k int, x string, n int, ts timestamp, xs array<int>, `p.q` string, w struct<end: int, in: string>, v double, day date"
B = "j int, y string, t string, at timestamp, `o``o` string, u double, m map<string, string>"

ROWS_A = [
    (1, "it's", 7, "2024-03-31 00:30:00", [1, 2], "é😀", (1, "a AND b"), 1.5, "2024-03-31"),
    (1, "its", 7, "2024-03-31 02:30:00", [1], "p.q", (2, "--"), 2.5, "2024-03-30"),
    (2, "a\\b", 42, "2024-07-01 12:00:00", [], "", (3, "/*"), -0.5, "2024-02-29"),
    (2, "a' AND 'b", 0, "1969-12-31 23:59:59", [2, 2], "k", (1, "="), 1e3, "2023-12-31"),
]
ROWS_B = [
    (1, "it's", "007", "2024-03-31 01:30:00", "é😀", 1.5, {"a": "1", "b": "2"}),
    (1, "2024-03-30", "7", "2024-03-31 02:30:00", "p.q", 0.4054651081081644, {}),
    (2, "a\\b", "042", "2024-07-01 14:00:00", "", 3.0, {"a": "1,b:2"}),
    (2, "a' AND 'b", " 000", "1970-01-01 00:59:59", "k", 1000.0, {"x": "y"}),
]

CONDITIONS = [
    "k = j AND x = 'it''s'",
    "k = j AND x = 'it' 's'",
    "k = j AND x = 'it\\'s'",
    'k = j AND x = "it\'s"',
    "k = j AND x = r'a\\b' AND y = 'a\\\\b'",
    "x = 'a\\' AND \\'b' AND y = x",
    "k = j AND to_char(n, '000') = t",
    "trim(to_char(n, '000')) = t",
    "lpad(n, 3, '0') = t AND k = j",
    "k = j AND v = 1.5BD",
    "k = j AND v > 1.5D AND n > 7S AND n < 43L",
    "log(v) = u OR v = u AND k = j",
    "ln(v) = u",
    "day = to_date(y, 'yyyy-MM-dd')",
    "date_format(day, 'yyyy-MM-dd') = t",
    "date_format(day, 'd/M') != t AND k = j",
    "from_utc_timestamp(ts, 'Europe/Stockholm') = at",
    "to_utc_timestamp(at, 'CET') = ts AND k = j",
    "timestampadd(HOUR, 2, ts) = at",
    "k = j AND timestampdiff(HOUR, ts, at) > 0",
    "ts + INTERVAL '1' HOUR = at",
    "ts + INTERVAL 1 HOUR 0 MINUTES = at AND at - ts = INTERVAL '0 01:00:00' DAY TO SECOND",
    "at BETWEEN ts AND ts + INTERVAL 1 DAY AND k = j",
    "at NOT BETWEEN ts AND ts + INTERVAL 1 HOUR AND k = j",
    "str_to_map('a:1,b:2')['a'] = m['a'] AND k = j",
    "map_keys(str_to_map(concat_ws(',', 'a:1', 'b:2'))) = map_keys(m)",
    "`p.q` = `o``o` AND k = j",
    "a.`p.q` = b.`o``o`",
    "k = j -- it's a key, AND more\n AND x = /* AND ' */ y -- the end",
    "exists(xs, e -> e = j AND e < 2) AND k = j",
    "aggregate(xs, 0, (s, e) -> s + e) = j",
    "CASE WHEN n > 7 AND k = 2 THEN 2 ELSE 1 END = j AND NOT x = y",
    "! (x = y) AND k = j",
    "k = j AND w.end = 1 AND w.in = 'a AND b'",
    "w.end = j",
    "(k = j AND (x = y OR (x = 'its' AND y = 'p')))",
    "k = j = (x = y)",
    "k = j IS NOT NULL AND x = y",
    "k::string = j AND CAST(n AS decimal(10, 1)) > 6.9",
    "k = j AND x LIKE 'it%' AND y LIKE '%\\'s'",
    "k = j AND x RLIKE '^it[\\'s]+$'",
    "k <=> j AND substring(x FROM 1 FOR 2) = 'it'",
    "k = j AND x || '' = y",
    "k & 3 = j | 0 AND n % 7 = 0",
    "nvl2(x, k, n) = j AND position('t' IN x) > 0",
    "decode(k, 1, 'one', 2, 'two') = decode(j, 1, 'one', 2, 'two') AND n > 0",
]

RUN = ["k = j AND x = 'it''s'", "to_char(n, '000') = t", "from_utc_timestamp(ts, 'Europe/Stockholm') = at AND k = j", "k = j = (x = y)"]
AS_OF = ["decode(k, 1, 'it''s') = decode(j, 1, 'it\\'s') -- of one"]
VERSION = "QUALIFY row_number() OVER (PARTITION BY x ORDER BY abs(timestampdiff(SECOND, ts, at)), at, j, y) = 1"


def test_conditions_are_cut_where_spark_cuts_them(spark: SparkSession) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()

    def parts(expression: Any) -> list[Any]:
        if expression.getClass().getSimpleName() == "And":
            return parts(expression.left()) + parts(expression.right())
        return [expression]

    def sides(expression: Any) -> tuple[str, str, bool] | None:
        kind = expression.getClass().getSimpleName()
        return (expression.left().sql(), expression.right().sql(), kind == "EqualNullSafe") if kind.startswith("Equal") else None

    for text in CONDITIONS:
        asked, cut = parts(parser.parseExpression(text)), conjuncts(text)
        assert [parser.parseExpression(part).sql() for part in cut] == [part.sql() for part in asked], text
        for part, whole in zip(cut, asked, strict=True):
            assert part in text
            if (found := equal_sides(part)) is not None:
                one, other, null_safe = found
                assert (parser.parseExpression(one).sql(), parser.parseExpression(other).sql(), null_safe) == sides(whole), text


def test_a_condition_means_the_same_as_in_sql(spark: SparkSession) -> None:
    """All joins as one stream, and as one query of Spark's batch engine."""
    shown = ("k", "x", "j", "y", "t")
    with Harness(partitions=1) as h:
        a, b = h.source("a", A), h.source("b", B)
        verbs = [a.alias("a").join(b.alias("b"), on=text) for text in RUN]
        verbs += [a.join_asof(b, on=text, time=("ts", "at"), direction="nearest", how="inner") for text in AS_OF]
        first, *others = (verb.select(*shown, c=hr.lit(c)) for c, verb in enumerate(verbs))
        out = h.collect(first.union(*others))
        h.commit({"a": [("+", row) for row in ROWS_A], "b": [("+", row) for row in ROWS_B]})
        got = out.rows()
    spark.createDataFrame([(*row[:3], at(row[3]), *row[4:8], at(row[8]).date()) for row in ROWS_A], A).createOrReplaceTempView("a")
    spark.createDataFrame([(*row[:3], at(row[3]), *row[4:]) for row in ROWS_B], B).createOrReplaceTempView("b")
    conditions = [*RUN, *(f"{text}\n{VERSION}" for text in AS_OF)]
    queries = [f"SELECT {', '.join(shown)}, {c} AS c FROM a JOIN b ON {text}\n" for c, text in enumerate(conditions)]
    wanted = [tuple(row) for row in spark.sql(" UNION ALL ".join(queries)).collect()]
    for c, text in enumerate(conditions):
        rows = sorted(row for row in wanted if row[-1] == c)
        assert sorted(row for row in got if row[-1] == c) == rows, text
        assert rows, f"{text}: this tells nothing"


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}{'' if ':' in text else ' 00:00:00'}+00:00")
