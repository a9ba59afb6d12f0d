"""Only the columns that somebody reads, in front of operators with state: the others would be sent there and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import singledispatch

from headrace.ops import (
    Aggregate,
    AsOf,
    Changes,
    Consolidate,
    Expect,
    Explode,
    Filter,
    Generated,
    Join,
    Ledger,
    Lookup,
    OutputOf,
    Partition,
    Program,
    Project,
    Sessions,
    Sink,
    Source,
    Temporal,
    Top,
    Union,
    Upserts,
    Weighed,
    Windows,
    forgets_after,
    judged,
    kind_of,
)
from headrace.ops.facts.kind import CHANGES
from headrace.plan import Node, Plan
from headrace.syntax import quote, used

Columns = frozenset[str] | None
"""Names in lower case; None: all there are."""

VERB = "narrow"

# What keeps its rows, or repeats their columns.
_NARROWED = (Aggregate, AsOf, Join, Lookup, Sessions, Temporal, Upserts, Explode, Generated, Windows)


def narrow_inputs(plan: Plan) -> Plan:
    """In front of joins, lookups, aggregates and rows by key come their keys and what is read behind them; in front of windows and
    generators, which repeat it in each of their rows, what is read behind them.

    First rows and window functions settle ties by all columns of their input, as-of joins those of versions; ledgers compare whole rows,
    programs read what they like: they get all. So does an operator whose dead letters or late rows somebody reads, and one that forgets
    groups or sessions and has to know whether a row that is taken away was there.
    """
    outputs = [node for node in plan.nodes.values() if isinstance(node, OutputOf)]
    told, late = {node.input for node in outputs}, {node.input for node in outputs if node.late is not None}
    wanted: dict[Node, Columns] = {}
    changes: dict[Node, Callable[[Node], Node]] = {}
    for node in reversed(list(plan.nodes.values())):
        asked = {} if node in late or _knows(node) else columns_read(node, wanted.get(node))
        for before in node.inputs:
            place = next((name for name in asked if getattr(node, name) is before), None)
            columns = None if place is None else asked[place]
            wanted[before] = _both(wanted[before], columns) if before in wanted else columns
        less = {place: kept for place, columns in asked.items() if (kept := _kept(getattr(node, place), columns))}
        if less and isinstance(node, _NARROWED) and node not in told:
            changes[node] = _narrowed(less)
    return plan.rewritten(changes) if changes else plan


def _knows(node: Node) -> bool:
    if isinstance(node, Sessions):
        return any(judged(node)) and kind_of(node.input) == CHANGES
    return forgets_after(node) is not None and any(judged(node))


def _both(one: Columns, other: Columns) -> Columns:
    return None if one is None or other is None else one | other


def _kept(before: Node, wanted: Columns) -> tuple[str, ...]:
    """The columns that are left of a node's rows, in their order; none if all are."""
    if wanted is None or len(before.columns) < 2:
        return ()
    # A row without columns is none: any one of them stands for it.
    kept = tuple(name for name in before.columns if name.lower() in wanted) or before.columns[:1]
    return () if len(kept) == len(before.columns) else kept


def _narrowed(less: Mapping[str, tuple[str, ...]]) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        inputs = {}
        for place, kept in less.items():
            before: Node = getattr(node, place)
            inputs[place] = Project(before, VERB, tuple((name, quote(name)) for name in kept), site=node.site)
        return replace(node, **inputs)  # type: ignore[arg-type]  # the names of its inputs

    return change


def _read(node: Node, texts: Iterable[str | None]) -> Columns:
    """The columns of a node that texts name; all, where nobody can tell."""
    found: set[str] = set()
    for text in texts:
        named = used(text, node.columns) if text is not None else frozenset()
        if named is None:
            return None
        found |= named
    return frozenset(found)


@singledispatch
def columns_read(node: Node, wanted: Columns) -> Mapping[str, Columns]:
    """By the names of its inputs, the columns that a node needs of them; an input that is not named is needed as it is."""
    raise TypeError(f"nobody says which columns {node!r} needs")


@columns_read.register(Changes)
@columns_read.register(Consolidate)
@columns_read.register(Ledger)
@columns_read.register(OutputOf)
@columns_read.register(Partition)
@columns_read.register(Program)
@columns_read.register(Sink)
@columns_read.register(Source)
@columns_read.register(Top)
@columns_read.register(Union)
@columns_read.register(Weighed)
def _(node: Node, wanted: Columns) -> Mapping[str, Columns]:
    return {}


@columns_read.register
def _(node: Filter, wanted: Columns) -> Mapping[str, Columns]:
    return {"input": _both(wanted, _read(node.input, node.where))}


@columns_read.register
def _(node: Expect, wanted: Columns) -> Mapping[str, Columns]:
    # A dead letter, and what ends a run, shows the whole row.
    shows = node.on_violation in ("dead_letter", "fail")
    return {"input": None if shows else _both(wanted, _read(node.input, (text for _, text in node.expectations)))}


@columns_read.register
def _(node: Project, wanted: Columns) -> Mapping[str, Columns]:
    # Also what nobody reads is computed, as it may fail.
    return {"input": _read(node.input, (text for _, text in node.items))}


@columns_read.register(Explode)
@columns_read.register(Generated)
def _(node: Explode | Generated, wanted: Columns) -> Mapping[str, Columns]:
    return {"input": _both(wanted, _read(node.input, [node.text]))}


@columns_read.register
def _(node: Lookup, wanted: Columns) -> Mapping[str, Columns]:
    return {"input": _both(wanted, _read(node.input, (text for text, _ in node.keys)))}


@columns_read.register
def _(node: Windows, wanted: Columns) -> Mapping[str, Columns]:
    return {"input": _both(wanted, _read(node.input, [node.time]))}


@columns_read.register
def _(node: Sessions, wanted: Columns) -> Mapping[str, Columns]:
    return {"input": _both(wanted, _read(node.input, (*node.per, node.time, node.until)))}


@columns_read.register
def _(node: Aggregate, wanted: Columns) -> Mapping[str, Columns]:
    return {"input": _read(node.input, (text for _, text in (*node.keys, *node.aggregates)))}


@columns_read.register
def _(node: Upserts, wanted: Columns) -> Mapping[str, Columns]:
    # Where each change is told, one of a column that nobody reads is a change as well.
    return {"input": _both(wanted, frozenset(name.lower() for name in node.key)) if node.last and not node.pairs else None}


@columns_read.register
def _(node: Temporal, wanted: Columns) -> Mapping[str, Columns]:
    return {"input": _both(wanted, _read(node.input, (*node.since, *node.until)))}


@columns_read.register
def _(node: Join, wanted: Columns) -> Mapping[str, Columns]:
    sides = {}
    for side, place in enumerate(("left", "right")):
        before: Node = getattr(node, place)
        sides[place] = _both(wanted, _read(before, [*(pair[side] for pair in node.keys), node.condition]))
    return sides


@columns_read.register
def _(node: AsOf, wanted: Columns) -> Mapping[str, Columns]:
    return {"left": _both(wanted, _read(node.left, [*(left for left, _ in node.keys), node.time[0]]))}
