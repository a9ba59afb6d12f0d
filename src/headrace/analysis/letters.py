"""Dead letters: the stream on which the rows are that a program could not handle, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import Program
from headrace.plan import Fact, Plan, Role, fact, nearest

_SENDERS = (Role.SOURCE, Role.LOOKUP, Role.STATEFUL)


@fact("dead letters")
def dead_letters(plan: Plan) -> Mapping[str, Fact]:
    """For each program, where its dead rows are: one without a key or event time never comes to it, and is its sender's."""
    return {name: _of(plan, node) for name, node in plan.nodes.items() if isinstance(node, Program)}


def _of(plan: Plan, node: Program) -> Fact:
    senders = tuple(dict.fromkeys(str(one.name) for stream in node.streams for one in nearest(stream, _SENDERS)))
    keyless = ", ".join(f'{name}.output("dead_letter")' for name in senders)
    job = f"headrace letters show {plan.job}" if plan.job else "headrace letters show"
    text = f'without a key or time in {keyless}, failed ones in {node.name}.output("dead_letter"); unread: {job}'
    return Fact({"without key or time": list(senders), "failed": str(node.name)}, text)
