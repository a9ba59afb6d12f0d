"""One node for equal definitions, and a name for each by a rule that survives unrelated edits.

A name is the user's, or made of the node's place: `<input>.<verb>`. Nodes whose name is their identity across versions of a job (stateful
nodes, outputs, sinks) use the nearest source, stateful or named node as the input, so an inserted filter changes nothing. If two stateless
nodes would get the same name, each gets a hash of its definition; of other nodes, the user has to name one. Query operators are named after
their whole definition, inputs included (`Node.by_content`).
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
    """Return a name unchanged if a user can give it: it is part of paths, log lines and output."""
    if len(spelled(name).encode()) > _LONGEST:
        raise PlanError("BAD_NAME", f"{name[:20]!r}... cannot be a name", hint=f"names have at most {_LONGEST} bytes", site=here())
    return str(name)


def spelled(name: Any) -> str:
    """Return a name unchanged if its characters are valid. A name made by rule may have any length."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name != name.strip():
        text = repr(name)
        raise PlanError(
            "BAD_NAME",
            f"{text if len(text) <= 60 else text[:57] + '...'} cannot be a name",
            hint="names begin with a letter or digit and have only letters, digits, spaces, `_`, `-` and `.`",
            site=here(),
        )
    return name


def named(ends: Iterable[Node]) -> dict[Node, Node]:
    """Return, for each node that the ends need, the node in the plan: named, with renamed inputs, and merged with equal ones."""
    merged = _merged(order(ends))
    nodes = tuple(dict.fromkeys(merged.values()))
    names = _names(order(nodes))
    final: dict[Node, Node] = {}
    for node in order(nodes):
        final[node] = with_inputs(replace(node, name=names[node]), final)
        _ = final[node].columns  # computed here, sources first, so that no chain is too long for Python's stack
    return {old: final[kept] for old, kept in merged.items()}


def by_rule(node: Node, nodes: Collection[Node]) -> bool:
    """Return whether the name of a plan's node was made by rule. A rewrite may have changed its inputs since."""
    name = str(node.name)
    if node.by_content or not node.inputs:
        return re.fullmatch(rf"{re.escape(node.verb)}-[0-9a-f]{{8}}", name) is not None
    match = re.fullmatch(rf"(.+)\.{re.escape(node.verb)}(?:-[0-9a-f]{{6}})?", name)
    return match is not None and (bool(HASH.search(match[1])) or match[1] in {str(one.name) for one in nodes})


def with_inputs(node: N, stand_ins: dict[Node, Node]) -> N:
    """Return a node over other inputs."""
    changed: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            changed[item.name] = stand_ins[value]
        elif isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
            changed[item.name] = tuple(stand_ins[part] if isinstance(part, Node) else part for part in value)
    return replace(node, **changed) if changed else node


def _merged(nodes: tuple[Node, ...]) -> dict[Node, Node]:
    """Merge nodes of equal definition. A field that one of them leaves open (its name, a source's watermark) gets the other's value."""
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
                # Only open fields are filled in: nodes with different names or watermarks stay apart.
                follows = all(mine in (None, theirs) for mine, theirs in zip(decided, full, strict=True))
                kept[node] = wanted[full] if follows else wanted[decided]
    return kept


def _decided(node: Node) -> tuple[str | None, ...]:
    watermark = getattr(node, "watermark", None)
    return node.name, None if watermark is None else json.dumps(watermark.to_json(), sort_keys=True)


def _content(node: Node, *, open_fields: bool = False) -> str:
    """Return a hash of a node's definition, without its site and name, and with its inputs by identity."""
    data = without_sites(encode(node, _Identity()))
    del data["name"]
    # Different objects of this process, such as two lists of rows, stay different even if the plan stores the same for both.
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
    # The name of a stateless node may get a hash, so identities are named first, and from anchors alone.
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
    """Return a hash of each node's definition with all its inputs; a name from the user takes the place of the hash."""
    contents: dict[Node, str] = {}
    for node in nodes:
        data = without_sites(encode(node, {**contents, node: ""}))
        contents[node] = node.name or hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    return contents


def _anchor(node: Node, names: dict[Node, str]) -> str:
    """Return the name of the nearest upstream node that has a name of its own."""
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
    return PlanError("NAME_CLASH", f"two {what} of the job would be named `{readable(name)}`{where}", hint=cure, site=second.site)
