"""Which columns of a stream tell its rows apart: no two rows that are there at the end of an epoch have all of them equal."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from headrace.ops.aggregate import Aggregate
from headrace.ops.asof import AsOf
from headrace.ops.changes import Changes
from headrace.ops.consolidate import Consolidate
from headrace.ops.expect import Expect
from headrace.ops.explode import Explode
from headrace.ops.filter import Filter
from headrace.ops.generate import Generated
from headrace.ops.join import Join
from headrace.ops.ledger import Ledger
from headrace.ops.lookup import Lookup
from headrace.ops.output import OutputOf
from headrace.ops.partition import Partition
from headrace.ops.program import Program
from headrace.ops.project import Project
from headrace.ops.sessions import Sessions
from headrace.ops.source import Source
from headrace.ops.temporal import Temporal
from headrace.ops.top import Top
from headrace.ops.union import Union
from headrace.ops.upserts import Upserts
from headrace.ops.weigh import Weighed
from headrace.ops.window import Windows
from headrace.plan import Node, order
from headrace.syntax import plain_name

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
    given = {name.lower() for name in columns}
    return any(key <= given for key in known_keys(node))


def known_keys(node: Node) -> Keys:
    """All sets of columns that are known to tell the rows of a node apart."""
    found: dict[Node, Keys] = {}
    for before in order([node]):
        found[before] = keys_after(before, found)
    return found[node]


@singledispatch
def keys_after(node: Node, keys: dict[Node, Keys]) -> Keys:
    """The keys of a node's rows, those of its inputs being known."""
    raise TypeError(f"nobody says what tells the rows of {node!r} apart")


@keys_after.register(Changes)
@keys_after.register(Consolidate)
@keys_after.register(Explode)
@keys_after.register(Generated)
@keys_after.register(Ledger)
@keys_after.register(Lookup)
@keys_after.register(OutputOf)
@keys_after.register(Program)
@keys_after.register(Source)
@keys_after.register(Union)
@keys_after.register(Weighed)
@keys_after.register(Windows)
def _(node: Node, keys: dict[Node, Keys]) -> Keys:
    return ()  # nothing is known of them


@keys_after.register
def _(node: Upserts, keys: dict[Node, Keys]) -> Keys:
    return () if node.pairs else (_set(node.key),)


@keys_after.register
def _(node: Aggregate, keys: dict[Node, Keys]) -> Keys:
    return (_set(name for name, _ in node.keys),)


@keys_after.register
def _(node: AsOf, keys: dict[Node, Keys]) -> Keys:
    return keys[node.left]  # a row has one version at the most


@keys_after.register(Expect)
@keys_after.register(Filter)
@keys_after.register(Partition)
@keys_after.register(Sessions)
@keys_after.register(Temporal)
def _(node: Expect | Filter | Partition | Sessions | Temporal, keys: dict[Node, Keys]) -> Keys:
    return keys[node.input]


@keys_after.register
def _(node: Top, keys: dict[Node, Keys]) -> Keys:
    per = [plain_name(text) for text in node.per]
    one = node.count == 1 and node.ties == "row_number" and all(per)
    return (*keys[node.input], _set(name for name in per if name)) if one else keys[node.input]


@keys_after.register
def _(node: Project, keys: dict[Node, Keys]) -> Keys:
    called = {(plain_name(text) or "").lower(): name.lower() for name, text in reversed(node.items)}
    return tuple(frozenset(called[name] for name in key) for key in keys[node.input] if key <= called.keys())


@keys_after.register
def _(node: Join, keys: dict[Node, Keys]) -> Keys:
    if node.how in ("semi", "anti", "existence"):
        return keys[node.left]
    if node.how == "full":
        return ()
    met = [_set(plain_name(pair[side]) or "" for pair in node.keys) for side in (0, 1)]
    left = keys[node.left] if any(key <= met[1] for key in keys[node.right]) else ()
    right = keys[node.right] if node.how == "inner" and any(key <= met[0] for key in keys[node.left]) else ()
    both = tuple(mine | theirs for mine in keys[node.left] for theirs in keys[node.right])
    return (*left, *right, *both)


def _set(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
