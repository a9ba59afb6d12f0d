"""Walks over nodes, without recursion: a chain may be longer than Python's stack."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from headrace.plan.node import Node, Role


def order(ends: Iterable[Node]) -> tuple[Node, ...]:
    """Return all nodes that the given ones need, each after its inputs, in the order in which a reader meets them."""
    ordered: dict[Node, None] = {}
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(tuple(ends))]
    while stack:
        node, ready = stack.pop()
        if node in ordered:
            continue
        if ready:
            ordered[node] = None
        else:
            stack.append((node, True))
            stack.extend((before, False) for before in reversed(node.inputs))
    return tuple(ordered)


def depths(nodes: Iterable[Node]) -> dict[Node, int]:
    """Return the distance of each node from the sources; `nodes` come in order, inputs first."""
    depth: dict[Node, int] = {}
    for node in nodes:
        depth[node] = max((depth[before] + 1 for before in node.inputs), default=0)
    return depth


def reached(nodes: Iterable[Node], start: Node, without: Collection[Node]) -> tuple[Node, ...]:
    """Return the nodes that rows of `start` reach without passing those of `without`; `nodes` come in order, inputs first."""
    ahead = {start: None} if start not in without else {}
    for node in nodes:
        if node not in without and any(before in ahead for before in node.inputs):
            ahead[node] = None
    return tuple(ahead)


def nearest(node: Node, roles: Collection[Role]) -> tuple[Node, ...]:
    """Return the nearest nodes with these roles, from a node upstream, itself included."""
    matches: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.role in roles:
            matches[one] = None
        else:
            stack.extend(reversed(one.inputs))
    return tuple(matches)
