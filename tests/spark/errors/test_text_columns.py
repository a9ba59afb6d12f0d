"""A column of texts where a number, a time or a truth value stands beside it: legal, and worth a warning at its line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr

orders = hr.read.memory([("a", 1), ("7", 2)], "customer string, n int", name="orders")

WARNED = "the string `customer` is cast to {}; a row where this fails becomes a dead letter. If intended, write CAST(customer AS {})"


class Large(hr.Program):
    def on_event(self, e: hr.Event) -> None:
        with hr.when(e.customer > 5):
            hr.emit(n=e.n)


class Kept(hr.Program):
    seen = hr.Value("string")

    def on_event(self, e: hr.Event) -> None:
        with hr.when(self.seen.get() > 5):
            hr.emit(n=e.n)
        self.seen.set(e.customer)


def warned(stream: hr.Stream) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hr.job("made", stream.write.memory())
    assert {Path(one.filename).name for one in caught} <= {Path(__file__).name}
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("customer > 5", "BIGINT"),
        ("customer > n", "BIGINT"),
        ("customer IN (1, 2)", "BIGINT"),
        ("n BETWEEN customer AND 7", "BIGINT"),
        ("customer * 2 > n", "BIGINT"),
        ("customer < current_timestamp()", "TIMESTAMP"),
        ("coalesce(customer, n) > 5", "BIGINT"),
        ("CASE WHEN n > 1 THEN customer ELSE n END > 5", "BIGINT"),
        ("sqrt(customer) > n", "DOUBLE"),
        ("hour(customer) > n", "TIMESTAMP"),
    ],
)
def test_a_text_column_warns_at_its_line(spark: SparkSession, text: str, to: str) -> None:
    assert warned(orders.filter(text)) == [f"orders.filter: {WARNED.format(to, to)}"]


def test_columns_of_python_programs_and_queries_warn_too(spark: SparkSession) -> None:
    assert warned(orders.filter(hr.col("customer") > 5)) == [f"orders.filter: {WARNED.format('BIGINT', 'BIGINT')}"]
    assert warned(orders.key_by("n").process(Large)) == [
        "orders.Large: " + WARNED.format("BIGINT", "BIGINT").replace("customer", "e.customer")
    ]
    assert warned(orders.key_by("n").process(Kept, order="arrival")) == [
        "orders.Kept: the string `self.seen.get()` is cast to BIGINT; a row where this fails becomes a dead letter. "
        'If intended, write self.seen.get().cast("bigint")'
    ]
    with pytest.warns(UserWarning, match="^hr.sql: the string `customer` is cast to BIGINT"):
        hr.sql("SELECT n FROM orders WHERE customer > 5", orders=orders)
    with pytest.warns(UserWarning, match="^hr.sql: the string `customer` is cast to BIGINT"):
        hr.sql("SELECT sum(customer + n) FROM orders", orders=orders)


@pytest.mark.parametrize(
    "text",
    [
        "CAST(customer AS bigint) > 5",
        "try_cast(customer AS bigint) > 5",
        "int(customer) > 5",
        "to_date(customer) > date'2026-01-01'",
        "customer > 'b'",
        "n > '5'",
        "coalesce(int(customer), to_number(customer, '9')) > n",
        "hour(to_timestamp(customer)) > n AND hour(customer::timestamp) > n",
        "n + 1 > 5 AND concat(customer, n) > 'b' AND md5(customer) > 'b' AND coalesce(customer, 'x') > 'b'",
    ],
)
def test_a_cast_that_is_written_does_not(spark: SparkSession, text: str) -> None:
    assert warned(orders.filter(text)) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.sql(f"SELECT n FROM orders WHERE {text}", orders=orders)


@pytest.mark.parametrize(
    "build",
    [
        lambda: orders.group_by("n").agg(total="sum(customer)"),
        lambda: orders.group_by("n").agg(rows="count(*) FILTER (WHERE customer > 1.5D)"),
        lambda: orders.with_columns(total=hr.f.sum("customer").over(per="n")),
        lambda: orders.expect("customer < 5.5D", on_violation="drop"),
    ],
)
def test_aggregates_windows_and_expectations_warn(spark: SparkSession, build: Callable[[], hr.Stream]) -> None:
    [message] = warned(build())
    assert message.partition(": ")[2] == WARNED.format("DOUBLE", "DOUBLE")


numbers = hr.read.memory([(5, 1), (7, 2)], "customer int, rank int", name="numbers")
MEETS = (
    "the string `customer` is cast to BIGINT, because it is combined with INT; a row where this fails becomes a dead letter. "
    'If intended, cast it upstream: .with_columns("CAST(customer AS BIGINT) AS customer")'
)
same = orders.select("customer")


@pytest.mark.parametrize(
    "build",
    [
        lambda cast: cast(orders).join(numbers, on="customer"),
        lambda cast: cast(orders).join(numbers, on="customer", how="left"),
        lambda cast: numbers.join(cast(orders), on="customer", how="semi"),
        lambda cast: numbers.join(cast(orders), on="customer", how="right"),
        lambda cast: cast(orders).join(numbers.rename({"customer": "number"}), on="customer = number"),
        lambda cast: cast(orders).alias("o").join(numbers.alias("n"), on="o.customer = n.customer", how="anti"),
        lambda cast: cast(same).union(numbers.select("customer")),
        lambda cast: numbers.select("customer").union(cast(same)),
        lambda cast: cast(same).intersect(numbers.select("customer")),
        lambda cast: numbers.select("customer").subtract(cast(same)),
        lambda cast: numbers.select("customer").intersect(cast(same), all=True),
    ],
)
def test_a_text_that_meets_numbers_warns(spark: SparkSession, build: Callable[[Callable[[hr.Stream], hr.Stream]], hr.Stream]) -> None:
    [message] = warned(build(lambda stream: stream))
    assert message.partition(": ")[2] == MEETS
    assert warned(build(lambda stream: stream.with_columns("CAST(customer AS BIGINT) AS customer"))) == []


def test_texts_that_meet_texts_do_not(spark: SparkSession) -> None:
    others = orders.with_columns(n="n * 1.5")
    assert warned(orders.join(others.rename({"n": "m"}), on="customer")) == []
    assert warned(orders.union(others)) == warned(orders.subtract(others)) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT coalesce(customer, n) FROM orders",
        "SELECT sum(customer) FROM orders",
        "SELECT o.n FROM orders o JOIN numbers USING (customer)",
        "SELECT customer FROM orders UNION ALL SELECT customer FROM numbers",
        "SELECT customer FROM orders EXCEPT SELECT customer FROM numbers",
        "SELECT n FROM orders WHERE customer IN (SELECT customer FROM numbers)",
    ],
)
def test_queries_warn_in_all_places(spark: SparkSession, query: str) -> None:
    with pytest.warns(UserWarning, match="^hr.sql: the string `customer` is cast to (BIGINT|DOUBLE)"):
        hr.sql(query, orders=orders, numbers=numbers)


def test_frames_do_not_where_the_cast_is_a_function(spark: SparkSession) -> None:
    def selected(orders: Any) -> Any:
        return orders.select(
            F.to_date("customer").alias("day"), F.hour(F.to_timestamp("customer")).alias("hour"), F.col("n").cast("string")
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.from_dataframe(selected(orders.as_dataframe()))


def test_digits_are_numbers_and_all_else_is_a_dead_letter(spark: SparkSession) -> None:
    large = orders.filter("customer > 5")
    with pytest.warns(
        RuntimeWarning, match=r"1 row failed and is missing; the first at orders.filter: .CAST_INVALID_INPUT.*dead_letters has them\)$"
    ):
        collected = hr.collect(large)
    assert collected.rows() == [("7", 2)]
    assert [(letter["source"], letter["node"], letter["raw"]) for letter in collected.dead_letters.to_json()] == [
        ("orders", "orders.filter", '{"customer":"a","n":1}')
    ]


def test_the_source_has_the_letters_of_a_filter_in_the_same_job(spark: SparkSession, tmp_path: Path) -> None:
    letters = orders.output("dead_letter").write.memory()
    hr.job("both", letters, orders.filter("customer > 5").write.memory()).run(checkpoint=tmp_path, progress=False)
    assert [row[0] for row in letters.rows()] == ["orders.filter"]


def test_a_table_without_dead_letters_has_none(spark: SparkSession) -> None:
    assert hr.collect(orders).dead_letters.rows() == []
