"""Boundedness: whether the rows of a node end. A job is bounded if all its sources are."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import Group, Program, Sessions, Source, groups, kinds
from headrace.ops.facts.closing import EVENT
from headrace.plan import Fact, Node, Plan, Role, fact, order
from headrace.schema import shown


@fact("rows")
def rows(plan: Plan) -> Mapping[str, Fact]:
    """For each source, whether it ends, in which order it is read and what kind of stream it is; the last also for operators of queries."""
    found = {}
    ends = [plan.nodes[name] for name in plan.sinks]
    changing, closing = kinds(ends), groups(ends)
    for name, node in plan.nodes.items():
        if node.role is Role.STATEFUL and not isinstance(node, Program):
            found[name] = Fact(changing[node], _changing(node, changing[node] == "changes", closing.get(node)))
        if isinstance(node, Source):
            traits = node.connect().traits
            end = "bounded" if traits.bounded else "unbounded"
            by = f", in the order of {'names' if traits.ordered == 'name' else 'time'}" if traits.ordered else ""
            found[name] = Fact(end, f"{end}, {'append only' if traits.changes == 'append' else 'changes'}{by}")
    return found


def _changing(node: Node, taken: bool, group: Group | None) -> str:
    """In words, whether rows are also taken away, and when they are sent if that is not at once."""
    if isinstance(node, Sessions):
        return (
            "are added and taken away, all of a session when its bounds change"
            if taken
            else "are only added, once, when their session closes"
        )
    if taken:
        return f"are added and taken away{_early(group) if group is not None and group.early_ms else ''}"
    return f"are only added{', once, when their group closes' if group is not None and group.final else ''}"


def _early(group: Group) -> str:
    time = "the watermark" if EVENT in group.clocks else "processing time"
    return f", when {time} passes a multiple of {shown(group.early_ms)} or the end of their group, and behind that in each epoch"


def bounded(plan: Plan) -> bool:
    """Whether a job that runs this plan comes to an end of its own."""
    return all(node.connect().traits.bounded for node in plan.nodes.values() if isinstance(node, Source))


def sources(node: Node) -> tuple[Source, ...]:
    """The sources that a node's rows come from."""
    return tuple(before for before in order([node]) if isinstance(before, Source))
