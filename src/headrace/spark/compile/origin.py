"""Origins: the steps of the rows of an operator or sink on their way from sources and programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from headrace.ops import lookups_of
from headrace.plan import Node, Plan, Role
from headrace.plan.codec import encode, without_sites


def origins(original: Plan, optimised: Plan) -> dict[str, str]:
    """Return for each node of an optimised plan a hash of the steps between it and the sources and programs upstream.

    Two versions of a job with the same origin of a sink send it rows that were computed in the same way. The hash is of the plan as
    `original`, so that another version of the optimiser does not change it; only nodes of the optimiser are taken from its own plan.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, amount int", name="charges")
    >>> def origin(text):
    ...     plan = hr.job("large", charges.filter(text).write.memory(name="out")).plan
    ...     return origins(plan, plan)["out"]
    >>> origin("amount > 5") == origin("amount > 5"), origin("amount > 5") == origin("amount > 6")
    (True, False)
    """
    return _origins(original, optimised, _text, _passed)


def ways(original: Plan, optimised: Plan) -> dict[str, str]:
    """Return origins that also distinguish the outputs of a program, and the rows of constant tables, which are part of the job. Names of
    steps make no difference, nor does the order of a key's columns. Checkpoints of earlier versions have only origins, or `ordered_ways`.
    """
    return _origins(original, optimised, _unordered, passed_or_output)


def ordered_ways(original: Plan, optimised: Plan) -> dict[str, str]:
    """Return ways as earlier versions stored them, with the columns of a key in order; they are still compared, but no longer stored."""
    return _origins(original, optimised, _saying, passed_or_output)


def _origins(original: Plan, optimised: Plan, text_of: Callable[[Node], dict[str, Any]], passed: Callable[[Node], bool]) -> dict[str, str]:
    contents: dict[str, str] = {}
    texts: dict[str, dict[str, Any]] = {}
    origin: dict[str, str] = {}
    for plan in (original, optimised):
        for name, node in plan.nodes.items():
            text = text_of(node)
            if name in texts and (texts[name] == text or not node.passing):
                continue
            texts[name] = text
            before = [contents[str(one.name)] for one in node.inputs]
            origin[name] = _digest(before)
            contents[name] = _digest([text, before]) if passed(node) else name
    return origin


def _passed(node: Node) -> bool:
    """Return whether an origin extends upstream of a node."""
    return node.passing or node.by_content


def passed_or_output(node: Node) -> bool:
    """Return whether a way extends upstream of a node."""
    return _passed(node) or node.role is Role.OUTPUT


def _text(node: Node) -> dict[str, Any]:
    """Return what a node declares, with its inputs by name and without a connector's options: where it reads may change."""
    text = without_sites(encode(node, {node: "", **{before: str(before.name) for before in node.inputs}}))
    return {key: value for key, value in text.items() if key != "options"}


def _saying(node: Node) -> dict[str, Any]:
    """Return what a node declares, without any names; with a digest of the table, if a key has the same rows there forever."""
    text = without_sites(encode(node, {node: "", **dict.fromkeys(node.inputs, "")}))
    del text["name"]
    options = text.pop("options", None)
    table = next((one for one in lookups_of([node]) if one.repeatable), None)
    return text if table is None else {**text, "options": options, "rows": table.connect().digest}


def _unordered(node: Node) -> dict[str, Any]:
    """Return the same, but without the order of lists in which it changes no row: `metadata={"unordered": True}`."""
    text = _saying(node)
    return text | {item.name: sorted(text[item.name]) for item in fields(node) if item.metadata.get("unordered")}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
