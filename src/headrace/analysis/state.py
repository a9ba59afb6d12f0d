"""State: whether what a program keeps for a key is ever given back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.ops import Program
from headrace.plan import Fact, Plan, fact


@fact("state")
def state(plan: Plan) -> Mapping[str, Fact]:
    """For each program, which cells it has and which of them some handler clears."""
    return {name: _state(node) for name, node in plan.nodes.items() if isinstance(node, Program)}


def _state(node: Program) -> Fact:
    cells = [cell for cell in node.traced.cells if cell.kind not in ("timer", "broadcast")]
    keys = [name for name, _ in node.keys[0]]
    of = f"a key of {', '.join(keys)}" if keys else "the whole stream"
    shared = ", ".join(cell.name for cell in node.traced.cells if cell.kind == "broadcast")
    held = " and the rows that wait for the watermark" if node.order == "time" else ""
    held += f"; {shared} for all keys, once in each partition" if shared else ""
    if not cells:
        return Fact("bounded", f"bounded: nothing for {of} but pending timers{held}")
    cleared = {name for handler in node.traced.to_json()["handlers"] for name in _cleared(handler["body"])}
    expiring = {cell.name for cell in cells if cell.expires_ms is not None}
    given = "the program clears it" + (" or it expires" if expiring else "") if cleared else "it expires"
    cleared |= expiring
    kept = ", ".join(cell.name for cell in cells if cell.name not in cleared)
    names = ", ".join(cell.name for cell in cells)
    if kept and keys:
        return Fact("grows with keys", f"grows with the number of keys: {kept} is kept for {of} and never cleared")
    if kept:
        return Fact("bounded", f"bounded: {names}, once{held}")
    return Fact("given back", f"given back when {given}: {names} for {of}{held}")


def _cleared(body: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """The cells of which statements take something away."""
    cells = {step["it"]: step["cell"] for step in _inside(body) if step["do"] == "each"}
    for step in _inside(body):
        if step["do"] == "clear" or (step["do"] == "set" and step["value"].upper() == "NULL"):
            yield step["cell"]
        elif step["do"] == "replace" and "value" not in step:
            yield cells[step["it"]]


def _inside(body: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """All statements of a body, those inside others too."""
    for statement in body:
        yield statement
        for inner in [statement.get("body", ()), *(inner for _, inner in statement.get("branches", ()))]:
            yield from _inside(inner)
