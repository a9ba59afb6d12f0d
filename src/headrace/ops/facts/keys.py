"""The unique keys of a stream: sets of columns in which no two rows are equal at the end of an epoch.

Rows sent for a group that has been forgotten since (`expires`) do not count. When the group begins anew, its row replaces the old one for a
reader with these columns as the key, and is one more row for all others.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.ops.facts.contract import contracts
from headrace.plan import Node

Keys = tuple[frozenset[str], ...]
"""Sets of columns, in lower case; a subset of `a, b` is the stronger key."""


def unique(node: Node, columns: Iterable[str]) -> bool:
    """Return whether these columns contain a known unique key of a node.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, amount int", name="charges")
    >>> totals = charges.group_by("card").agg(spent="sum(amount)").rename({"card": "number"}).filter("spent > 100")
    >>> unique(totals._node, ["number", "spent"]), unique(totals._node, ["spent"])
    (True, False)
    """
    names = lower(columns)
    return any(key <= names for key in known_keys(node))


def known_keys(node: Node) -> Keys:
    """Return all known unique keys of a node's rows."""
    keys: dict[Node, Keys] = {}
    for before in contracts([node]):
        keys[before] = before.keys_after(keys)
    return keys[node]


def lower(names: Iterable[str]) -> frozenset[str]:
    """Return names as a set of columns in lower case."""
    return frozenset(name.lower() for name in names)
