"""A name in a text: taken behind AS where it names a column, an error at the user's line everywhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.unit.errors import check_error

charges = hr.read.memory([("a", 1, None), ("b", 9, None)], "card string, amount int, ts timestamp", name="charges").watermark(
    "ts", "0 seconds"
)
rates = hr.read.memory([], "card string, rate int, since timestamp", name="rates").watermark("since", "0 seconds")
cards = hr.lookup.files("cards.csv", format="csv", schema="id string, most int", name="cards")


class Last(hr.Program):
    def __init__(self, text: str) -> None:
        self.text = text
        self.last = hr.Value("int")

    def on_event(self, e: hr.Row) -> None:
        self.last.set(hr.expr(self.text))
        hr.emit(card=e.card)


class Total(hr.Program):
    def __init__(self, text: str) -> None:
        self.total = hr.Aggregate(text, "x int")

    def on_event(self, e: hr.Row) -> None:
        self.total.add(x=e.amount)
        hr.emit(total=self.total.get())


IN_TEXTS: dict[str, Callable[[str], hr.Stream]] = {
    "top by": lambda name: charges.top(1, by=f"amount {name}"),
    "top by of an expression": lambda name: charges.top(1, by=hr.expr("amount descending") if name == "descending" else f"amount {name}"),
    "top by of several": lambda name: charges.top(1, by=["card desc", f"amount {name}"]),
    "top per": lambda name: charges.top(1, by="amount", per=f"card {name}"),
    "dedupe by": lambda name: charges.dedupe(on="card", by=f"amount {name}"),
    "dedupe on": lambda name: charges.dedupe(on=f"card {name}"),
    "over by": lambda name: charges.with_columns(n=hr.f.rank().over(by=f"amount {name}")),
    "over per": lambda name: charges.with_columns(n=hr.f.sum("amount").over(per=f"card {name}")),
    "window function": lambda name: charges.with_columns(n=f"sum(amount) OVER (PARTITION BY card) {name}"),
    "filter": lambda name: charges.filter(f"amount > 3 {name}"),
    "expect": lambda name: charges.expect(f"amount > 3 {name}"),
    "select": lambda name: charges.select(n=f"amount + 1 {name}"),
    "explode": lambda name: charges.explode(f"array(amount) {name}", as_="n"),
    "agg": lambda name: charges.group_by("card").agg(n=f"count(*) {name}"),
    "agg where": lambda name: charges.group_by("card").agg(n=hr.f.sum("amount").where(f"amount > 3 {name}")),
    "tumble": lambda name: charges.window(hr.tumble(f"ts {name}", "1 hour")),
    "sessions": lambda name: charges.window(hr.sessions("ts", "1 hour", per=f"card {name}")),
    "join on": lambda name: charges.alias("c").join(rates.rename({"card": "of"}), on=f"c.card = of {name}"),
    "join_asof time": lambda name: charges.join_asof(rates, on="card", time=(f"ts {name}", "since")),
    "lookup on": lambda name: charges.lookup(cards, on={f"card {name}": "id"}),
    "case": lambda name: charges.select(n=hr.case((f"amount > 3 {name}", 1))),
    "function": lambda name: charges.select(n=hr.f.upper(f"card {name}")),
    "aggregate of a program": lambda name: charges.key_by("card").process(Total(f"sum(x) {name}")),
}


@pytest.mark.parametrize("place", IN_TEXTS)
@pytest.mark.parametrize("name", ["descending", "AS descending"])
def test_a_name_that_means_nothing(spark: SparkSession, place: str, name: str) -> None:
    with pytest.raises(hr.PlanError) as caught:
        hr.job("made", IN_TEXTS[place](name).write.memory())
    assert caught.value.code == "BAD_SYNTAX"
    assert re.search("Spark cannot read `.*descending.*` at ", caught.value.message)
    assert caught.value.site is not None


LOOSE: dict[str, Callable[[], object]] = {
    "group_by": lambda: charges.group_by("card descending"),
    "key_by": lambda: charges.key_by("card descending"),
    "heavy_hitters": lambda: charges.heavy_hitters(1, by="card descending", error=0.1),
    "select": lambda: charges.select("card descending"),
    "with_columns": lambda: charges.with_columns("card descending"),
    "agg": lambda: charges.group_by("card").agg("count(*) descending"),
    "expr": lambda: charges.select(hr.expr("amount + 1 descending")),
}


@pytest.mark.parametrize("place", LOOSE)
def test_a_name_without_as(place: str) -> None:
    with pytest.raises(hr.PlanError) as caught:
        LOOSE[place]()
    assert caught.value.code == "BAD_SYNTAX"
    assert caught.value.message.endswith(" at 'descending'")


def test_the_whole_texts(spark: SparkSession) -> None:
    check_error(
        """
        BAD_SYNTAX: top(charges): Spark cannot read `amount descending` at 'descending'
          at test_aliases.py:*: lambda: hr.job("made", charges.top(1, by="amount descending").write.memory()),
          hint: write the order as "amount desc" or "amount asc"
          more: headrace error BAD_SYNTAX
        """,
        lambda: hr.job("made", charges.top(1, by="amount descending").write.memory()),
    )
    check_error(
        """
        BAD_SYNTAX: Spark cannot read `card amount` at 'amount'
          at test_aliases.py:*: lambda: charges.group_by("card amount"),
          hint: for two columns, pass two strings; to name an expression, use AS: "... AS amount"
          more: headrace error BAD_SYNTAX
        """,
        lambda: charges.group_by("card amount"),
    )


def test_names_behind_as_stay(spark: SparkSession) -> None:
    assert charges.select("amount + 1 AS next", "card AS c").columns == ("next", "c")
    assert charges.group_by("upper(card) AS big").agg("sum(amount) AS total").columns == ("big", "total")
    assert charges.heavy_hitters(1, by="upper(card) AS big", error=0.1).columns == ("big", "count", "overestimate")
    sums = hr.sql("SELECT card c, sum(amount) total FROM charges GROUP BY card", charges=charges)
    assert hr.collect(sums.select("c", "total").top(1, by="total DESC")).rows() == [("b", 9)]


def test_an_expression_of_python_may_keep_its_name(spark: SparkSession) -> None:
    price = (hr.col("amount") * 2).alias("price")
    assert hr.collect(charges.filter(price > 4).top(1, by=price.desc()).select("card")).rows() == [("b",)]


@pytest.mark.parametrize(
    "step", ["top: {n: 1, by: amount descending}", "select: [{n: amount descending}]", "select: [{n: amount AS descending}]"]
)
def test_yaml(spark: SparkSession, tmp_path: Path, step: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(
        "job: made\n"
        "sources:\n  charges: {connector: files, path: in, format: json, schema: 'card string, amount int'}\n"
        f"views:\n  best:\n    from: charges\n    steps:\n      - {step}\n"
        "sinks:\n  out: {from: best, connector: console, mode: changes}\n"
    )
    with pytest.raises(hr.HeadraceError, match=r"Spark cannot read `amount (AS )?descending` at 'descending'"):
        hr.load(file)


def test_programs(spark: SparkSession) -> None:
    with pytest.raises(hr.HeadraceError, match=r"cannot read `e\.amount descending` at 'descending'"):
        hr.job("made", charges.key_by("card").process(Last("e.amount descending")).write.memory())
