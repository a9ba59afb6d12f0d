"""What all keys read: what is recorded of it, and where it is refused."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.program import Traced, trace
from tests.unit.errors import check_error

INPUTS = {"event": ("card", "country", "amount"), "rules": ("country", "limit")}


class Limits(hr.Program):
    """What the programs below are cut out of."""

    limits = hr.Broadcast("string", "int")
    n = hr.Value("int")

    def on_rules(self, r):
        self.limits.set(r.country, r.limit)

    def on_event(self, e):
        hr.emit(limit=self.limits.get(e.country))


def traced(broadcast: tuple[str, ...] = ("rules",), /, **handlers: Any) -> Traced:
    return trace(type("P", (Limits,), handlers), name="p", key=("card",), inputs=INPUTS, broadcast=broadcast)


def test_what_is_recorded() -> None:
    document = traced().to_json()
    assert [(cell["kind"], cell["key"], cell["type"]) for cell in document["cells"][:1]] == [("broadcast", "string", "int")]
    assert [(handler["on"], handler["kind"]) for handler in document["handlers"]] == [("event", "input"), ("rules", "broadcast")]
    assert Traced.from_json(document) == traced()


def test_a_key_changes_what_all_read() -> None:
    def on_event(self, e):
        hr.emit(limit=1)
        self.limits.remove(e.country)

    check_error(
        """
        BROADCAST_USE: `limits` is shared by all keys, but on_event runs for one key
          at test_broadcast.py:*: self.limits.remove(e.country)
          hint: write it in the handler of a broadcast input: .process(P, rules=hr.broadcast(stream)), on_rules
          more: headrace error BROADCAST_USE
        """,
        lambda: traced(on_event=on_event),
    )


def test_a_key_changes_what_all_read_in_a_loop() -> None:
    def on_event(self, e):
        hr.emit(limit=1)
        with hr.each(self.limits) as it:
            it.set(0)

    check_error(
        """
        BROADCAST_USE: `limits` is shared by all keys, but on_event runs for one key
          at test_broadcast.py:*: it.set(0)
          hint: write it in the handler of a broadcast input: .process(P, rules=hr.broadcast(stream)), on_rules
          more: headrace error BROADCAST_USE
        """,
        lambda: traced(on_event=on_event),
    )


def test_a_cell_of_a_key_where_there_is_none() -> None:
    def on_rules(self, r):
        self.limits.set(r.country, self.n.get())

    check_error(
        """
        BROADCAST_USE: `n` is kept per key, but on_rules runs without a key
          at test_broadcast.py:*: self.limits.set(r.country, self.n.get())
          hint: to share state between keys, declare n = hr.Broadcast(key, value)
          more: headrace error BROADCAST_USE
        """,
        lambda: traced(on_rules=on_rules),
    )


def test_the_key_where_there_is_none() -> None:
    def on_rules(self, r):
        self.limits.set(self.key.card, r.limit)

    check_error(
        """
        BROADCAST_USE: on_rules is called once for all keys, so there is no self.key
          at test_broadcast.py:*: self.limits.set(self.key.card, r.limit)
          hint: keep shared state in a hr.Broadcast; the handlers of keyed inputs can read it
          more: headrace error BROADCAST_USE
        """,
        lambda: traced(on_rules=on_rules),
    )


def test_emitting_for_all_keys() -> None:
    def on_rules(self, r):
        hr.emit(limit=r.limit)

    check_error(
        """
        BROADCAST_USE: on_rules runs in every partition for broadcast rows, so its rows would be emitted once per partition
          at test_broadcast.py:*: hr.emit(limit=r.limit)
          hint: emit in the handler of a keyed input; the broadcast stream can have its own sink
          more: headrace error BROADCAST_USE
        """,
        lambda: traced(on_rules=on_rules),
    )


def test_nothing_writes_it() -> None:
    check_error(
        """
        BROADCAST_USE: P: the Broadcast `limits` is never written, because no input is broadcast
          at test_broadcast.py:*: limits = hr.Broadcast("string", "int")
          hint: broadcast an input, .process(P, rules=hr.broadcast(stream)), and write the cell in on_rules
          more: headrace error BROADCAST_USE
        """,
        lambda: traced(()),
    )


def test_nothing_keeps_it() -> None:
    class P(hr.Program):
        def on_rules(self, r):
            pass

        def on_event(self, e):
            hr.emit(n=1)

    check_error(
        """
        BROADCAST_USE: P: the input `rules` is broadcast, but the program has no Broadcast cell
          at test_broadcast.py:*: lambda: trace(P, name="p", key=("card",), inputs=INPUTS, broadcast=("rules",)),
          hint: declare one, limits = hr.Broadcast(key, value), or key the stream like the others
          more: headrace error BROADCAST_USE
        """,
        lambda: trace(P, name="p", key=("card",), inputs=INPUTS, broadcast=("rules",)),
    )


def test_no_stream() -> None:
    check_error(
        """
        BAD_INPUT: hr.broadcast expects a stream, got 'rules'
          at test_broadcast.py:*: lambda: hr.broadcast("rules"),
          hint: write .process(P, rules=hr.broadcast(rules)), without key_by
          more: headrace error BAD_INPUT
        """,
        lambda: hr.broadcast("rules"),
    )
