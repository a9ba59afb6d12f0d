"""A column of texts where a number, a time or a truth value stands beside it: legal, and worth a warning at its line."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr

orders = hr.read.memory([("a", 1), ("7", 2)], "customer string, n int", name="orders")

WARNED = "the text `customer` is read as {}; a row with any other text is a dead letter. Write CAST(customer AS {}) if that is meant"


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
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        hr.job("made", stream.write.memory())
    assert {Path(one.filename).name for one in found} <= {Path(__file__).name}
    return [str(one.message) for one in found]


@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("customer > 5", "BIGINT"),
        ("customer > n", "BIGINT"),
        ("customer IN (1, 2)", "BIGINT"),
        ("n BETWEEN customer AND 7", "BIGINT"),
        ("customer * 2 > n", "BIGINT"),
        ("customer < current_timestamp()", "TIMESTAMP"),
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
        "orders.Kept: the text `self.seen.get()` is read as BIGINT; a row with any other text is a dead letter. "
        'Write self.seen.get().cast("bigint") if that is meant'
    ]
    with pytest.warns(UserWarning, match="^hr.sql: the text `customer` is read as BIGINT"):
        hr.sql("SELECT n FROM orders WHERE customer > 5", orders=orders)
    with pytest.warns(UserWarning, match="^hr.sql: the text `customer` is read as BIGINT"):
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
    ],
)
def test_a_cast_that_is_written_does_not(spark: SparkSession, text: str) -> None:
    assert warned(orders.filter(text)) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.sql(f"SELECT n FROM orders WHERE {text}", orders=orders)


def test_digits_are_numbers_and_all_else_is_a_dead_letter(spark: SparkSession) -> None:
    large = orders.filter("customer > 5")
    with pytest.warns(
        RuntimeWarning, match=r"1 row failed and is missing; the first at orders.filter: .CAST_INVALID_INPUT.*dead_letters has them\)$"
    ):
        found = hr.collect(large)
    assert found.rows() == [("7", 2)]
    assert [(letter["source"], letter["node"], letter["raw"]) for letter in found.dead_letters.to_json()] == [
        ("orders", "orders.filter", '{"customer":"a","n":1}')
    ]


def test_the_source_has_the_letters_of_a_filter_in_the_same_job(spark: SparkSession, tmp_path: Path) -> None:
    letters = orders.output("dead_letter").write.memory()
    hr.job("both", letters, orders.filter("customer > 5").write.memory()).run(checkpoint=tmp_path, progress=False)
    assert [row[0] for row in letters.rows()] == ["orders.filter"]


def test_a_table_without_dead_letters_has_none(spark: SparkSession) -> None:
    assert hr.collect(orders).dead_letters.rows() == []
