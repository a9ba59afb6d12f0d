"""Origins: what the rows of an operator or sink go through on their way from sources and programs."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from headrace.plan import Node, Plan
from headrace.plan.codec import encode, without_sites


def origins(asked: Plan, optimised: Plan) -> dict[str, str]:
    """Each node of an optimised plan -> a hash of what lies between it and the sources and programs before it.

    Two versions of a job with the same origin of a sink send it rows that were computed alike. It is read from the plan as it was
    `asked`, so that another version of the optimiser leaves it as it is; what only the optimiser knows is read from its own plan.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, amount int", name="charges")
    >>> def origin(text):
    ...     plan = hr.job("large", charges.filter(text).write.memory(name="out")).plan
    ...     return origins(plan, plan)["out"]
    >>> origin("amount > 5") == origin("amount > 5"), origin("amount > 5") == origin("amount > 6")
    (True, False)
    """
    contents: dict[str, str] = {}
    texts: dict[str, dict[str, Any]] = {}
    found: dict[str, str] = {}
    for plan in (asked, optimised):
        for name, node in plan.nodes.items():
            text = _text(node)
            if name in texts and (texts[name] == text or not node.passing):
                continue
            texts[name] = text
            before = [contents[str(one.name)] for one in node.inputs]
            found[name] = _digest(before)
            contents[name] = _digest([text, before]) if node.passing or node.by_content else name
    return found


def _text(node: Node) -> dict[str, Any]:
    """What a node says, its inputs by their names, but for the options of a connector: where it reads may change."""
    text = without_sites(encode(node, {node: "", **{before: str(before.name) for before in node.inputs}}))
    return {key: value for key, value in text.items() if key != "options"}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
