"""The kind of a stream: whether its rows are only inserted, or also retracted."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.ops.facts.closing import groups
from headrace.ops.facts.contract import contracts
from headrace.plan import Node

APPEND, CHANGES = "append", "changes"


def kind_of(node: Node) -> str:
    """Return `append` for a stream whose rows are only inserted, else `changes`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, amount int", name="charges")
    >>> kind_of(charges.filter("amount > 1")._node), kind_of(charges.group_by("card").agg(spent="sum(amount)")._node)
    ('append', 'changes')
    """
    return kinds([node])[node]


def kinds(ends: Iterable[Node]) -> dict[Node, str]:
    """Return the kind of each node that the given ones need."""
    ends = list(ends)
    kinds_so_far: dict[Node, str] = {}
    closing = groups(ends)
    for node in contracts(ends):
        # A result that is sent when its group closes is never retracted.
        kinds_so_far[node] = APPEND if node in closing and closing[node].final else node.kind_after(kinds_so_far)
    return kinds_so_far


def only_added(node: Node) -> bool:
    """Return whether rows are only inserted into a node's inputs."""
    kind_of_input = kinds(node.inputs)
    return all(kind_of_input[before] == APPEND for before in node.inputs)
