"""A plan as an indented tree, and what is known of its nodes, in few words."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.ops import Source, event_time, kind_of
from headrace.ops.facts.keys import known_keys
from headrace.plan import DisplayNames, Node, Plan, Role, facts

_FACTS = ("lookup", "state", "order")


def tree(plan: Plan) -> str:
    """A line for each node, inputs below it and further in; a node that several read is written out once."""
    shown = DisplayNames.of(plan)
    lines: list[str] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, int]] = [(plan.nodes[name], 0) for name in reversed(plan.sinks)]
    while stack:
        node, depth = stack.pop()
        again = node in seen and bool(node.inputs)
        lines.append("  " * depth + shown(node.name) + (", as above" if again else f": {_description(node)}"))
        if node not in seen:
            seen.add(node)
            stack += [(before, depth + 1) for before in reversed(node.inputs)]
    return "\n".join(lines)


def known(plan: Plan) -> str:
    """Of each source, operator and lookup what its rows are and what it keeps; of each sink its guarantee."""
    return "\n".join(line for name in plan.nodes for line in _known(plan, plan.nodes[name]))


def _known(plan: Plan, node: Node) -> Iterator[str]:
    name, shown = str(node.name), DisplayNames.of(plan)
    if node.role is Role.SINK:
        guarantee = facts(plan, "guarantee")[name]
        yield f"{shown(name)}: {guarantee.value}"
    elif node.role in (Role.SOURCE, Role.LOOKUP, Role.STATEFUL):
        yield f"{shown(name)}: {', '.join(_rows(node))}"
        for title in _FACTS:
            if name in (of := facts(plan, title)):
                yield f"  {title}: {shown.text(of[name].text)}"


def _rows(node: Node) -> Iterator[str]:
    """Their kind, the columns that tell them apart, their event time."""
    yield kind_of(node)
    keys = sorted(", ".join(sorted(key)) or "one row" for key in known_keys(node))
    if keys:
        yield f"key {' or '.join(keys)}"
    time = event_time(node)
    if time is not None:
        yield f"event time {time}"


def _description(node: Node) -> str:
    return f"{node.describe()}: {node.schema}" if isinstance(node, Source) else node.describe()
