"""Lookups: what is kept of outside tables, how they are asked, and whether a second run gives the same."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import Lookup, kinds
from headrace.ops.lookup import over_changes
from headrace.plan import Fact, Plan, fact
from headrace.schema import shown


@fact("lookup")
def lookups(plan: Plan) -> Mapping[str, Fact]:
    """For each lookup, how its table is asked, and what of the answer depends on when a row arrives."""
    return {name: Fact(_value(node), f"{_asked(node)}; {_when(node)}") for name, node in plan.nodes.items() if isinstance(node, Lookup)}


def require_steady(plan: Plan) -> None:
    """Refuse lookups for rows that may be taken away, in a table that may have changed by then."""
    found = kinds([plan.nodes[name] for name in plan.sinks])
    for node in plan.nodes.values():
        if isinstance(node, Lookup) and found.get(node.input) == "changes" and not node.repeatable:
            raise over_changes(node)


def _value(node: Lookup) -> dict[str, object]:
    return {"repeatable": node.repeatable, "whole": node.connect().traits.whole, "cache_ms": node.cache_ms, "in_flight": node.in_flight}


def _asked(node: Lookup) -> str:
    connected = node.connect()
    if connected.traits.whole:
        again = "when the job starts" if connected.refresh_ms is None else f"again when it is older than {shown(connected.refresh_ms)}"
        return f"the whole table is kept in the memory of each executor, loaded {again}"
    keys = "one key" if node.batch == 1 else f"at most {node.batch} keys"
    requests = f"{keys} a request, at most {node.in_flight} requests at once on each executor"
    kept = f"answers are kept for {shown(node.cache_ms)}, of {node.cache_keys:,} keys" if node.cache_ms else "no answer is kept"
    return f"{requests}; {kept}"


def _when(node: Lookup) -> str:
    if node.constant:
        return "a row gets the same whenever it arrives: the table is said to be constant"
    why = node.connect().traits.why
    if node.repeatable:
        return f"a row gets the same whenever it arrives: {why}"
    return f"a row gets what is there when it arrives, so a second run may give other results: {why}"
