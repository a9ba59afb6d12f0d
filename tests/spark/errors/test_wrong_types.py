"""What Spark would cast by itself, row by row, and what is surely a mistake: told when the job is made, at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace as hr
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

charges = hr.read.memory(
    [], "card string, amount int, price double, place struct<city: string>, ts timestamp, day date, ok boolean", name="charges"
)


@pytest.fixture(autouse=True)
def _in_the_session(spark: SparkSession) -> None:
    """All of these need one."""


class Cells(hr.Program):
    n = hr.Value("int")
    text = hr.Value("string")
    numbers = hr.Value("array<int>")
    by_number = hr.Map("bigint", "string")
    wake = hr.Timer()

    def on_wake(self, at: hr.Column) -> None:
        self.n.clear()


def job(body: Callable[[Cells, hr.Row], object]) -> Callable[[], hr.Job]:
    """The job of a program whose handler does this."""

    class P(Cells):
        def on_event(self, e: hr.Row) -> None:
            body(self, e)
            hr.emit(card=e.card)

    stream = charges.watermark("ts", "1 minute").key_by("card").process(P)
    return lambda: hr.job("fraud", stream.write.memory(name="out"))


def when(condition: hr.Column) -> None:
    with hr.when(condition):
        hr.reject("seen")


VALUE = "write a "
LENGTH = "write a duration as hr.seconds(60), hr.minutes(5), hr.hours(1) or hr.days(1), in SQL INTERVAL '60' SECOND"
TIME = "write a timestamp as datetime(2026, 1, 1), in SQL TIMESTAMP'2026-01-01 00:00:00', or timestamp_seconds(...)"
DATE = "write a date as date(2026, 1, 1), in SQL DATE'2026-01-01', or date_from_unix_date(...) of days since 1970"
AROUND = "in Python & and | bind tighter than comparisons: put comparisons in parentheses, (x == 1) & (y > 5)"
CUTS = 'truncate it with .cast("int"), or declare the cell as '
JOINED = "concatenate strings with hr.f.concat(...), in SQL concat(a, b)"

REFUSED: dict[str, tuple[Callable[[Cells, hr.Row], object], str]] = {
    "number and text": (lambda self, e: when(e.amount < "one"), VALUE),
    "fraction and text": (lambda self, e: when(e.price == "x"), VALUE),
    "time and text": (lambda self, e: when(e.ts > "yesterday at noon"), VALUE),
    "truth and text": (lambda self, e: when(e.ok == "maybe"), VALUE),
    "one of": (lambda self, e: when(e.amount.is_in(1, "x")), VALUE),
    "between": (lambda self, e: when(e.amount.between(1, "x")), VALUE),
    "text in place of a number": (lambda self, e: self.n.set(hr.f.coalesce(e.amount, hr.lit("n/a"))), VALUE),
    "other branch": (lambda self, e: self.n.set(hr.case((e.amount > 1, 1), otherwise="none")), VALUE),
    "time and number": (lambda self, e: self.wake.set(e.ts + 60), LENGTH),
    "number and time": (lambda self, e: self.wake.set(60 + e.ts), LENGTH),
    "time less a number": (lambda self, e: self.wake.set(e.ts - 60), LENGTH),
    "difference of times and a number": (lambda self, e: when(e.ts - e.ts > 60), LENGTH),
    "time beside a number": (lambda self, e: when(e.ts > 20260101), TIME),
    "time among numbers": (lambda self, e: when(e.ts.is_in(20260101, 20260102)), TIME),
    "number that equals a time": (lambda self, e: when(e.amount == e.ts), TIME),
    "date beside a number": (lambda self, e: when(e.ts.cast("date") >= 20260101), DATE),
    "precedence": (lambda self, e: when(self.n.exists() & e.amount > 5), AROUND),
    "precedence of or": (lambda self, e: when(self.n.exists() | e.amount == 5), AROUND),
    "sum of texts": (lambda self, e: self.text.set(e.card + e.card), JOINED),
    "half a number": (lambda self, e: self.n.set(e.amount / 2), CUTS),
    "rounded": (lambda self, e: self.n.set(hr.f.round(e.price)), CUTS),
    "decimal": (lambda self, e: self.n.set(hr.expr("e.amount * 1.5BD")), CUTS),
    "constant fraction": (lambda self, e: self.n.set(hr.expr("5 / 2")), CUTS),
    "in an array": (lambda self, e: self.numbers.set(hr.f.array(e.price)), "cast the value, or declare the cell as array<double>"),
    "as a key": (lambda self, e: self.by_number.set(e.price, e.card), 'truncate it with .cast("bigint")'),
}
"""The handler, and how the hint begins."""

FINE: dict[str, Callable[[Cells, hr.Row], object]] = {
    "number in quotes": lambda self, e: when(e.amount < "5"),
    "day in quotes": lambda self, e: when(e.ts > "2026-01-01"),
    "truth in quotes": lambda self, e: when(e.ok == "yes"),
    "column of texts": lambda self, e: when(e.card == 5),
    "cast by hand": lambda self, e: when(hr.expr("e.amount < CAST('one' AS int)")),
    "function of a cast": lambda self, e: when(hr.expr("e.amount < int('one')")),
    "day and number": lambda self, e: when(e.day + 1 > e.day),
    "length of time": lambda self, e: self.wake.set(e.ts + hr.seconds(60)),
    "null": lambda self, e: self.n.set(None),
    "whole number of Python": lambda self, e: self.n.set(2.0),
    "whole constant": lambda self, e: self.n.set(hr.expr("6 / 2")),
    "decimal without a fraction": lambda self, e: self.n.set(hr.expr("CAST(e.amount AS decimal(20,0))")),
    "cut by hand": lambda self, e: self.n.set((e.amount / 2).cast("int")),
    "next lower number": lambda self, e: self.n.set(hr.f.floor(e.price)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_never_be(case: str) -> None:
    body, hint = REFUSED[case]
    with pytest.raises(hr.PlanError) as raised:
        job(body)()
    error = raised.value
    assert (error.code, (error.hint or "").startswith(hint)) == ("WRONG_TYPE", True), str(error)
    assert (
        error.site is not None
        and Path(error.site.file).name == Path(__file__).name
        and error.site.text.startswith((f'"{case}"', "with hr.when(condition)"))
    )


def test_all_that_is_meant() -> None:
    for body in FINE.values():
        job(body)()


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (lambda self, e: self.n.set(self.text.get()), "self.text.get()"),
        (lambda self, e: self.n.set(hr.f.upper(self.wake.at())), "upper(self.wake.at())"),
        (lambda self, e: self.n.set(hr.let(e.ts).get()), "local.get()"),
    ],
)
def test_what_a_handler_read_is_shown_as_it_was_written(body: Callable[[Cells, hr.Row], object], written: str) -> None:
    with pytest.raises(hr.PlanError) as raised:
        job(body)()
    assert raised.value.message.endswith(f"in `{written}`")


def test_text_beside_a_number() -> None:
    check_error(
        """
        WRONG_TYPE: charges.filter: the string 'one' is not a whole number, in `amount < 'one'`
          at test_wrong_types.py:*: cut = charges.filter("amount < 'one'")
          hint: write a whole number, such as 5; or cast the column: CAST(amount AS string)
          more: headrace error WRONG_TYPE
        """,
        beside_a_number,
    )


def beside_a_number() -> None:
    cut = charges.filter("amount < 'one'")
    _ = cut.schema


class Mixed(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        hr.emit(v=e.amount)
        hr.emit(v=e.card)


class Pair(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        hr.emit(card=e.card)

    def on_refund(self, r: hr.Row) -> None:
        hr.emit(card=r.card)


def test_numbers_and_texts_in_one_column() -> None:
    check_error(
        """
        WRONG_TYPE: charges.Mixed: the emitted column `v` is STRING here and INT in an earlier emit, in `e.card`
          at test_wrong_types.py:*: hr.emit(v=e.card)
          hint: cast one of them, so that the column has one type
          more: headrace error WRONG_TYPE
        """,
        lambda: hr.job("fraud", charges.key_by("card").process(Mixed).write.memory(name="out")),
    )


def test_numbers_and_texts_in_one_key() -> None:
    refunds = hr.read.memory([], "card int", name="refunds")
    check_error(
        """
        KEYS_DIFFER: charges.Pair: the key `card` of the main input is STRING, `card` of the input `refund` is INT
          at test_wrong_types.py:*: paired = charges.key_by("card").process(Pair, refund=refunds.key_by("card"))
          hint: cast one of them in key_by, so that all inputs are keyed by one type
          more: headrace error KEYS_DIFFER
        """,
        lambda: paired(refunds),
    )


def paired(refunds: hr.Stream) -> hr.Job:
    paired = charges.key_by("card").process(Pair, refund=refunds.key_by("card"))
    return hr.job("fraud", paired.write.memory(name="out"))
