"""How often a row counts in a sink: what the connectors promise, and which texts of the plan break it."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace.plan import facts
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

charges = hr.read.memory([], "card string, amount int, tags array<string>, ts timestamp", name="charges").watermark("ts", "5 minutes")


class Plain(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        hr.emit(card=e.card)


class Drawn(hr.Program):
    """Says by chance which charges are looked at."""

    drawn = hr.Value("double")

    def on_event(self, e: hr.Row) -> None:
        self.drawn.set(hr.f.rand())
        with hr.when(self.drawn.get() > 0.9):
            hr.emit(card=e.card)


def guarantees(*sinks: hr.Sink) -> dict[str, str]:
    return {name: one.text for name, one in facts(hr.job("job", *sinks).plan, "guarantee").items()}


def test_what_the_connectors_promise(tmp_path: Path) -> None:
    program = charges.key_by("card").process(Plain)
    assert guarantees(
        program.write.files(tmp_path / "out", format="json", name="a"),
        program.write.console(name="b"),
        program.write.foreach_batch(print, name="c"),
        charges.key_by("card").process(Plain, order="arrival").named("arrival").write.memory(name="d"),
    ) == {
        "a": "exactly once: a manifest per epoch decides which files belong to the result; the rows stay in this process",
        "b": "at least once: a repeated epoch is printed again",
        "c": "at least once: the function is called again for an epoch that was interrupted",
        "d": "exactly once: an epoch that is written again replaces its rows, as long as the process runs; the rows stay in this "
        "process; arrival handles rows as they arrive; those of an epoch are sorted, so that a replay is equal",
    }


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (charges.filter("rand() > 0.5", "card != 'uuid()'"), "rand() > 0.5 in charges.filter"),
        (charges.with_columns("concat(unix_timestamp(), uuid()) AS seen"), "concat(unix_timestamp(), uuid()) in charges.with_columns"),
        (charges.explode("tags"), None),
        (charges.with_columns(tags=hr.f.shuffle(hr.col("tags"))).explode("tags"), "shuffle(tags) in charges.with_columns"),
        (charges.key_by(hr.expr("cast(rand() * 8 AS int)").alias("part")).process(Plain), "cast(rand() * 8 AS int) in charges.Plain"),
        (charges.key_by("card").process(Drawn), "rand() in charges.Drawn"),
        (charges.select("card", now=hr.col("ts")).filter("now IS NOT NULL"), None),
    ],
)
def test_texts_that_give_other_values_again(stream: hr.Stream, why: str | None) -> None:
    text = guarantees(stream.write.memory(name="out"))["out"]
    if why is None:
        assert text.startswith("exactly once: ")
    else:
        assert text == f"at least once: {why} may give other values when an epoch is replayed"


def test_the_time_of_an_epoch_is_the_same_when_it_is_run_again() -> None:
    timed = charges.with_columns("unix_timestamp() AS seen", day=hr.expr("current_date()"))
    text = guarantees(timed.write.memory(name="out"))["out"]
    assert text.startswith("exactly once: ")
    assert text.endswith("; unix_timestamp(), current_date() in charges.with_columns follows the wall clock")


def test_a_guarantee_that_a_text_weakens() -> None:
    job = hr.job("fraud", charges.with_columns("uuid() AS id").write.memory(name="a"), charges.write.console(name="b"))
    check_error(
        """
        GUARANTEE: a is not written exactly once, but at least once: uuid() in charges.with_columns may give other values when an epoch is replayed (1 more of its sinks are not, either)
          at test_guarantee.py:*: job = hr.job("fraud", charges.with_columns("uuid() AS id").write.memory(name="a"), charges.write.console(name="b"))
          hint: use an exactly-once sink, such as stream.write.files(...); job.explain() shows the reasons for each sink
          more: headrace error GUARANTEE
        """,
        lambda: job.require("exactly once"),
    )
