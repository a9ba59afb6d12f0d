"""Cells whose first value is an expression over the cells of the version before: in a job, with its checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.spark.engine.jobs import charges, files, lines, minute, put
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")


class Before(hr.Program):
    """Sums of small and of large charges, as the first version had them."""

    small = hr.Value("int")
    large = hr.Value("int")
    text = hr.Value("string")
    xs = hr.List("int")
    wake = hr.Timer()

    def on_event(self, e: Any) -> None:
        with hr.when(e.amount < 10):
            self.small.set(hr.f.coalesce(self.small.get(), 0) + e.amount.cast("int"))
        with hr.otherwise():
            self.large.set(hr.f.coalesce(self.large.get(), 0) + e.amount.cast("int"))
        self.text.set(e.amount.cast("string"))
        self.xs.append(e.amount.cast("int"))
        self.wake.set(e.ts + hr.minutes(30))
        hr.emit(card=self.key.card, seen="")

    def on_wake(self, at: Any) -> None:
        hr.emit(card=self.key.card, seen="wake")


class After(hr.Program):
    """One sum of all, and what else can be computed."""

    small = hr.Value("int")
    total = hr.Value("bigint", was=hr.f.coalesce("small", 0) + hr.f.coalesce("large", 0), expires="2 minutes")
    text = hr.Value("decimal(10,2)", was=hr.expr("CAST(text AS decimal(10,2))"))
    later = hr.Timer(was=hr.col("wake") + hr.minutes(1))

    def on_event(self, e: Any) -> None:
        cells = hr.struct(small=self.small.get(), total=self.total.get(), text=self.text.get(), later=self.later.at())
        hr.emit(card=self.key.card, seen=hr.f.to_json(cells))
        self.small.set(100)
        with hr.when(e.amount == 7):
            self.total.set(hr.f.coalesce(self.total.get(), 0) + 7)

    def on_later(self, at: Any) -> None:
        hr.emit(card=self.key.card, seen=hr.f.concat(hr.lit("later "), hr.f.date_format(at, hr.lit("HH:mm:ss"))))


class Last(hr.Program):
    """Computed from what was computed, for cards that were not worked on in between, too; `total` says what it always said."""

    total = After.total
    double = hr.Value("double", was=hr.col("total") * 2 + hr.col("small"))

    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card, seen=hr.f.to_json(hr.struct(total=self.total.get(), double=self.double.get())))


def job(folder: Path, program: Any) -> hr.Job:
    sums = charges(folder / "in").key_by("card").process(program, order="arrival").named("sums")
    return hr.job("sums", sums.write.files(folder / "out", format="json", name="out"))


def step(folder: Path, program: Any, *rows: tuple[str, str], flush: bool = False) -> list[str]:
    """The next version of the job with a new file of cards and amounts; what it wrote."""
    number = len(list((folder / "in").glob("*"))) + 1
    put(folder / "in", f"{number:02}.json", [(card, amount, minute(number)) for card, amount in rows])
    known = len(lines(folder / "out")) if number > 1 else 0
    job(folder, program).run(checkpoint=folder / "state", flush=flush)
    return [f"{row['card']} {row['seen']}" for row in sorted(lines(folder / "out")[known:], key=lambda row: (row["card"], row["seen"]))]


FIRST = (("a", "1.00"), ("a", "20.00"), ("b", "2.00"), ("c", "30.00"), ("d", "4.00"))


def test_a_new_version_computes_its_cells(tmp_path: Path) -> None:
    step(tmp_path, Before, *FIRST)
    assert step(tmp_path, After, ("a", "7.00"), ("b", "1.00"), ("e", "1.00")) == [
        'a {"small":1,"total":21,"text":20.00,"later":"2026-01-01T00:32:00.000Z"}',
        'b {"small":2,"total":2,"text":2.00,"later":"2026-01-01T00:32:00.000Z"}',
        "e {}",
    ]
    # `was` stays in the source and is not asked again
    assert step(tmp_path, After, ("a", "1.00"), ("b", "1.00"), ("e", "1.00")) == [
        'a {"small":100,"total":28,"text":20.00,"later":"2026-01-01T00:32:00.000Z"}',
        'b {"small":100,"total":2,"text":2.00,"later":"2026-01-01T00:32:00.000Z"}',
        'e {"small":100}',
    ]
    assert step(tmp_path, After) == []
    # What was computed does not expire until it is set again, as a's was. The watermark has not passed that yet, so it could still be read.
    assert step(tmp_path, Last, *((card, "1.00") for card in "abcde"), flush=True) == [
        'a {"double":156.0}',
        'b {"total":2,"double":104.0}',
        'c {"total":30}',
        'd {"total":4,"double":12.0}',
        "e {}",
    ]
    stored = json.loads((tmp_path / "state" / "job.json").read_text())["identity"]["queries"][0]["entries"]
    texts = [{cell["name"]: cell.get("computed") for cell in one["layouts"][-1]["cells"]} for one in stored if one["kind"] == "program"]
    assert texts == [{"total": None, "double": "total * 2 + small"}]


def test_a_fresh_checkpoint_knows_nothing_of_it(tmp_path: Path) -> None:
    assert step(tmp_path, After, ("a", "7.00")) == ["a {}"]
    assert step(tmp_path, After, ("a", "7.00"), flush=True) == ['a {"small":100,"total":7}']


def test_a_computed_timer_rings_when_its_card_was_worked_on(tmp_path: Path) -> None:
    step(tmp_path, Before, *FIRST)
    rang = [seen for seen in step(tmp_path, After, ("a", "1.00"), ("b", "1.00"), flush=True) if "{" not in seen]
    # the others are woken by the alarm of the timer they had
    assert rang == ["a later 00:32:00", "b later 00:32:00", "c later 00:32:00", "d later 00:32:00"]


class Unknown(Before):
    total = hr.Value("bigint", was=hr.col("smal") + hr.col("large"))


class OfList(Before):
    total = hr.Value("bigint", was=hr.f.size("xs"))


class OfNothing(Before):
    total = hr.Value("bigint", was=hr.expr("other.field"))


class Wrong(Before):
    total = hr.Value("bigint", was=hr.col("text"))


class WrongKind(Before):
    total = hr.Timer(was=hr.col("small"))

    def on_total(self, at: Any) -> None:
        hr.emit(card=self.key.card, seen="total")


class Random(Before):
    total = hr.Value("double", was=hr.f.rand())


class Summed(Before):
    total = hr.Value("bigint", was=hr.f.sum("small"))


class Queried(Before):
    total = hr.Value("bigint", was=hr.expr("small + missing_function(large)"))


def test_an_expression_that_does_not_fit_touches_nothing(tmp_path: Path) -> None:
    step(tmp_path, Before, *FIRST)
    before = files(tmp_path)
    check_error(
        """
        BAD_WAS: sums.total: the previous version had no cell `smal`, in `smal + large`
          at test_computed.py:*: total = hr.Value("bigint", was=hr.col("smal") + hr.col("large"))
          hint: did you mean `small`? It had: small, large, text, wake
          more: headrace error BAD_WAS
        """,
        lambda: job(tmp_path, Unknown).run(checkpoint=tmp_path / "state"),
    )
    check_error(
        """
        BAD_WAS: sums.total: the cell xs is a list of int, which an expression cannot read, in `size(xs)`
          at test_computed.py:*: total = hr.Value("bigint", was=hr.f.size("xs"))
          hint: an expression reads values and timers without keys; a handler reads all cells
          more: headrace error BAD_WAS
        """,
        lambda: job(tmp_path, OfList).run(checkpoint=tmp_path / "state"),
    )
    check_error(
        """
        BAD_WAS: sums.total: the previous version had no cell `other.field`, in `other.field`
          at test_computed.py:*: total = hr.Value("bigint", was=hr.expr("other.field"))
          hint: it had: small, large, text, wake
          more: headrace error BAD_WAS
        """,
        lambda: job(tmp_path, OfNothing).run(checkpoint=tmp_path / "state"),
    )
    check_error(
        """
        BAD_WAS: sums.total: the cell `total` is BIGINT, but the value is STRING, in `text`
          at test_computed.py:*: total = hr.Value("bigint", was=hr.col("text"))
          hint: cast the value, or declare the cell as string
          more: headrace error BAD_WAS
        """,
        lambda: job(tmp_path, Wrong).run(checkpoint=tmp_path / "state"),
    )
    check_error(
        """
        BAD_WAS: sums.total: the cell `total` is TIMESTAMP, but the value is INT, in `small`
          at test_computed.py:*: total = hr.Timer(was=hr.col("small"))
          hint: cast the value, or declare the cell as int
          more: headrace error BAD_WAS
        """,
        lambda: job(tmp_path, WrongKind).run(checkpoint=tmp_path / "state"),
    )
    check_error(
        """
        BAD_WAS: sums.total: the expression is not deterministic, in `rand()`
          at test_computed.py:*: total = hr.Value("double", was=hr.f.rand())
          hint: use the clock and random numbers in handlers only: a first value must not depend on when its key is next used
          more: headrace error BAD_WAS
        """,
        lambda: job(tmp_path, Random).run(checkpoint=tmp_path / "state"),
    )
    check_error(
        """
        BAD_WAS: sums.total: an aggregate function cannot be used here, in `sum(small)`
          at test_computed.py:*: total = hr.Value("bigint", was=hr.f.sum("small"))
          hint: aggregate with .group_by("card").agg(total="sum(amount)"), or for each row with hr.f.sum("amount").over(per="card"); in a program use an hr.Aggregate
          more: headrace error BAD_WAS
        """,
        lambda: job(tmp_path, Summed).run(checkpoint=tmp_path / "state"),
    )
    check_error(
        """
        BAD_WAS: sums.total: Spark has no function `missing_function`, in `small + missing_function(large)`
          at test_computed.py:*: total = hr.Value("bigint", was=hr.expr("small + missing_function(large)"))
          hint: if it is your own function, register it on the session before you build the job: spark.udf.registerJavaFunction(name, class), for an aggregate spark.udf.registerJavaUDAF(name, class)
          more: headrace error BAD_WAS
        """,
        lambda: job(tmp_path, Queried).run(checkpoint=tmp_path / "state"),
    )
    assert files(tmp_path) == before
    assert len(step(tmp_path, After, ("a", "7.00"))) == 1


class NoText(Before):
    total = hr.Value("bigint", was=hr.expr("small +"))


def test_a_text_that_is_none_is_refused_without_a_checkpoint(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", [("a", "1.00", minute(1))])
    check_error(
        """
        BAD_SYNTAX: sums: Spark cannot read `small +` at end of input
          at test_computed.py:*: total = hr.Value("bigint", was=hr.expr("small +"))
          hint: write one Spark SQL expression; for a string constant use hr.lit(...)
          more: headrace error BAD_SYNTAX
        """,
        lambda: job(tmp_path, NoText),
    )


class Ratio(hr.Program):
    ratio = hr.Value("double", was=hr.col("large") / hr.f.coalesce("small", 0))

    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card, seen=hr.f.coalesce(self.ratio.get().cast("string"), hr.lit("null")))
        self.ratio.set(-1)


class Mended(Ratio):
    ratio = hr.Value("double", was=hr.expr("try_divide(large, small)"))


@pytest.mark.full
def test_an_expression_that_fails_for_a_card_loses_nothing(tmp_path: Path) -> None:
    step(tmp_path, Before, *FIRST)
    assert step(tmp_path, Ratio, ("a", "1.00")) == ["a 20.0"]

    before = files(tmp_path)
    for _ in range(2):
        check_error(
            """
            WAS_FAILED: sums: the first value of the cell ratio, `large / coalesce(small, 0)`, fails for the key {"card":"c"}: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error
              at test_computed.py:*: ratio = hr.Value("double", was=hr.col("large") / hr.f.coalesce("small", 0))
              hint: correct the expression, for example with try_add or coalesce, and start again: no state is lost, and converted keys keep theirs
              more: headrace error WAS_FAILED
            """,
            lambda: step(tmp_path, Ratio, ("a", "1.00"), ("c", "1.00")),
        )
        after = files(tmp_path)
        assert {name for name in before if after[name] != before[name]} <= {"state/errors.log"}
        # of the epoch there is its plan, and what tasks staged that did not fail
        assert not [name for name in set(after) - set(before) if "/commits/" in name or "/record/" in name or name.startswith("out/part")]
    assert sorted(step(tmp_path, Mended, ("a", "1.00"), ("c", "1.00"), ("d", "1.00"))) == ["a -1.0"] * 3 + ["c -1.0"] * 2 + [
        "c null",
        "d null",
    ]
