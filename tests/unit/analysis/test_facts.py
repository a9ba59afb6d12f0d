"""Boundedness, state and delay."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
from headrace.analysis.boundedness import bounded
from headrace.ops import Temporal
from headrace.plan import Plan, facts

timed = hr.read.memory([], "card string, amount int, ts timestamp", name="charges").watermark("ts", "5 minutes")


class Kept(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e: hr.Row) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), hr.lit(0)) + 1)
        hr.emit(card=e.card, n=self.n.get())


class Forgetting(hr.Program):
    n = hr.Value("bigint")
    forget = hr.Timer()

    def on_event(self, e: hr.Row) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), hr.lit(0)) + 1)
        self.forget.set(e.ts + hr.hours(1))
        hr.emit(card=e.card, n=self.n.get())

    def on_forget(self, at: hr.Column) -> None:
        with hr.when(self.n.exists()):
            self.n.clear()


class Clocked(hr.Program):
    due = hr.Timer(clock="processing")

    def on_event(self, e: hr.Row) -> None:
        self.due.set(e.ts)

    def on_due(self, at: hr.Column) -> None:
        hr.emit(at=at)


class Entries(hr.Program):
    """Takes entries away one by one, lets others expire, and reads what is for all keys."""

    open = hr.Map("int", "timestamp")
    recent = hr.List("int", expires="1 hour")
    rules = hr.Broadcast("string", "int")

    def on_rules(self, r: hr.Row) -> None:
        self.rules.set(r.card, 1)

    def on_event(self, e: hr.Row) -> None:
        self.recent.append(1)
        with hr.each(self.open) as it:
            with hr.when(it.value < e.ts):
                it.remove()
        hr.emit(n=self.rules.size())


def plan(*sinks: hr.Sink) -> Plan:
    return Plan.of("job", [sink._use() for sink in sinks])


def test_a_job_is_bounded_if_all_its_sources_are(tmp_path: Path) -> None:
    followed = hr.read.files(tmp_path, format="json", schema="a int", follow=True, by="time", name="followed")
    assert bounded(plan(timed.write.memory()))
    assert not bounded(plan(timed.write.memory(), followed.write.memory()))
    assert facts(plan(followed.write.memory()), "rows")["followed"].text == "unbounded, append only, in the order of time"
    topic = hr.read.kafka("charges", servers="nowhere:1", value="raw", name="topic")
    assert facts(plan(topic.write.memory()), "rows")["topic"].text == "unbounded, append only, in the order of offset"


def test_state() -> None:
    def state(stream: hr.Stream) -> str:
        return next(iter(facts(plan(stream.write.memory()), "state").values())).text

    rest = "for a key of card and the rows that wait for the watermark"
    assert state(timed.key_by("card").process(Kept)) == "grows with the number of keys: n is kept for a key of card and never cleared"
    assert state(timed.key_by("card").process(Forgetting)) == f"released when the program clears it: n {rest}"
    assert state(timed.key_by("card").process(Clocked)) == "released when they fire: pending timers of a key of card"
    assert state(timed.process(Kept, order="arrival")) == "bounded: n, once"
    assert state(timed.key_by("card").process(Entries, rules=hr.broadcast(timed))) == (
        "grows with the entries of rules, which are never removed; released when the program clears it or it expires: open, "
        "recent; rules for all keys, once in each partition"
    )


def test_order() -> None:
    def order(stream: hr.Stream) -> str:
        return next(iter(facts(plan(stream.write.memory()), "order").values())).text

    late = hr.read.memory([], "card string, ts timestamp", name="late").watermark("ts", "1 hour", idle="1 minute")

    others = hr.read.memory([], "card string, amount int, ts timestamp", name="others").watermark("ts", "2 hours")

    class Both(hr.Program):
        def on_event(self, e: hr.Row) -> None:
            hr.emit(card=e.card)

        def on_other(self, o: hr.Row) -> None:
            hr.emit(card=o.card)

    assert order(timed.key_by("card").process(Kept)) == "in the order of event time, held for 5 minutes of event time"
    assert (
        order(timed.key_by("card").process(Both, other=late.key_by("card")))
        == "in the order of event time, held for 1 hour of event time; a silent source holds them back: charges"
    )
    # what else its query reads holds it back too
    beside = timed.key_by("card").process(Kept).named("kept").write.memory(name="a"), timed.union(others).write.memory(name="b")
    assert (
        facts(plan(*beside), "order")["kept"].text
        == "in the order of event time, held for 2 hours of event time; a silent source holds them back: charges, others"
    )
    # but not what operators of processing time read, which are another query
    clocked = timed.union(others).key_by("card").process(Clocked, order="arrival")
    passing = hr.Stream(Temporal(timed.union(others)._node, (), ("ts + INTERVAL 1 HOUR",)))
    for apart in (clocked, passing):
        text = facts(plan(beside[0], apart.write.memory(name="b")), "order")["kept"].text
        assert text == "in the order of event time, held for 5 minutes of event time"
    assert order(timed.key_by("card").process(Kept, order="arrival")) == "as they arrive; results depend on the order of arrival"
    assert order(timed.key_by("card").process(Forgetting, order="arrival")).startswith("as they arrive, timers at the end of an epoch")
    assert order(timed.key_by("card").process(Clocked)).startswith("as they arrive, timers by the wall clock")
