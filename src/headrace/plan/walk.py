"""Walks over nodes, without recursion: a chain may be longer than Python's stack."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from headrace.plan.node import Node, Role


def order(ends: Iterable[Node]) -> tuple[Node, ...]:
    """Return all nodes that the given ones need, each after its inputs, in the order in which a reader meets them."""
    found: dict[Node, None] = {}
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(tuple(ends))]
    while stack:
        node, ready = stack.pop()
        if node in found:
            continue
        if ready:
            found[node] = None
        else:
            stack.append((node, True))
            stack.extend((before, False) for before in reversed(node.inputs))
    return tuple(found)


def depths(nodes: Iterable[Node]) -> dict[Node, int]:
    """Return the distance of each node from the sources; `nodes` come in order, inputs first."""
    found: dict[Node, int] = {}
    for node in nodes:
        found[node] = max((found[before] + 1 for before in node.inputs), default=0)
    return found


def reached(nodes: Iterable[Node], start: Node, without: Collection[Node]) -> tuple[Node, ...]:
    """Return the nodes that rows of `start` reach without passing those of `without`; `nodes` come in order, inputs first."""
    found = {start: None} if start not in without else {}
    for node in nodes:
        if node not in without and any(before in found for before in node.inputs):
            found[node] = None
    return tuple(found)


def nearest(node: Node, roles: Collection[Role]) -> tuple[Node, ...]:
    """Return the nearest nodes with these roles, from a node upstream, itself included."""
    found: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.role in roles:
            found[one] = None
        else:
            stack.extend(reversed(one.inputs))
    return tuple(found)
