"""Which columns of its inputs an operator reads, where only some of its own are read behind it."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.plan import Node
from headrace.syntax import used

Wanted = frozenset[str] | None
"""Names in lower case; None: all there are."""


def both(one: Wanted, other: Wanted) -> Wanted:
    """What is in either."""
    return None if one is None or other is None else one | other


def read(node: Node, texts: Iterable[str | None]) -> Wanted:
    """The columns of a node that texts name; all, where nobody can tell."""
    found: set[str] = set()
    for text in texts:
        named = used(text, node.columns) if text is not None else frozenset()
        if named is None:
            return None
        found |= named
    return frozenset(found)
