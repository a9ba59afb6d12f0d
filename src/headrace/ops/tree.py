"""The plain tree that Spark's plan of a query is given as, and who makes nodes of it: a function beside each operator."""

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
    """Marks the function that makes a node of this kind of tree.

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
    """A part of a query, over these streams and tables outside; all nodes are of the query at `site`, its windows sent as `emit` and
    `early_ms` say, as are its joins within a span of time.

    `expires_ms`: after how long without rows joins and aggregates forget a group, where the query does not say it and the group or
    its rows do not end by themselves.
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
        """The node of this tree."""
        return _READERS[self["node"]](self)

    def node(self, name: str) -> Node:
        """The node of an input."""
        return replace(self, part=self[name]).read()

    def nodes(self, name: str) -> list[Node]:
        """The nodes of several inputs."""
        return [replace(self, part=part).read() for part in self[name]]

    def tuples(self, name: str) -> tuple[Any, ...]:
        """A list of lists, as nodes have it: columns and their texts, keys of both sides, orderings."""
        return tuple(tuple(item) for item in self[name])

    def expiry(self, node: Node, keyed: bool) -> int | None:
        """After how long without rows a node made of this tree forgets a group: by its hint, or by the default if nothing else ends it."""
        if self["expires"] is not None:
            return expiry(self["expires"], "the hint EXPIRES")
        ends = not keyed or node in {*groups([node]), *intervals([node])}
        return None if ends else self.expires_ms


@reads("table")
def _table(tree: Tree) -> Node:
    return tree.streams[tree["name"].lower()]
