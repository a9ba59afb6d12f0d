"""Plan: the product of all front ends, and the input of all later stages."""

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
    """A job as data: its nodes by name, each after its inputs; the names of its sinks; the settings that change meaning."""

    job: str
    nodes: Mapping[str, Node]
    sinks: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, job: str, sinks: Iterable[Node], settings: Mapping[str, str] | None = None) -> Plan:
        """The plan that ends in these nodes (sinks, or any node to be looked at)."""
        ends = tuple(sinks)
        kept = named(ends)
        nodes = {node.name: node for node in order(kept[end] for end in ends) if node.name is not None}
        return cls(job, nodes, tuple(dict.fromkeys(str(kept[end].name) for end in ends)), dict(settings or {}))

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON that `Plan.from_json` reads again, also in later versions."""
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
        """The plan that a JSON object describes."""
        if not isinstance(data, Mapping) or not {"format", "nodes", "sinks"} <= set(data):
            raise broken("it has no format, nodes and sinks")
        if data["format"] != FORMAT:
            raise PlanError(
                "PLAN_VERSION",
                f"the plan has format {short(data['format'])}, and this headrace reads format {FORMAT}",
                hint="install the headrace that wrote it, or write the plan again: headrace plan FILE",
            )
        refuse_unwritten(data)
        unknown = sorted(set(map(str, data)) - {"format", "job", "settings", "nodes", "sinks"})
        if unknown:
            raise PlanError(
                "PLAN_UNKNOWN_FIELD",
                f"this version of headrace knows no field `{word(unknown[0])}` of a plan",
                hint="the plan was written by a newer headrace: install that one",
            )
        nodes: dict[str, Node] = {}
        for item in _list(data, "nodes"):
            if not isinstance(item, dict):
                raise broken(f"{short(item)} is no node")
            name = spelled(item.get("name"))
            if name in nodes:
                raise broken(f"two nodes are called `{name}`")
            nodes[name] = decode(item, nodes)
        sinks = tuple(spelled(name) for name in _list(data, "sinks"))
        missing = [name for name in sinks if name not in nodes]
        if missing:
            raise broken(f"there is no sink `{missing[0]}`")
        job = data.get("job", "")
        return cls(valid_name(job) if job else "", nodes, sinks, settings_of(data.get("settings", {})))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what the plan means: the same for the same job, however and where it was written."""
        text = json.dumps(without_sites(self.to_json()), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def learnt(self) -> dict[type, Any]:
        """What analyses have learnt of this plan and keep with it, by type. A plan that a rewrite makes of it has its own."""
        return {}

    def changed(self, others: Mapping[Any, Node]) -> Plan:
        """The plan with others in the place of some nodes, under their names and over their inputs."""
        kept: dict[Node, Node] = {}
        for node in self.nodes.values():
            kept[node] = with_inputs(others.get(node, node), kept)
        return Plan(self.job, {str(node.name): node for node in kept.values()}, self.sinks, self.settings)

    def renamed(self) -> Plan:
        """The plan whose names by rule are made anew of what its nodes say now."""
        nodes = list(self.nodes.values())
        kept: dict[Node, Node] = {}
        for node in nodes:
            kept[node] = with_inputs(replace(node, name=None) if by_rule(node, nodes) else node, kept)
        return Plan.of(self.job, [kept[self.nodes[name]] for name in self.sinks], self.settings)

    def rewritten(self, changes: Mapping[Node, Callable[[Node], Node]]) -> Plan:
        """The plan with other nodes in the place of some; each is made of the node over its new inputs. What is new gets a name."""
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
