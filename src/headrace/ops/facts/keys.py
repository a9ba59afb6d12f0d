"""Which columns of a stream tell its rows apart: no two rows that are there at the end of an epoch have all of them equal.

What an operator has said of a group that it has forgotten (`expires`) does not count: the row of a group that begins anew takes its place
for whoever takes rows by these columns, and is one more for all others.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.ops.facts.contract import contracts
from headrace.plan import Node

Keys = tuple[frozenset[str], ...]
"""Sets of columns, in lower case; one within `a, b` says more than `a, b`."""


def unique(node: Node, columns: Iterable[str]) -> bool:
    """Whether these columns are known to tell the rows of a node apart.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, amount int", name="charges")
    >>> spent = charges.group_by("card").agg(spent="sum(amount)").rename({"card": "number"}).filter("spent > 100")
    >>> unique(spent._node, ["number", "spent"]), unique(spent._node, ["spent"])
    (True, False)
    """
    given = lower(columns)
    return any(key <= given for key in known_keys(node))


def known_keys(node: Node) -> Keys:
    """All sets of columns that are known to tell the rows of a node apart."""
    found: dict[Node, Keys] = {}
    for before in contracts([node]):
        found[before] = before.keys_after(found)
    return found[node]


def lower(names: Iterable[str]) -> frozenset[str]:
    """Names as a set of columns has them."""
    return frozenset(name.lower() for name in names)
