"""In which order the rows of a program's inputs are handled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr

rows = hr.read.memory([], "k string, n int", name="rows")
rules = hr.read.memory([], "name string, most int", name="rules")


class Ruled(hr.Program):
    limits = hr.Broadcast("string", "int")

    def on_event(self, e):
        hr.emit(k=self.key.k, n=e.n)

    def on_rules(self, r):
        self.limits.set(r.name, r.most)


@pytest.mark.parametrize(("steady", "orders"), [(True, ["columns", "columns"]), (False, [None, "columns"])])
def test_rows_for_all_keys_are_always_sorted(steady: bool, orders: list[str | None]) -> None:
    """Each partition keeps a map of its own, and two rules of one name must leave the same entry in all of them."""
    program: Any = rows.key_by("k").process(Ruled, rules=hr.broadcast(rules), order="arrival")._node
    at: Any = SimpleNamespace(schema=lambda stream: SimpleNamespace(ddl=""), key_schema=lambda node: "k STRING")
    assert [inlet.order for inlet in program.inlets(at, steady)] == orders
