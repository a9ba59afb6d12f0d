"""Errors in the texts and types of a job, found by Spark and said in our words."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

charges = hr.read.memory([], "card string, amount int, place struct<city: string>, tags array<string>, ts timestamp", name="charges")
refunds = hr.read.memory([], "card string, refunded_at timestamp, tags map<string, int>", name="refunds")


@pytest.fixture(autouse=True)
def _in_the_session(spark: SparkSession) -> None:
    """All of these need one."""


def job(stream: hr.Stream) -> hr.Job:
    return hr.job("fraud", stream.write.memory(name="out"))


class Pair(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        hr.emit(card=e.card)

    def on_refund(self, r: hr.Row) -> None:
        hr.emit(card=r.card)


class Typed(hr.Program):
    n = hr.Value("int")

    def on_event(self, e: hr.Row) -> None:
        self.n.set(e.ts)
        hr.emit(card=e.card)


class Halved(hr.Program):
    n = hr.Value("int")

    def on_event(self, e: hr.Row) -> None:
        self.n.set(e.amount / 2)
        hr.emit(card=e.card)


class Differing(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        with hr.when(e.amount > 3):
            hr.emit(v=e.amount)
        with hr.when(e.amount > 4):
            hr.emit(v=e.ts)


class Adding(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        hr.emit(v=hr.f.sum(e.amount))


def test_text_with_a_word_too_many() -> None:
    check_error(
        """
        BAD_SYNTAX: charges.filter: Spark cannot read `amount > 500 and` at 'and'
          at test_types.py:*: cut = charges.filter("amount > 500 and")
          hint: write one Spark SQL expression; for a string constant use hr.lit(...)
          more: headrace error BAD_SYNTAX
        """,
        word_too_many,
    )


def word_too_many() -> None:
    cut = charges.filter("amount > 500 and")
    _ = cut.schema


def test_text_that_cannot_be_read() -> None:
    check_error(
        """
        BAD_SYNTAX: charges.filter: Spark cannot read `amount > > 500` at '>'
          at test_types.py:*: lambda: job(charges.filter("amount > > 500")),
          hint: write one Spark SQL expression; for a string constant use hr.lit(...)
          more: headrace error BAD_SYNTAX
        """,
        lambda: job(charges.filter("amount > > 500")),
    )


def test_unknown_function() -> None:
    check_error(
        """
        UNKNOWN_FUNCTION: charges.select: Spark has no function `uper`, in `uper(card)`
          at test_types.py:*: lambda: job(charges.select("uper(card) AS name")),
          hint: did you mean `upper`? If it is your own function, register it on the session before you build the job: spark.udf.registerJavaFunction(name, class), for an aggregate spark.udf.registerJavaUDAF(name, class)
          more: headrace error UNKNOWN_FUNCTION
        """,
        lambda: job(charges.select("uper(card) AS name")),
    )


def test_what_has_no_code_of_its_own() -> None:
    check_error(
        """
        BAD_EXPRESSION: charges.select: no type `number`, in `CAST(amount AS number)`
          at test_types.py:*: lambda: job(charges.select("CAST(amount AS number) AS amount")),
          hint: did you mean `decimal(10,2)`? Types: int, bigint, double, decimal(p,s), string, boolean, date, timestamp
          more: headrace error BAD_EXPRESSION
        """,
        lambda: job(charges.select("CAST(amount AS number) AS amount")),
    )


def test_unknown_field() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: charges.select: no field `town`, in `place.town`
          at test_types.py:*: lambda: job(charges.select("place.town AS town")),
          hint: there are: city
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: job(charges.select("place.town AS town")),
    )


@pytest.mark.parametrize(
    ("text", "kind", "cure"),
    [
        (
            "sum(amount)",
            "an aggregate function",
            'aggregate with .group_by("card").agg(total="sum(amount)"), or for each row with hr.f.sum("amount").over(per="card"); '
            "in a program use an hr.Aggregate",
        ),
        (
            "explode(tags)",
            "a generator",
            'use the verb: .explode("tags", as_="item"), which gives a row per item',
        ),
    ],
)
def test_more_than_one_row(text: str, kind: str, cure: str) -> None:
    check_error(
        """
        NOT_PER_ROW: charges.select: <kind> cannot be used here, in `<text>`
          at test_types.py:*: lambda: job(charges.select(total=text)),
          hint: <cure>
          more: headrace error NOT_PER_ROW
        """,
        lambda: job(charges.select(total=text)),
        hide={cure: "<cure>", text: "<text>", kind: "<kind>"},
    )


def test_window_function_in_a_condition() -> None:
    check_error(
        """
        NOT_PER_ROW: charges.filter: a window function cannot be used here, in `rank() OVER (ORDER BY amount) = 1`
          at test_types.py:*: lambda: job(charges.filter("rank() OVER (ORDER BY amount) = 1")),
          hint: compute it in a column first: .with_columns(place=hr.f.rank().over(by=...))
          more: headrace error NOT_PER_ROW
        """,
        lambda: job(charges.filter("rank() OVER (ORDER BY amount) = 1")),
    )


def test_window_function_in_a_text_is_shown_as_it_was_written() -> None:
    with pytest.raises(hr.PlanError) as raised:
        job(charges.with_columns(place="rank() OVER (ORDER BY amount) + 'x'"))
    assert raised.value.message.endswith("the string 'x' is not a whole number, in `rank() OVER (ORDER BY amount) + 'x'`")


def test_keys_of_a_join() -> None:
    numbers = hr.read.memory([], "number array<int>", name="numbers")
    check_error(
        """
        KEYS_DIFFER: join(charges, numbers): `card` is STRING on the left, `number` is ARRAY<INT> on the right
          at test_types.py:*: lambda: job(charges.join(numbers, on="card = number")),
          hint: explode the array on the right first, and join its items: .explode("number", as_="item")
          more: headrace error KEYS_DIFFER
        """,
        lambda: job(charges.join(numbers, on="card = number")),
    )


def test_aggregate_in_a_handler() -> None:
    check_error(
        """
        NOT_PER_ROW: charges.Adding: an aggregate function cannot be used here, in `sum(e.amount)`
          at test_types.py:*: hr.emit(v=hr.f.sum(e.amount))
          hint: aggregate with .group_by("card").agg(total="sum(amount)"), or for each row with hr.f.sum("amount").over(per="card"); in a program use an hr.Aggregate
          more: headrace error NOT_PER_ROW
        """,
        lambda: job(charges.key_by("card").process(Adding)),
    )


def test_condition_that_is_none() -> None:
    check_error(
        """
        WRONG_TYPE: charges.filter: a condition must be BOOLEAN, not INT, in `amount + 1`
          at test_types.py:*: lambda: job(charges.filter("amount + 1")),
          hint: write a comparison, as in `amount > 0`
          more: headrace error WRONG_TYPE
        """,
        lambda: job(charges.filter("amount + 1")),
    )


def test_operands_that_do_not_fit() -> None:
    check_error(
        """
        WRONG_TYPE: charges.select: the operands of `amount + tags` are INT and ARRAY<STRING>
          at test_types.py:*: lambda: job(charges.select("amount + tags AS total")),
          hint: cast one of them, or use one item or the size of the array: tags[0], size(tags)
          more: headrace error WRONG_TYPE
        """,
        lambda: job(charges.select("amount + tags AS total")),
    )


def test_value_that_a_cell_does_not_hold() -> None:
    check_error(
        """
        WRONG_TYPE: charges.Typed: the cell `n` is INT, but the value is TIMESTAMP, in `e.ts`
          at test_types.py:*: self.n.set(e.ts)
          hint: cast the value, or declare the cell as timestamp
          more: headrace error WRONG_TYPE
        """,
        lambda: job(charges.key_by("card").process(Typed)),
    )


def test_default_that_a_cell_does_not_hold() -> None:
    check_error(
        """
        WRONG_TYPE: the cell holds int, but 'none' is a string
          at test_types.py:*: lambda: hr.Value("int", default="none"),
          hint: pass a value of type int, or change the cell's type; hr.expr(...) reads a string as SQL
          more: headrace error WRONG_TYPE
        """,
        lambda: hr.Value("int", default="none"),
    )


@pytest.mark.parametrize(
    ("kind", "value"), [("TIMESTAMP", 0), ("string", 1), ("decimal(10,2)", "1"), ("int", True), ("double", date(2026, 1, 1))]
)
def test_defaults_of_another_kind(kind: str, value: Any) -> None:
    with pytest.raises(HeadraceError, match=r"^WRONG_TYPE: the cell holds \S+, but .+ is a "):
        hr.Value(kind, default=value)


class Begun(hr.Program):
    half = hr.Value("double", default=1)
    paid = hr.Value("decimal(10,2)", default=0)
    since = hr.Value("timestamp", default=datetime(2026, 1, 1, tzinfo=UTC))
    seen = hr.Value("array<string>", default=["a"])
    tier = hr.Value("int", default=hr.expr("CAST('5' AS int)"))

    def on_event(self, e: hr.Row) -> None:
        hr.emit(half=self.half.get(), paid=self.paid.get(), since=self.since.get(), seen=self.seen.get(), tier=self.tier.get())


def test_defaults_that_cells_hold() -> None:
    assert job(charges.key_by("card").process(Begun)).name == "fraud"


def test_digits_that_a_cell_would_cut() -> None:
    check_error(
        """
        WRONG_TYPE: charges.Halved: the cell `n` is INT, but the value is DOUBLE, in `e.amount / 2`
          at test_types.py:*: self.n.set(e.amount / 2)
          hint: truncate it with .cast("int"), or declare the cell as double
          more: headrace error WRONG_TYPE
        """,
        lambda: job(charges.key_by("card").process(Halved)),
    )


def test_rows_of_different_types() -> None:
    check_error(
        """
        WRONG_TYPE: charges.Differing: the emitted column `v` is TIMESTAMP here and INT in an earlier emit, in `e.ts`
          at test_types.py:*: hr.emit(v=e.ts)
          hint: cast one of them, so that the column has one type
          more: headrace error WRONG_TYPE
        """,
        lambda: job(charges.key_by("card").process(Differing)),
    )


def test_key_without_an_order() -> None:
    check_error(
        """
        WRONG_TYPE: charges.Pair: a key cannot be of type MAP<STRING, INT>, in `tags`
          at test_types.py:*: lambda: job(charges.key_by("card").process(Pair, refund=refunds.key_by("tags"))),
          hint: key by one of its values, such as tags['x']
          more: headrace error WRONG_TYPE
        """,
        lambda: job(charges.key_by("card").process(Pair, refund=refunds.key_by("tags"))),
    )


def test_keys_of_different_types() -> None:
    check_error(
        """
        KEYS_DIFFER: charges.Pair: the key `amount` of the main input is INT, `refunded_at` of the input `refund` is TIMESTAMP
          at test_types.py:*: lambda: job(charges.key_by("amount").process(Pair, refund=refunds.key_by("refunded_at"))),
          hint: cast one of them in key_by, so that all inputs are keyed by one type
          more: headrace error KEYS_DIFFER
        """,
        lambda: job(charges.key_by("amount").process(Pair, refund=refunds.key_by("refunded_at"))),
    )


def test_all_errors_of_a_job_at_once() -> None:
    check_error(
        """
        UNKNOWN_FUNCTION: charges.filter: Spark has no function `uper`, in `uper(card) = 'A'`
          at test_types.py:*: first = charges.filter("uper(card) = 'A'")
          hint: did you mean `upper`? If it is your own function, register it on the session before you build the job: spark.udf.registerJavaFunction(name, class), for an aggregate spark.udf.registerJavaUDAF(name, class)
          more: headrace error UNKNOWN_FUNCTION

        WRONG_TYPE: refunds.filter: a condition must be BOOLEAN, not STRING, in `card`
          at test_types.py:*: second = refunds.filter("card")
          hint: write a comparison, as in `amount > 0`
          more: headrace error WRONG_TYPE
        """,
        _two_errors,
    )


def _two_errors() -> hr.Job:
    first = charges.filter("uper(card) = 'A'")
    second = refunds.filter("card")
    return hr.job("fraud", first.write.memory(name="a"), second.write.memory(name="b"))
