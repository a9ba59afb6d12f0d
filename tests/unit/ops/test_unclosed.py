"""Results that are to be sent when windows close, where nothing closes."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.ops.unclosed import require_closing
from tests.unit.errors import check_error

plain = hr.read.memory([], "card string, ts timestamp, amount int", name="charges")
charges = plain.watermark("ts", "5 minutes")
closed = charges.window(hr.tumble("ts", "1 hour"), emit="close")


class Count(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        hr.emit(e)


def checked(stream: hr.Stream) -> None:
    require_closing([stream.write.memory(name="out")._use()])


def test_groups_without_a_column_of_the_window() -> None:
    check_error(
        """
        NEVER_CLOSES: charges.window sends the results of a window when it closes, but the groups of spent have no column of it
          at test_unclosed.py:*: return closed.group_by("card").agg(spent="sum(amount)").named("spent")
          hint: group, join or rank by `window_end`, or emit each change: emit="changes"
          more: headrace error NEVER_CLOSES
        """,
        lambda: checked(groups_of_cards()),
    )


def groups_of_cards() -> hr.Stream:
    return closed.group_by("card").agg(spent="sum(amount)").named("spent")


def test_windows_of_which_nothing_is_computed() -> None:
    check_error(
        """
        NEVER_CLOSES: charges.window sends the results of a window when it closes, but nothing groups by the window
          at test_unclosed.py:*: closed = charges.window(hr.tumble("ts", "1 hour"), emit="close")
          hint: group, join or rank by `window_end`, or emit each change: emit="changes"
          more: headrace error NEVER_CLOSES
        """,
        lambda: checked(closed.filter("amount > 1")),
    )


def test_windows_without_a_watermark() -> None:
    check_error(
        """
        NO_WATERMARK: charges.window sends the results of a window when it closes, but `ts` is not event time, so none ever does
          at test_unclosed.py:*: windowed = plain.window(hr.tumble("ts", "1 hour"), emit="close")
          hint: give the source a watermark, .watermark("ts", "5 minutes"), or emit each change: emit="changes"
          more: headrace error NO_WATERMARK
        """,
        lambda: checked(without_watermark()),
    )


def without_watermark() -> hr.Stream:
    windowed = plain.window(hr.tumble("ts", "1 hour"), emit="close")
    return windowed.group_by("window_end").agg(n="count(*)")


@pytest.mark.parametrize("mode", [None, "append"])
def test_a_watermark_that_was_forgotten_is_missed_before_the_kind_of_the_sink(mode: str | None) -> None:
    check_error(
        """
        NO_WATERMARK: charges.window sends the results of a window when it closes, but `ts` is not event time, so none ever does
          at test_unclosed.py:*: windowed = plain.window(hr.tumble("ts", "1 hour"), emit="close")
          hint: give the source a watermark, .watermark("ts", "5 minutes"), or emit each change: emit="changes"
          more: headrace error NO_WATERMARK
        """,
        lambda: without_watermark().write.files("o", format="json", mode=mode),
    )


def test_groups_that_never_close_are_reported_before_the_kind_of_the_sink() -> None:
    with pytest.raises(hr.PlanError, match="NEVER_CLOSES: "):
        groups_of_cards().write.files("o", format="json")


spent = closed.group_by("card", "window_end").agg(spent="sum(amount)")


@pytest.mark.parametrize(
    "stream",
    [
        spent,
        spent.group_by("card").agg(most="max(spent)"),
        spent.key_by("card").process(Count),
        closed.filter("amount > 1").top(1, by="amount", per="window_start"),
        spent.output("late"),
    ],
)
def test_what_closes(stream: hr.Stream) -> None:
    checked(stream)


def test_a_program_behind_windows() -> None:
    with pytest.raises(hr.PlanError, match=r"NEVER_CLOSES: charges\.window sends .* the groups of charges\.Count have no column of it"):
        checked(closed.key_by("card").process(Count))
