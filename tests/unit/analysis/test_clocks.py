"""Which time an operator goes by, and what the end of bounded input ends for good."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.analysis.clocks import clocks
from headrace.plan import Plan

rows = hr.read.memory([], "card string, amount int, ts timestamp", name="charges")
timed = rows.watermark("ts", "5 minutes")


class Plain(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e: Any) -> None:
        self.n.set(1)
        hr.emit(card=e.card)


class Woken(hr.Program):
    due = hr.Timer(clock="processing")

    def on_event(self, e: Any) -> None:
        self.due.set(e.ts)

    def on_due(self, at: Any) -> None:
        hr.emit(at=at)


def test_what_ends_with_its_input() -> None:
    def ends_of(stream: hr.Stream) -> set[tuple[str, bool]]:
        return {(clock.name, clock.final) for clock in clocks(Plan.of("job", [stream.write.memory()._use()])).values()}

    never, ends = {("none", False)}, {("event", True)}
    # a query is right at the end of each epoch, whether its source has a watermark or not
    for stream in (rows, timed):
        assert ends_of(stream.group_by("card").agg(n="count(*)")) == never
        assert ends_of(stream.top(1, by="amount", per="card")) == never
        assert ends_of(stream.join(rows.rename({"amount": "other"}).select("card", "other"), on="card")) == never
        assert ends_of(stream.key_by("card").process(Plain, order="arrival")) == never
    assert ends_of(timed.key_by("card").process(Plain)) == ends
    assert ends_of(timed.window(hr.tumble("ts", "1 hour")).group_by("window_end").agg(n="count(*)")) == ends
    assert ends_of(timed.group_by("card", expires="1 day").agg(n="count(*)")) == ends
    # the clock of the machine goes on
    assert ends_of(rows.key_by("card").process(Woken)) == {("processing", False)}
