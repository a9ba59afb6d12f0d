"""Plan: a job as data, which every front end builds and all later stages read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from headrace.errors import PlanError
from headrace.plan.codec import FORMAT, broken, decode, encode, refuse_unwritten, short, without_sites, word
from headrace.plan.meaning import settings_of
from headrace.plan.naming import by_rule, named, spelled, valid_name, with_inputs
from headrace.plan.node import Node
from headrace.plan.walk import order


@dataclass(frozen=True, eq=False)
class Plan:
    """A job as data: its nodes, its sinks and the settings that change its meaning. `Job.plan` has it.

    * `job`: the name of the job.
    * `nodes`: a mapping from names to nodes, in which inputs come before the nodes that use them.
    * `sinks`: the names of the sinks.
    * `settings`: Spark's settings that change the result of expressions, such as the session's time zone.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
        >>> plan = hr.job("copy", charges.filter("amount > 5").write.console()).plan
        >>> list(plan.nodes), plan.sinks
        (['charges', 'charges.filter', 'charges.console'], ('charges.console',))
        >>> hr.Plan.from_json(plan.to_json()).fingerprint == plan.fingerprint
        True
    """

    job: str
    nodes: Mapping[str, Node]
    sinks: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, job: str, sinks: Iterable[Node], settings: Mapping[str, str] | None = None) -> Plan:
        """Builds the plan that ends in some nodes and names them. `hr.job` calls it.

        Args:
            job: The name of the job.
            sinks: The last nodes, in general sinks.
            settings: The settings that change the result of expressions.

        Raises:
            PlanError: `NAME_CLASH` for two nodes of one name.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([], "card string, amount int", name="charges")
            >>> list(hr.Plan.of("look", [charges.filter("amount > 5")._node]).nodes)
            ['charges', 'charges.filter']
        """
        ends = tuple(sinks)
        kept = named(ends)
        nodes = {node.name: node for node in order(kept[end] for end in ends) if node.name is not None}
        return cls(job, nodes, tuple(dict.fromkeys(str(kept[end].name) for end in ends)), dict(settings or {}))

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as a dict that `json.dumps` takes, and `Plan.from_json` of this and later versions reads.

        It does not contain rows of `read.memory` and `lookup.memory` or functions of `foreach_batch`.
        """
        names = {node: name for name, node in self.nodes.items()}
        return {
            "format": FORMAT,
            "job": self.job,
            "settings": dict(sorted(self.settings.items())),
            "nodes": [encode(node, names) for node in self.nodes.values()],
            "sinks": list(self.sinks),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """Reads a plan from a JSON object.

        Args:
            data: The object, as `to_json` returns it.

        Raises:
            PlanError: `PLAN_BROKEN` if it is not a plan, `PLAN_VERSION` for another format, `PLAN_UNKNOWN_FIELD` or `PLAN_UNKNOWN_OPERATOR`
                for a plan of a newer version.
        """
        if not isinstance(data, Mapping) or not {"format", "nodes", "sinks"} <= set(data):
            raise broken("it lacks the fields `format`, `nodes` and `sinks`")
        if data["format"] != FORMAT:
            raise PlanError(
                "PLAN_VERSION",
                f"the plan has format {short(data['format'])}, but this version of headrace reads format {FORMAT}",
                hint="install the version that wrote the plan, or create it again: headrace plan FILE",
            )
        refuse_unwritten(data)
        unknown = sorted(set(map(str, data)) - {"format", "job", "settings", "nodes", "sinks"})
        if unknown:
            raise PlanError(
                "PLAN_UNKNOWN_FIELD",
                f"this version of headrace does not know the field `{word(unknown[0])}` of a plan",
                hint="install the newer headrace that wrote the plan; if the plan was edited by hand, correct the name",
            )
        nodes: dict[str, Node] = {}
        for item in _list(data, "nodes"):
            if not isinstance(item, dict):
                raise broken(f"{short(item)} is not a node")
            name = spelled(item.get("name"))
            if name in nodes:
                raise broken(f"two nodes are named `{name}`")
            nodes[name] = decode(item, nodes)
        sinks = tuple(spelled(name) for name in _list(data, "sinks"))
        missing = [name for name in sinks if name not in nodes]
        if missing:
            raise broken(f"there is no sink `{missing[0]}`")
        job = data.get("job", "")
        return cls(valid_name(job) if job else "", nodes, sinks, settings_of(data.get("settings", {})))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the plan without source locations. Plans with the same meaning have the same one ([stored
        plans](../../concepts/plans.md#stored-plans))."""
        text = json.dumps(without_sites(self.to_json()), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def learnt(self) -> dict[type, Any]:
        """A cache of the analyses for this plan, by type. A rewritten plan has its own.

        Examples:
            >>> import headrace as hr
            >>> hr.Plan.of("empty", []).learnt
            {}
        """
        return {}

    def changed(self, others: Mapping[Any, Node]) -> Plan:
        """Returns the plan with some nodes replaced, under their names and over their inputs.

        Args:
            others: The new node of each replaced one.

        Examples:
            >>> import headrace as hr
            >>> hr.Plan.of("empty", []).changed({})
            <Plan empty: 0 nodes, ...>
        """
        kept: dict[Node, Node] = {}
        for node in self.nodes.values():
            kept[node] = with_inputs(others.get(node, node), kept)
        return Plan(self.job, {str(node.name): node for node in kept.values()}, self.sinks, self.settings)

    def renamed(self) -> Plan:
        """Returns the plan with the generated names derived anew from its nodes.

        Examples:
            >>> import headrace as hr
            >>> hr.Plan.of("empty", []).renamed()
            <Plan empty: 0 nodes, ...>
        """
        nodes = list(self.nodes.values())
        kept: dict[Node, Node] = {}
        for node in nodes:
            kept[node] = with_inputs(replace(node, name=None) if by_rule(node, nodes) else node, kept)
        return Plan.of(self.job, [kept[self.nodes[name]] for name in self.sinks], self.settings)

    def rewritten(self, changes: Mapping[Node, Callable[[Node], Node]]) -> Plan:
        """Returns the plan with some nodes rewritten, and names for the new ones.

        Args:
            changes: For each rewritten node a function, which receives the node over its new inputs.

        Examples:
            >>> import headrace as hr
            >>> hr.Plan.of("empty", []).rewritten({})
            <Plan empty: 0 nodes, ...>
        """
        kept: dict[Node, Node] = {}
        for node in self.nodes.values():
            moved = with_inputs(node, kept)
            kept[node] = changes[node](moved) if node in changes else moved
        return Plan.of(self.job, [kept[self.nodes[name]] for name in self.sinks], self.settings)

    def __repr__(self) -> str:
        return f"<Plan {self.job}: {len(self.nodes)} nodes, {self.fingerprint[:12]}>"


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(data[name], list):
        raise broken(f"`{name}` is {short(data[name])}, not a list")
    return list(data[name])
