"""`hr.why`: which rows each operator names, what it says of them, and what it refuses."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.jvm.frames import rows_of
from headrace.schema import plain
from headrace.spark.compile.job import compile
from headrace.spark.why.why import Answers, Question, answering
from tests.spark.sql.batch import small

CHARGES = [("a", 3), ("b", 5), ("a", 4), ("c", 9), ("b", 5), ("d", 1)]
CARDS = [("a", "SE"), ("b", "FI"), ("c", "SE"), ("x", "DK")]
TIMES = [("a", "2026-01-01 10:00:00"), ("a", "2026-01-01 10:05:00"), ("a", "2026-01-01 11:00:00"), ("b", "2026-01-01 10:01:00")]
RATES = [("a", "2026-01-01 09:00:00", 1.5), ("a", "2026-01-01 10:30:00", 2.5)]
CHANGES = [("a", 3, "insert"), ("b", 5, "insert"), ("a", 3, "delete"), ("a", 4, "insert"), ("b", 1, "insert")]
PRICES = [("x", 3), ("y", 7), ("y", 8)]
LISTS = [(1, ["x", "y"]), (2, ["y", "y"])]


class Last(hr.Program):
    last = hr.Value("int", default=0)

    def on_event(self, e: Any) -> None:
        self.last.set(e.amount)
        hr.emit(card=e.card, last=self.last.get())


@dataclass(frozen=True)
class Case:
    """A view, a row of it, and the rows of each source that are named. `least`: none of them can be left out."""

    view: str | hr.Stream
    row: Mapping[str, Any]
    rows: Mapping[str, list[tuple[Any, ...]]]
    least: bool = False


SCHEMAS = {"charges": "card string, amount int", "cards": "owner string, country string", "lists": "id int, tags array<string>"}
SOURCES = {
    "charges": hr.read.memory(CHARGES, schema=SCHEMAS["charges"], name="charges"),
    "cards": hr.read.memory(CARDS, schema=SCHEMAS["cards"], name="cards"),
    "times": hr.read.memory(TIMES, schema="card string, ts timestamp", name="times").watermark("ts", "1 hour"),
    "rates": hr.read.memory(RATES, schema="card string, at timestamp, rate double", name="rates").watermark("at", "1 hour"),
    "lists": hr.read.memory(LISTS, schema=SCHEMAS["lists"], name="lists"),
    "balances": hr.read.memory(CHANGES, schema="card string, amount int, op string", change_column="op", name="balances"),
    "prices": hr.read.memory(PRICES, schema="tag string, price int", change_format="upsert", key="tag", name="prices"),
}


def sql(text: str) -> hr.Stream:
    return hr.sql(text, **{name: stream for name, stream in SOURCES.items() if name in text})


CASES = {
    "filter": Case("SELECT card FROM charges WHERE amount > 4", {"card": "c"}, {"charges": [("c", 9)]}, least=True),
    "sum": Case("SELECT card, sum(amount) AS n FROM charges GROUP BY card", {"card": "a"}, {"charges": [("a", 3), ("a", 4)]}, least=True),
    "equal rows": Case(
        "SELECT card, sum(amount) AS n FROM charges GROUP BY card", {"card": "b"}, {"charges": [("b", 5), ("b", 5)]}, least=True
    ),
    "max": Case("SELECT max(amount) AS most FROM charges", {}, {"charges": [("c", 9)]}, least=True),
    "max and min": Case(
        "SELECT max(amount) AS most, min(amount) AS least, max(card) AS last FROM charges WHERE card <> 'c'",
        {},
        {"charges": [("b", 5), ("d", 1)]},
    ),
    "max of sums": Case(
        "SELECT max(n) AS most FROM (SELECT sum(amount) AS n FROM charges GROUP BY card)", {}, {"charges": [("b", 5), ("b", 5)]}, least=True
    ),
    "distinct": Case("SELECT DISTINCT card FROM charges WHERE card = 'b'", {}, {"charges": [("b", 5)]}, least=True),
    "union": Case(
        "SELECT card FROM charges WHERE amount > 8 UNION ALL SELECT owner FROM cards", {"card": "x"}, {"cards": [("x", "DK")]}, least=True
    ),
    "intersect": Case(
        "SELECT card FROM charges INTERSECT SELECT owner FROM cards",
        {"card": "c"},
        {"charges": [("c", 9)], "cards": [("c", "SE")]},
        least=True,
    ),
    "except": Case("SELECT card FROM charges EXCEPT SELECT owner FROM cards", {"card": "d"}, {"charges": [("d", 1)]}, least=True),
    "join": Case(
        "SELECT country, sum(amount) AS n FROM charges JOIN cards ON card = owner GROUP BY country",
        {"country": "SE"},
        {"charges": [("a", 3), ("a", 4), ("c", 9)], "cards": [("a", "SE"), ("c", "SE")]},
        least=True,
    ),
    "left join": Case(
        "SELECT card, country FROM charges LEFT JOIN cards ON card = owner", {"card": "d"}, {"charges": [("d", 1)]}, least=True
    ),
    "full join": Case(
        "SELECT amount, country FROM charges FULL JOIN cards ON card = owner", {"country": "DK"}, {"cards": [("x", "DK")]}, least=True
    ),
    "exists": Case(
        "SELECT country FROM cards WHERE EXISTS (SELECT 1 FROM charges WHERE card = owner AND amount > 3)",
        {"country": "FI"},
        {"cards": [("b", "FI")], "charges": [("b", 5)]},
        least=True,
    ),
    "not exists": Case(
        "SELECT country FROM cards WHERE NOT EXISTS (SELECT 1 FROM charges WHERE card = owner)",
        {"country": "DK"},
        {"cards": [("x", "DK")]},
        least=True,
    ),
    "in or": Case(
        "SELECT owner FROM cards WHERE country = 'DK' OR owner IN (SELECT card FROM charges WHERE amount > 8)",
        {"owner": "c"},
        {"cards": [("c", "SE")], "charges": [("c", 9)]},
        least=True,
    ),
    "first rows": Case("SELECT card, amount FROM charges ORDER BY amount DESC LIMIT 2", {"amount": 5}, {"charges": [("b", 5)]}, least=True),
    "rank": Case(
        "SELECT card, amount, sum(amount) OVER (PARTITION BY card ORDER BY amount) AS n FROM charges",
        {"card": "a", "amount": 4},
        {"charges": [("a", 3), ("a", 4)]},
        least=True,
    ),
    "explode": Case(
        "SELECT tag, count(*) AS n FROM lists LATERAL VIEW explode(tags) AS tag GROUP BY tag",
        {"tag": "y"},
        {"lists": [(1, ["x", "y"]), (2, ["y", "y"])]},
        least=True,
    ),
    "changes": Case("SELECT * FROM balances", {"card": "a"}, {"balances": [("a", 4, "insert")]}),
    "sum of changes": Case(
        "SELECT sum(amount) AS n FROM balances", {}, {"balances": [("a", 4, "insert"), ("b", 1, "insert"), ("b", 5, "insert")]}
    ),
    "upserts": Case("SELECT * FROM prices", {"tag": "y"}, {"prices": [("y", 8)]}),
    "nothing": Case("SELECT count(*) AS n FROM charges WHERE amount > 100", {}, {}),
}
VERBS = {
    "session": Case(
        SOURCES["times"].window(hr.sessions("ts", "10 minutes", per="card")).group_by("card", "window_start").agg(n="count(*)"),
        {"card": "a", "n": 2},
        {"times": [("a", "2026-01-01T10:00:00+00:00"), ("a", "2026-01-01T10:05:00+00:00")]},
    ),
    "windows": Case(
        SOURCES["times"].window(hr.hop("ts", "1 hour", "30 minutes")).group_by("window_start").agg(n="count(*)"),
        {"window_start": "2026-01-01 10:30:00"},
        {"times": [("a", "2026-01-01T11:00:00+00:00")]},
    ),
    "as of": Case(
        SOURCES["times"].join_asof(SOURCES["rates"], on="card", time=("ts", "at")),
        {"ts": "2026-01-01 11:00:00"},
        {"times": [("a", "2026-01-01T11:00:00+00:00")], "rates": [("a", "2026-01-01T10:30:00+00:00", 2.5)]},
    ),
    "last of a key": Case(SOURCES["charges"].dedupe(on="card", keep="last", by="amount"), {"card": "a"}, {"charges": [("a", 4)]}),
    "program": Case(SOURCES["charges"].key_by("card").process(Last).named("last"), {"card": "c"}, {"last": [("c", 9)]}),
}


SAMPLE = ("max and min", "max of sums", "join", "left join", "in or", "explode", "sum of changes", "nothing", "program")
"""The cases of `make test`."""


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """The cases that are tested as one job, whose rows are read again once."""
    tested = {item.callspec.params["name"] for item in request.session.items if item.path == request.path and hasattr(item, "callspec")}
    cases = {name: case for name, case in (CASES | VERBS).items() if name in tested}
    views = {name: sql(case.view) if isinstance(case.view, str) else case.view for name, case in cases.items()}
    job = hr.job("cases", *(view.write.memory(name=name) for name, view in views.items()))
    folder = tmp_path_factory.mktemp("why").absolute() / "checkpoint"
    job.run(checkpoint=folder, progress=False)
    version = compile(job.plan)
    with answering(folder, lambda stored: version, list(views), print) as answers:
        yield answers


@pytest.mark.parametrize("name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.full) for name in CASES | VERBS])
def test_the_named_rows(spark: SparkSession, answers: Answers, name: str) -> None:
    """They are the ones expected; alone they give the row; of the least of them none can be left out."""
    case = (CASES | VERBS)[name]
    why = answers.of(Question(name, case.row, 100))
    named = [(source.name, dict(one.row)) for source in why.sources for one in source.rows for _ in range(one.times)]
    assert {source.name: sorted(tuple(row.values()) for of, row in named if of == source.name) for source in why.sources} == case.rows
    if case.least:
        assert why.row in batch(spark, str(case.view), named)
        for place, left in enumerate(named):
            assert why.row not in batch(spark, str(case.view), named[:place] + named[place + 1 :]), left


def batch(spark: SparkSession, text: str, rows: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The answer of Spark's batch engine over these rows of the sources."""
    for name, schema in SCHEMAS.items():
        spark.createDataFrame([tuple(row.values()) for source, row in rows if source == name], schema).createOrReplaceTempView(name)
    try:
        with small(spark):
            answer, columns = rows_of(spark.sql(text), dt.UTC)
    finally:
        for name in SCHEMAS:
            spark.catalog.dropTempView(name)
    return [plain(row, columns) for row in answer]
