"""Whether rows are only ever added to a stream, or also taken away."""

from __future__ import annotations

from functools import singledispatch

from headrace.ops.aggregate import Aggregate
from headrace.ops.asof import AsOf
from headrace.ops.changes import Changes
from headrace.ops.consolidate import Consolidate
from headrace.ops.expect import Expect
from headrace.ops.explode import Explode
from headrace.ops.facts.closing import groups
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
from headrace.ops.window import CLOSE, Windows
from headrace.plan import Node, Role, order

APPEND, CHANGES = "append", "changes"


def kind_of(node: Node) -> str:
    """`append` for a stream to which rows are only ever added, else `changes`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, amount int", name="charges")
    >>> kind_of(charges.filter("amount > 1")._node), kind_of(charges.group_by("card").agg(spent="sum(amount)")._node)
    ('append', 'changes')
    """
    return kinds([node])[node]


def kinds(ends: list[Node]) -> dict[Node, str]:
    """The kind of each node that the given ones need."""
    found: dict[Node, str] = {}
    closing = groups(ends)
    for node in order(ends):
        # A result that is sent when its group closes is never taken back.
        found[node] = APPEND if node in closing and closing[node].final else kind_after(node, found)
    return found


@singledispatch
def kind_after(node: Node, kinds: dict[Node, str]) -> str:
    """The kind of a node, those of its inputs being known."""
    raise TypeError(f"nobody says whether {node!r} takes rows away")


@kind_after.register(Consolidate)
@kind_after.register(Expect)
@kind_after.register(Explode)
@kind_after.register(Filter)
@kind_after.register(Generated)
@kind_after.register(Ledger)
@kind_after.register(Lookup)
@kind_after.register(Project)
@kind_after.register(Union)
@kind_after.register(Windows)
def _(node: Node, kinds: dict[Node, str]) -> str:
    # They go row by row, or net rows.
    return APPEND if all(kinds[before] == APPEND for before in node.inputs) else CHANGES


@kind_after.register
def _(node: Source, kinds: dict[Node, str]) -> str:
    return node.connect().traits.changes


@kind_after.register
def _(node: Weighed, kinds: dict[Node, str]) -> str:
    return CHANGES


@kind_after.register
def _(node: Changes, kinds: dict[Node, str]) -> str:
    return APPEND


@kind_after.register
def _(node: Program, kinds: dict[Node, str]) -> str:
    return APPEND


@kind_after.register
def _(node: OutputOf, kinds: dict[Node, str]) -> str:
    if node.late is not None:
        return kinds[node.late]
    if node.input.role is Role.LOOKUP:
        return kinds[node.input]
    # The dead letter of a row that is taken away is taken away as well.
    return APPEND if node.input.role is Role.SOURCE or isinstance(node.input, Program) else CHANGES


@kind_after.register
def _(node: Join, kinds: dict[Node, str]) -> str:
    # A row without partners is taken back, or comes, when the first of them does, unless it is told of when there can be none.
    added = kinds[node.left] == kinds[node.right] == APPEND and (node.how in ("inner", "semi") or node.emit == CLOSE)
    return APPEND if added else CHANGES


@kind_after.register
def _(node: AsOf, kinds: dict[Node, str]) -> str:
    return kinds[node.left] if node.emit == "close" else CHANGES


@kind_after.register
def _(node: Sessions, kinds: dict[Node, str]) -> str:
    # Of a session that has closed nothing is taken back.
    return APPEND if node.emit == CLOSE else CHANGES


@kind_after.register
def _(node: Aggregate, kinds: dict[Node, str]) -> str:
    return APPEND if kinds[node.input] == APPEND and node.keys and not node.aggregates else CHANGES


@kind_after.register
def _(node: Upserts, kinds: dict[Node, str]) -> str:
    return APPEND if node.pairs else CHANGES


@kind_after.register
def _(node: Temporal, kinds: dict[Node, str]) -> str:
    return CHANGES if node.until else kinds[node.input]


@kind_after.register(Partition)
@kind_after.register(Top)
def _(node: Partition | Top, kinds: dict[Node, str]) -> str:
    return CHANGES
