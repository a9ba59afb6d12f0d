"""The tree of a query, as Spark plans it, and the functions that make nodes of it: one beside each operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.errors import Site
from headrace.ops.expires import expiry
from headrace.ops.facts.carried import CHANGES
from headrace.ops.facts.closing import groups, intervals
from headrace.plan import Node

if TYPE_CHECKING:
    from headrace.ops.tables import Table

Reader = Callable[["Tree"], Node]

_READERS: dict[str, Reader] = {}


def reads(kind: str) -> Callable[[Reader], Reader]:
    """Mark the function that makes a node of this kind of tree.

    >>> @reads("nothing")
    ... def _nothing(tree: Tree) -> Node:
    ...     return tree.node("input")
    """

    def mark(reader: Reader) -> Reader:
        _READERS[kind] = reader
        return reader

    return mark


@dataclass(frozen=True)
class Tree:
    """A part of a query, over these streams and outside tables; all its nodes have the query's `site`.

    `emit` and `early_ms`: when results of its windows are sent, and of its joins within a span of time. `expires_ms`: the time without rows
    after which joins and aggregates forget a group, if the query sets none and the group or its rows do not end by themselves.
    """

    part: Mapping[str, Any]
    streams: Mapping[str, Node]
    outside: Mapping[str, Table]
    site: Site | None
    emit: str = CHANGES
    early_ms: int = 0
    expires_ms: int | None = None

    def __getitem__(self, name: str) -> Any:
        return self.part[name]

    def read(self) -> Node:
        """Return the node of this tree."""
        return _READERS[self["node"]](self)

    def node(self, name: str) -> Node:
        """Return the node of an input."""
        return replace(self, part=self[name]).read()

    def nodes(self, name: str) -> list[Node]:
        """Return the nodes of several inputs."""
        return [replace(self, part=part).read() for part in self[name]]

    def tuples(self, name: str) -> tuple[Any, ...]:
        """Return a list of lists as nodes have it: columns with their expressions, keys of both sides, orderings."""
        return tuple(tuple(item) for item in self[name])

    def expiry(self, node: Node, keyed: bool) -> int | None:
        """Return the time without rows after which a node forgets a group: that of its hint, or the default if nothing else ends it."""
        if self["expires"] is not None:
            return expiry(self["expires"], "the hint EXPIRES")
        ends = not keyed or node in {*groups([node]), *intervals([node])}
        return None if ends else self.expires_ms


@reads("table")
def _table(tree: Tree) -> Node:
    return tree.streams[tree["name"].lower()]
