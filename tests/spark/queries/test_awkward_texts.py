"""A text means in each verb what it means in Spark, however it is written: nothing may respell it or read it in another way.

Quotes inside of literals, backslashes, formats, suffixes, intervals, casts, lambdas, comments, names in back quotes: texts that readers other
than Spark's have mistaken, and random texts made of them.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.scale import FULL
from tests.spark.queries.changing import Table, batch

VALUES = {
    "a quote in a literal": "concat(x, 'it''s')",
    "a quote in a literal, escaped": r"concat(x, 'it\'s')",
    "AND in a literal": "concat(' AND ', x, ' = ')",
    "a comment in a literal": "concat(x, '-- no /* comment */')",
    "a comment": "concat(x, 'a') /* and 'b' = c */",
    "a comment at the end": "concat(x, 'a') -- AND 'b' = c",
    "a backslash": r"concat(x, '\\d\t%_')",
    "a raw literal": r"concat(x, r'\d+')",
    "double quotes": """concat(x, "it's")""",
    "unicode": r"concat(x, 'ünï', '\u00e9', '日本')",
    "a name with dots": "concat(`odd.name`, x)",
    "a name with a back quote": "concat(`a``b`, `select`)",
    "a format of numbers": "to_char(n, '000')",
    "a format of times": "date_format(ts, 'yyyy-MM-dd''T''HH')",
    "a format of dates": "CAST(to_date(day, 'yyyy-MM-dd') AS STRING)",
    "a zone": "CAST(from_utc_timestamp(ts, 'Europe/Berlin') AS STRING)",
    "suffixes": "CAST(1.5BD + n + 2L + 3S + 4Y AS STRING)",
    "a double with an exponent": "CAST(n * 1e2D AS STRING)",
    "a logarithm": "CAST(round(log(abs(n) + 2), 3) AS STRING)",
    "two logarithms": "CAST(round(log(2, abs(n) + 2), 3) AS STRING)",
    "an interval": "CAST(ts + INTERVAL '1 02:03:04.5' DAY TO SECOND AS STRING)",
    "an interval in words": "CAST(ts - INTERVAL 1 HOUR 30 MINUTES AS STRING)",
    "a difference": "CAST(timestampdiff(MINUTE, ts, TIMESTAMP'2026-01-01 12:00:00') AS STRING)",
    "a unit": "CAST(timestampadd(HOUR, 1, ts) AS STRING)",
    "a part of a time": "CAST(EXTRACT(DOY FROM ts) AS STRING)",
    "casts": "CAST(x || CAST(n AS STRING) AS STRING)",
    "a cast by colons": "n::string || x::string",
    "a cast that may fail": "CAST(try_cast(x AS INT) AS STRING)",
    "a lambda": "array_join(transform(array(x, 'b'), (v, i) -> concat(v, i)), ' AND ')",
    "a nested lambda": "array_join(transform(array(x), v -> array_join(transform(array('c'), w -> v || w), '=')), '')",
    "a map": "str_to_map(concat('a:', x))['a']",
    "a struct": "named_struct('a b', x, 'select', n).`a b`",
    "an array": "array(x, 'z')[1]",
    "a case": "CASE x WHEN 'p' THEN 'AND' WHEN 'it''s' THEN 'OR' ELSE 'END' END",
    "a position": "CAST(position('s' IN x) AS STRING)",
    "a part of a text": "substring(x FROM 2 FOR 1)",
    "a trim": "trim(BOTH 'p' FROM x)",
    "an overlay": "overlay(x PLACING '_' FROM 1 FOR 1)",
    "an operator of bits": "CAST((n & 3) | (n ^ 1) AS STRING)",
    "a division": "CAST(n DIV 2 AS STRING)",
    "a rest": "CAST(n % 3 AS STRING)",
    "a collation": "x COLLATE UTF8_BINARY",
    "hexadecimal": "hex(X'1F') || x",
    "json": """get_json_object(concat('{"a.b": "', replace(x, '''', ''), '"}'), "$['a.b']")""",
    "a regular expression": r"regexp_replace(x, '^(\\w)', '<$1>')",
    "decode": "decode(n, 1, 'one AND', 2, 'two', 'more')",
    "if": "if(x = 'its', 'CONCAT', nvl2(x, x, 'none'))",
    "count of letters": "CAST(char_length(x) AS STRING)",
}

TRUTHS = {
    "an equality with a quote": "x = 'it''s'",
    "one with comments": "x /* = 'p' */ = -- 'q'\n 'its'",
    "between": "n BETWEEN 1 AND 2 AND x <> 'AND'",
    "not between": "NOT n BETWEEN 1 AND 1",
    "or inside": "(n = 1 OR x = 'p') AND (x IS NOT NULL OR n IS NULL)",
    "in": "x IN ('it''s', 'a, b', ' AND ')",
    "like": r"x LIKE 'it\'%' OR x LIKE '_'",
    "like with an escape": "x LIKE 'i/_%' ESCAPE '/' OR x LIKE 'i%'",
    "like any": "x LIKE ANY ('p%', '%s')",
    "rlike": r"x RLIKE '^it.?s$'",
    "a null-safe equality": "x <=> NULL OR x <=> 'p'",
    "is distinct from": "x IS DISTINCT FROM 'its'",
    "is true": "(n > 1) IS NOT TRUE",
    "a lambda": "exists(array(x, 'q'), v -> v = 'it''s' AND length(v) > 2)",
    "a function of two": "startswith(x, 'it') AND NOT contains(x, '''')",
    "a time": "ts >= TIMESTAMP'2026-01-01 00:00:02' AND ts < '2026-01-02'",
    "an interval": "ts - TIMESTAMP'2026-01-01' < INTERVAL '3' SECOND",
}

SCHEMA = "id int, x string, n int, ts timestamp, day string, `odd.name` string, `a``b` string, `select` string"
ALL = ("n", "x", "ts", "day", "`odd.name`", "`a``b`", "`select`")
"""What its texts are over."""
OTHER = "j int, y string, m int"
COMMITS = 2


def tables() -> dict[str, Table]:
    texts = [None, "p", "its", "it's", "a, b", " AND "]

    def row(rng: random.Random) -> tuple[object, ...]:
        second = rng.randrange(4)
        return (
            rng.randrange(9),
            rng.choice(texts),
            rng.choice([None, 1, 2, 3]),
            dt.datetime(2026, 1, 1, second=second, tzinfo=dt.UTC),
            f"2026-01-0{second + 1}",
            rng.choice(["o", "it's"]),
            "t",
            rng.choice(["s", None]),
        )

    return {"a": Table(SCHEMA, row), "b": Table(OTHER, lambda rng: (rng.randrange(9), rng.choice(texts), rng.choice([None, 1, 2, 3])))}


Queries = Mapping[str, tuple[hr.Stream, str]]


def values(a: hr.Stream, b: hr.Stream, texts: Mapping[str, str]) -> Queries:
    """Each text in a projection, as the side of a condition, and in one of three other verbs."""
    named = {f"v{number}": text for number, text in enumerate(texts.values())}
    together = ", ".join(f"{text}\n AS {name}" for name, text in named.items())
    queries = {"select": (a.select("id", **named), f"SELECT id, {together} FROM a")}
    for number, (name, text) in enumerate(texts.items()):
        on = f"{text}\n = concat(y, '')"
        queries[f"{name}: join"] = (a.join(b, on=on).select("id", "j"), f"SELECT id, j FROM a JOIN b ON {on}")
        others = {
            "group_by": (
                a.group_by(hr.expr(text).alias("v")).agg(n="count(*)"),
                f"SELECT {text}\n, count(*) FROM a GROUP BY 1",
            ),
            "agg": (a.group_by("n").agg(v=f"max({text}\n)"), f"SELECT n, max({text}\n) FROM a GROUP BY n"),
            "top": (
                a.select("id", "x", v=text).top(2, by=["v desc", "id", "x"]),
                f"SELECT id, x, {text}\n AS v FROM a ORDER BY v DESC, id, x LIMIT 2",
            ),
        }
        for verb in others if FULL else [list(others)[number % 3]]:
            queries[f"{name}: {verb}"] = others[verb]
    return queries


def truths(a: hr.Stream, b: hr.Stream, texts: Mapping[str, str]) -> Queries:
    """Each text in a filter, beside the keys of a join, and in one of three other verbs."""
    queries = {}
    for number, (name, text) in enumerate(texts.items()):
        queries[f"{name}: filter"] = (a.filter(text).select("id", "x", "n"), f"SELECT id, x, n FROM a WHERE {text}")
        on = f"n = m AND {text}" if " OR " not in text else f"n = m AND ({text}\n)"
        queries[f"{name}: join"] = (a.join(b, on=on).select("id", "j"), f"SELECT id, j FROM a JOIN b ON {on}")
        others = {
            "count_if": (
                a.group_by("n").agg(c=f"count_if({text}\n)", f=f"count(*) FILTER (WHERE {text}\n)"),
                f"SELECT n, count_if({text}\n), count(*) FILTER (WHERE {text}\n) FROM a GROUP BY n",
            ),
            "left join": (a.join(b, on=on, how="left").select("id", "j"), f"SELECT id, j FROM a LEFT JOIN b ON {on}"),
            "having": (
                a.group_by(*ALL).agg(c="count(*)").filter(f"c > 0 AND ({text}\n)").select("n", "x", "c"),
                f"SELECT n, x, count(*) c FROM a GROUP BY {', '.join(ALL)} HAVING c > 0 AND ({text}\n)",
            ),
        }
        for verb in others if FULL else [list(others)[number % 3]]:
            queries[f"{name}: {verb}"] = others[verb]
    return queries


def random_texts(seed: int, count: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Random texts: values of values and truths, truths of truths and values."""
    rng = random.Random(seed)

    def value(depth: int) -> str:
        if depth == 0:
            return rng.choice(list(VALUES.values())) + "\n"
        one, other, truth_ = value(depth - 1), value(depth - 1), truth(depth - 1)
        return rng.choice(
            [
                f"CASE WHEN {truth_} THEN {one} ELSE {other} END",
                f"coalesce({one}, {other})",
                f"concat({one}, ' = ', {other})",
                f"array_join(transform(array({one}), q -> concat(q, {other})), '''')",
                f"({one})",
            ]
        )

    def truth(depth: int) -> str:
        if depth == 0:
            return rng.choice(list(TRUTHS.values())) + "\n"
        one, other = truth(depth - 1), truth(depth - 1)
        return rng.choice(
            [
                f"({one}) AND ({other})",
                f"({one}) OR ({other})",
                f"NOT ({one})",
                f"({value(depth - 1)}) = ({value(depth - 1)})",
                f"({value(depth - 1)}) BETWEEN ({value(depth - 1)}) AND ({value(depth - 1)})",
                f"CASE WHEN {one} THEN {other} END",
            ]
        )

    depths = [1 + number % 2 for number in range(count)]
    return {f"random {n}": value(d) for n, d in enumerate(depths)}, {f"random {n}": truth(d) for n, d in enumerate(depths)}


def check(spark: SparkSession, texts: Mapping[str, str], *, are_truths: bool, seed: int) -> None:
    rng, here = random.Random(seed), tables()
    with Harness() as h:
        a, b = (h.source(name, table.schema, changes=True) for name, table in here.items())
        queries = (truths if are_truths else values)(a, b, texts)
        outs = {name: (h.collect(stream), query) for name, (stream, query) in queries.items()}
        for commit in range(COMMITS):
            h.commit({name: table.change(rng, 8) for name, table in here.items()})
            if commit == 0:
                h.restart()
        wrong = {
            name: (query, out.rows(), want) for name, (out, query) in outs.items() if out.rows() != (want := batch(spark, query, here))
        }
        assert not wrong
        assert h.metrics()["dead_letters"] == 0


def some(texts: Mapping[str, str], step: int) -> Mapping[str, str]:
    """All of them at full scale, else every so many."""
    return dict(list(texts.items())[:: 1 if FULL else step])


def test_a_value_means_in_each_verb_what_spark_says(spark: SparkSession) -> None:
    check(spark, some(VALUES, 4), are_truths=False, seed=1)


@pytest.mark.full
def test_a_condition_means_in_each_verb_what_spark_says(spark: SparkSession) -> None:
    check(spark, some(TRUTHS, 2), are_truths=True, seed=3)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20 if FULL else 1))
def test_texts_made_of_them(spark: SparkSession, seed: int) -> None:
    random_values, random_truths = random_texts(seed, 10 if FULL else 3)
    check(spark, random_values, are_truths=False, seed=seed)
    check(spark, random_truths, are_truths=True, seed=seed)


def test_a_query_says_what_of_it_means_nothing(spark: SparkSession) -> None:
    rows = hr.read.memory([], "k string, v int", name="rows")
    with pytest.warns(UserWarning, match="hr.sql: the ORDER BY at the end has no effect: a stream has no order"):
        hr.sql("SELECT k FROM rows ORDER BY v", rows=rows)
    with pytest.warns(UserWarning, match="hr.sql: several columns are named k: one was renamed k_2"):
        assert hr.sql("SELECT k, v AS k FROM rows", rows=rows).columns == ("k", "k_2")
