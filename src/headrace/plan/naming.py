"""One node for what says the same, and a name for each by a rule that survives unrelated edits.

A name is the user's, or made of the node's place: `<input>.<verb>`. Nodes whose name is their identity across versions of a job
(stateful ones, outputs, sinks) take as input the nearest source, stateful or named node, so a filter put in between changes nothing.
Where two stateless nodes would be called the same, each gets a hash of what it says; where others would, the user has to name one.
Operators of queries are named after all they say, their inputs included (`Node.by_content`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar

from headrace.durable.marks import HASH, readable
from headrace.errors import PlanError, here
from headrace.plan.codec import encode, without_sites
from headrace.plan.node import Node, Role
from headrace.plan.walk import depths, order

N = TypeVar("N", bound=Node)

_NAME = re.compile(r"[^\W_][\w .-]*")
_LONGEST = 200


def valid_name(name: Any) -> str:
    """A name as it is if a user can give it: it stands in paths, on lines of logs and in what is printed."""
    if len(spelled(name).encode()) > _LONGEST:
        raise PlanError("BAD_NAME", f"{name[:20]!r}... cannot be a name", hint=f"names have at most {_LONGEST} bytes", site=here())
    return str(name)


def spelled(name: Any) -> str:
    """A name as it is if it has the signs of one. One that is made by rule may be of any length."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name != name.strip():
        text = repr(name)
        raise PlanError(
            "BAD_NAME",
            f"{text if len(text) <= 60 else text[:57] + '...'} cannot be a name",
            hint="names begin with a letter or digit and have letters, digits, blanks, `_`, `-` and `.`",
            site=here(),
        )
    return name


def named(ends: Iterable[Node]) -> dict[Node, Node]:
    """Each node that the ends need -> the node that stands for it in the plan, with its name and its inputs' stand-ins."""
    merged = _merged(order(ends))
    nodes = tuple(dict.fromkeys(merged.values()))
    names = _names(order(nodes))
    final: dict[Node, Node] = {}
    for node in order(nodes):
        final[node] = with_inputs(replace(node, name=names[node]), final)
        _ = final[node].columns  # computed from the sources on, so that no chain is too long for Python's stack
    return {given: final[kept] for given, kept in merged.items()}


def by_rule(node: Node, nodes: Collection[Node]) -> bool:
    """Whether the name of a node of a plan was made by rule. A rewrite may have changed what the node reads since."""
    name = str(node.name)
    if node.by_content or not node.inputs:
        return re.fullmatch(rf"{re.escape(node.verb)}-[0-9a-f]{{8}}", name) is not None
    made = re.fullmatch(rf"(.+)\.{re.escape(node.verb)}(?:-[0-9a-f]{{6}})?", name)
    return made is not None and (bool(HASH.search(made[1])) or made[1] in {str(one.name) for one in nodes})


def with_inputs(node: N, stand_ins: dict[Node, Node]) -> N:
    """A node over other inputs."""
    changed: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            changed[item.name] = stand_ins[value]
        elif isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
            changed[item.name] = tuple(stand_ins[part] if isinstance(part, Node) else part for part in value)
    return replace(node, **changed) if changed else node


def _merged(nodes: tuple[Node, ...]) -> dict[Node, Node]:
    """Nodes that say the same become one; what one of them leaves open (its name, a source's watermark) the other decides."""
    levels: dict[int, list[Node]] = {}
    for node, depth in depths(nodes).items():
        levels.setdefault(depth, []).append(node)
    kept: dict[Node, Node] = {}
    for depth in sorted(levels):
        groups: dict[str, list[tuple[Node, Node]]] = {}
        for node in levels[depth]:
            moved = with_inputs(node, kept)
            groups.setdefault(_content(moved, open_fields=True), []).append((node, moved))
        for group in groups.values():
            wanted = {_decided(moved): moved for _, moved in group}
            full = max(wanted, key=lambda decided: sum(value is not None for value in decided))
            for node, moved in group:
                decided = _decided(moved)
                # Only what is open follows: two different decisions stay two nodes.
                follows = all(mine in (None, theirs) for mine, theirs in zip(decided, full, strict=True))
                kept[node] = wanted[full] if follows else wanted[decided]
    return kept


def _decided(node: Node) -> tuple[str | None, ...]:
    watermark = getattr(node, "watermark", None)
    return node.name, None if watermark is None else json.dumps(watermark.to_json(), sort_keys=True)


def _content(node: Node, *, open_fields: bool = False) -> str:
    """What a node says, as a hash: without its site and name, and over its inputs by identity."""
    data = without_sites(encode(node, _Identity()))
    del data["name"]
    # Two objects of this process, say two lists of rows, are two things even where the plan says the same of them.
    data["live"] = [id(getattr(node, item.name)) for item in fields(node) if not item.metadata.get("stored", True)]
    if open_fields:
        data.pop("watermark", None)
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


class _Identity(dict[Node, str]):
    def __missing__(self, node: Node) -> str:
        return str(id(node))


def _names(nodes: tuple[Node, ...]) -> dict[Node, str]:
    names: dict[Node, str] = {node: node.name for node in nodes if node.name is not None}
    taken: dict[str, Node] = {}
    for node in nodes:
        if node.name is not None:
            if node.name in taken:
                raise _clash(taken[node.name], node, node.name)
            taken[node.name] = node
    for node, content in _contents(nodes).items():
        if node not in names and node.by_content:
            names[node] = f"{node.verb}-{content[:8]}"
            taken[names[node]] = node
    # The name of what passes may get a hash, so identities are named from anchors alone, and first.
    for node in nodes:
        if node not in names and not node.passing:
            name = f"{_anchor(node, names)}.{node.verb}"
            if name in taken:
                raise _clash(taken[name], node, name)
            names[node] = name
            taken[name] = node
    for depth in _by_depth(nodes):
        wanted: dict[str, list[Node]] = {}
        for node in depth:
            if node not in names:
                wanted.setdefault(f"{names[node.inputs[0]]}.{node.verb}", []).append(node)
        for name, group in wanted.items():
            for node in group:
                alone = len(group) == 1 and name not in taken
                names[node] = name if alone else f"{name}-{_suffix(node, names)}"
                if names[node] in taken:
                    raise _clash(taken[names[node]], node, names[node])
                taken[names[node]] = node
    return names


def _contents(nodes: tuple[Node, ...]) -> dict[Node, str]:
    """What each node says with all that it reads, as a hash; the user's own names stand for themselves."""
    found: dict[Node, str] = {}
    for node in nodes:
        data = without_sites(encode(node, {**found, node: ""}))
        found[node] = node.name or hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    return found


def _anchor(node: Node, names: dict[Node, str]) -> str:
    """The name of the nearest node before this one that has a name of its own."""
    before = node.inputs[0]
    while before not in names:
        before = before.inputs[0]
    return names[before]


def _by_depth(nodes: tuple[Node, ...]) -> list[list[Node]]:
    levels: dict[int, list[Node]] = {}
    for node, depth in depths(nodes).items():
        levels.setdefault(depth, []).append(node)
    return [levels[depth] for depth in sorted(levels)]


def _suffix(node: Node, names: dict[Node, str]) -> str:
    data = without_sites(encode(node, {**names, node: ""}))
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:6]


def _clash(first: Node, second: Node, name: str) -> PlanError:
    cure = {
        Role.SOURCE: 'give one of them another name: hr.read.<connector>(..., name="...")',
        Role.SINK: 'give one of them another name: .write.<connector>(..., name="...")',
    }.get(second.role, 'give one of them another name: .named("...")')
    where = f", the first at {first.site}" if first.site else ""
    what = {Role.SOURCE: "sources", Role.SINK: "sinks"}.get(second.role, "nodes") if first.role is second.role else "nodes"
    return PlanError("NAME_CLASH", f"two {what} of the job would be called `{readable(name)}`{where}", hint=cure, site=second.site)
