"""Which columns of its inputs an operator reads, if only some of its own are read downstream."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.plan import Node
from headrace.syntax import used

Wanted = frozenset[str] | None
"""Names in lower case; None: all columns."""


def both(one: Wanted, other: Wanted) -> Wanted:
    """Return the union of both."""
    return None if one is None or other is None else one | other


def read(node: Node, texts: Iterable[str | None]) -> Wanted:
    """Return the columns of a node that some texts name; all, if that is unknown."""
    names: set[str] = set()
    for text in texts:
        named = used(text, node.columns) if text is not None else frozenset()
        if named is None:
            return None
        names |= named
    return frozenset(names)
