"""The sinks that a failed row reached all the same, on paths around the nodes in which it failed: a replay feeds it to them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headrace.ops.facts.outputs import DEAD_LETTER
from headrace.ops.operator import operator
from headrace.ops.output import outputs_of
from headrace.plan import Node, Plan, Role
from headrace.plan.walk import nearest, reached
from headrace.spark.checkpoint.letters import Letter

AT_A_KEY = ("NULL_", "[")
"""Prefixes of the reasons for which an operator refuses a row by its key or time. The letter of such a row names the node upstream."""


class Reached(NamedTuple):
    """A number of exported rows, the nodes in which they failed, and the sinks that they may have reached all the same."""

    rows: int
    nodes: tuple[str, ...]
    sinks: tuple[str, ...]


class Ways:
    """The paths of a source's rows through a plan.

    >>> import headrace as hr
    >>> rows = hr.read.memory([], "n int", name="rows")
    >>> plan = Plan.of("job", [rows.filter("1 / n > 0").write.memory(name="some")._use(), rows.write.memory(name="all")._use()])
    >>> Ways(plan, "rows").avoiding([plan.nodes["rows.filter"]])
    ('all',)
    """

    def __init__(self, plan: Plan, source: str) -> None:
        self._nodes: Mapping[str, Node] = plan.nodes
        self._source = plan.nodes[source]
        # Nodes downstream of a dead-letter output get only failed rows.
        self._letters = [one for one in outputs_of(plan.nodes.values()) if one.output == DEAD_LETTER]
        ends = (Role.SOURCE, Role.LOOKUP, Role.STATEFUL, Role.OUTPUT)
        self._consumers = [
            node
            for node in plan.nodes.values()
            if node.role is Role.STATEFUL and any(self._source in nearest(before, ends) for before in node.inputs)
        ]

    def avoiding(self, nodes: Iterable[Node]) -> tuple[str, ...]:
        """Return the sinks that have a path around these nodes."""
        ahead = reached(self._nodes.values(), self._source, {*nodes, *self._letters})
        return tuple(str(node.name) for node in ahead if node.role is Role.SINK)

    def failed(self, letters: Iterable[Letter]) -> set[Node]:
        """Return the nodes that a row did not get past, judged by all its letters."""
        failing: set[Node] = set()
        refused: list[Letter] = []
        for one in letters:
            if one.node == self._source.name and one.reason.startswith(AT_A_KEY):
                refused.append(one)
            else:
                failing.add(self._nodes[one.node])
        able = [node for node in self._consumers if operator(node).refuses_null_keys or any(one.reason[0] == "[" for one in refused)]
        # A letter does not name the operator that refused the row. Only as many letters as candidates mean that each of them did.
        return failing | set(able) if refused and len(refused) >= len(able) else failing
