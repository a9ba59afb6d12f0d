"""Which column of a stream is its event time: found by following the watermark's column through the verbs."""

from __future__ import annotations

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
from headrace.ops.lookup import MISSED, Lookup
from headrace.ops.output import OutputOf
from headrace.ops.partition import Partition
from headrace.ops.program import Program
from headrace.ops.project import Project
from headrace.ops.sessions import Sessions
from headrace.ops.sink import Sink
from headrace.ops.source import Source
from headrace.ops.temporal import Temporal
from headrace.ops.top import Top
from headrace.ops.union import Union
from headrace.ops.upserts import Upserts
from headrace.ops.weigh import Weighed
from headrace.ops.window import Windows
from headrace.plan import Node, order
from headrace.syntax import plain_name


def event_time(node: Node) -> str | None:
    """The column that is event time in a node's rows, or None.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> event_time(charges.rename({"ts": "at"})._node), event_time(charges.drop("ts")._node)
    ('at', None)
    """
    times: dict[Node, str | None] = {}
    for before in order([node]):
        times[before] = time_after(before, times)
    return times[node]


@singledispatch
def time_after(node: Node, times: dict[Node, str | None]) -> str | None:
    raise TypeError(f"nobody says what the event time of {node!r} is")


@time_after.register
def _(node: Source, times: dict[Node, str | None]) -> str | None:
    return None if node.watermark is None else node.watermark.column


@time_after.register(Changes)
@time_after.register(Consolidate)
@time_after.register(Expect)
@time_after.register(Filter)
@time_after.register(Generated)
@time_after.register(Lookup)
@time_after.register(Sink)
@time_after.register(Weighed)
@time_after.register(Windows)
def _(
    node: Changes | Consolidate | Expect | Filter | Generated | Lookup | Sink | Weighed | Windows, times: dict[Node, str | None]
) -> str | None:
    return times[node.input]


@time_after.register(Aggregate)
@time_after.register(Join)
@time_after.register(Ledger)
@time_after.register(Partition)
@time_after.register(Sessions)
@time_after.register(Temporal)
@time_after.register(Top)
@time_after.register(Upserts)
def _(node: Aggregate | Join | Ledger | Partition | Sessions | Temporal | Top | Upserts, times: dict[Node, str | None]) -> str | None:
    # What a query gives is right at the end of each epoch, whatever the times in its rows.
    return None


@time_after.register
def _(node: AsOf, times: dict[Node, str | None]) -> str | None:
    # A row goes on when the watermark passes it: in the order of time, as those of a program. Behind a version that is awaited it is older.
    return times[node.left] if node.emit == "close" and node.direction == "backward" else None


@time_after.register
def _(node: Explode, times: dict[Node, str | None]) -> str | None:
    time = times[node.input]
    return None if node.replaces is not None and node.replaces == time else time


@time_after.register
def _(node: Project, times: dict[Node, str | None]) -> str | None:
    time = times[node.input]
    if time is None:
        return None
    named = [name for name, text in node.items if (plain_name(text) or "").lower() == time.lower()]
    # Where a copy was made, the one that kept the name is meant.
    return next((name for name in named if name.lower() == time.lower()), named[0] if named else None)


@time_after.register
def _(node: Union, times: dict[Node, str | None]) -> str | None:
    found = {None if time is None else time.lower() for time in (times[branch] for branch in node.branches)}
    return times[node.branches[0]] if len(found) == 1 else None


@time_after.register
def _(node: Program, times: dict[Node, str | None]) -> str | None:
    return node.output_time("main")


@time_after.register
def _(node: OutputOf, times: dict[Node, str | None]) -> str | None:
    if isinstance(node.input, Lookup) and node.output == MISSED:
        return times[node.input.input]
    return node.input.output_time(node.output) if isinstance(node.input, Program) else None
