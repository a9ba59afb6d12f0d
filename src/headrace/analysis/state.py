"""State: what each operator keeps, and whether it grows without bound."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.analysis.schemas import check
from headrace.ops import closing, groups, kinds, stateful_of
from headrace.ops.facts.carried import EVENT, IN_STRUCT, SELF
from headrace.ops.facts.closing import Group
from headrace.ops.facts.state import RELEASED, Basis
from headrace.ops.relational import Stateful
from headrace.plan import Fact, Node, Plan, fact
from headrace.schema import shown
from headrace.syntax import plain_name


@fact("state")
def state(plan: Plan) -> Mapping[str, Fact]:
    """Return for each operator what it keeps; for a program, also which of its cells a handler clears."""
    ends = [plan.nodes[name] for name in plan.sinks]
    added, closed, columns = kinds(ends), groups(ends), closing(ends)

    def parts(node: Node) -> tuple[tuple[str, str], ...]:
        return check(plan).storage.get(str(node.name), ())

    facts = {}
    for node in stateful_of(plan.nodes.values()):
        append = all(added.get(before) == "append" for before in node.inputs)
        kept = node.kept(Basis(append, columns, parts))
        if node in closed:
            kept = _released(node, closed[node], kept)
        elif node.forgets_after is not None:
            kept = _forgotten(node, node.forgets_after, kept)
        facts[str(node.name)] = kept
    return facts


def _released(node: Stateful, group: Group, kept: Fact) -> Fact:
    """Return what an operator keeps until its groups close."""
    times = []
    for number, closes in group.keys:
        text = node.grouped_by[number]
        time = text if closes.at == SELF else f"{text}.end" if closes.at == IN_STRUCT else closes.at.of(text)
        times.append(f"{time} and {shown(closes.lateness_ms)} more" if closes.lateness_ms else time)
    late = "; later rows are late" if any(group.judged) else ""
    clock = "the watermark" if EVENT in group.clocks else "processing time"
    return Fact(RELEASED, f"released when {clock} passes {' or '.join(times)}{late}; until then: {kept.text}")


def _forgotten(node: Stateful, after_ms: int, kept: Fact) -> Fact:
    """Return what an operator keeps of a group until it expires."""
    of = f"a group of {', '.join(plain_name(text) or text for text in node.grouped_by)}"
    effect = "its output stays, a later row starts it over"
    late = "; retractions of forgotten rows are late" if any(node.judged) else ""
    text = f"forgotten when {of} has had no row for {shown(after_ms)} of event time; {effect}{late}; until then: {kept.text}"
    return Fact(RELEASED, text)
