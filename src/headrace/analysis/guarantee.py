"""Guarantee: how often a row counts in each sink after crashes and restarts, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.analysis.boundedness import sources
from headrace.ops import Program, Sink
from headrace.plan import Fact, Node, Plan, fact, order
from headrace.plan.node import Role
from headrace.plan.step import steps

EXACTLY, LEAST, MOST = "exactly once", "at least once", "at most once"

# Functions that give something else when an epoch is run again.
_UNSTEADY = re.compile(
    r"\b(?:(rand|randn|random|uuid|shuffle|randstr|monotonically_increasing_id|now)\s*\(|(current_timestamp|current_date)\b)", re.IGNORECASE
)


@fact("guarantee")
def guarantee(plan: Plan) -> Mapping[str, Fact]:
    """For each sink, how often a row counts there."""
    return {name: _guarantee(node) for name, node in plan.nodes.items() if isinstance(node, Sink)}


def _guarantee(node: Sink) -> Fact:
    traits = node.connect().traits
    lost = [source for source in sources(node) if not source.connect().traits.replayable]
    if lost:
        why = "; ".join(f"{source.name} cannot be read again: {source.connect().traits.why}" for source in lost)
        return Fact(MOST, f"{MOST}: {why}")
    read = "; ".join(dict.fromkeys(source.connect().traits.why for source in sources(node)))
    if not traits.repeatable:
        return Fact(LEAST, f"{LEAST}: {traits.why}")
    unsteady = [f"{', '.join(found)} in {before.name}" for before in order([node]) if (found := _unsteady(before))]
    if unsteady:
        return Fact(LEAST, f"{LEAST}: {'; '.join(unsteady)} may give other values when an epoch is run again")
    return Fact(EXACTLY, "; ".join([f"{EXACTLY}: {traits.why}", *([read] if read else []), *_caveats(node)]))


def _caveats(node: Sink) -> Iterable[str]:
    """What a reader of the result should know although every row counts once."""
    for before in order([node]):
        if isinstance(before, Program) and before.order == "arrival":
            if before.clock == "processing":
                yield f"{before.name} follows the wall clock"
            else:
                yield f"{before.name} takes rows as they arrive; those of an epoch are sorted, so that a replay is equal"


def _unsteady(node: Node) -> list[str]:
    return sorted({(match[1] or match[2]).lower() for text in _texts(node) for match in _UNSTEADY.finditer(text)})


def _texts(node: Node) -> Iterable[str]:
    """The SQL texts of a node, without the texts in quotes."""
    if isinstance(node, Program):
        found = [text for handler in node.traced.to_json()["handlers"] for text in _of_body(handler["body"])]
    elif node.role is Role.STATELESS and len(node.inputs) == 1:
        found = [text for step in steps(node) for text in _of_step(step.to_json(""))]
    else:
        found = []
    return (re.sub(r"'(?:[^'\\]|\\.)*'", "''", text) for text in found)


def _of_step(step: Mapping[str, Any]) -> Iterable[str]:
    if "where" in step:
        yield step["where"]
    elif "generate" in step:
        yield step["generate"]
    else:
        yield from (text for _, text in step["project"])


def _of_body(body: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for statement in body:
        if statement["do"] == "set":
            yield statement["value"]
        elif statement["do"] == "emit":
            yield from (text for _, text in statement["row"])
        elif statement["do"] == "when":
            for condition, inner in statement["branches"]:
                if condition is not None:
                    yield condition
                yield from _of_body(inner)
