"""State: what each operator keeps, and whether that grows without limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from headrace.analysis.schemas import check
from headrace.ops import (
    Aggregate,
    AsOf,
    Consolidate,
    Group,
    Interval,
    Join,
    Ledger,
    Partition,
    Program,
    Sessions,
    Temporal,
    Top,
    Upserts,
    closing,
    ended,
    forgets_after,
    grouped_by,
    groups,
    intervals,
    judged,
    kinds,
    unique,
)
from headrace.ops.closing import EVENT, IN_STRUCT, SELF, Columns
from headrace.ops.interval import bounds
from headrace.ops.window import shown_micros
from headrace.plan import Fact, Node, Plan, Role, fact
from headrace.schema import shown
from headrace.syntax import plain_name

ROWS, GROUPS, BOUNDED, GIVEN = "grows with rows", "grows with groups", "bounded", "given back"


@fact("state")
def state(plan: Plan) -> Mapping[str, Fact]:
    """For each operator, what it keeps; for a program, which of its cells some handler clears."""
    ends = [plan.nodes[name] for name in plan.sinks]
    added, closed, near, columns = kinds(ends), groups(ends), intervals(ends), closing(ends)
    storage = check(plan).storage if any(isinstance(node, Aggregate) for node in plan.nodes.values()) else {}
    found = {}
    for name, node in plan.nodes.items():
        if node.role is Role.STATEFUL:
            append = all(added.get(before) == "append" for before in node.inputs)
            kept = state_of(node, Basis(append, storage.get(name, ())))
            after = forgets_after(node)
            if node in closed:
                kept = _given_back(node, closed[node], kept)
            elif after is not None:
                kept = _forgotten(node, after, kept)
            elif isinstance(node, Join):
                kept = _one_by_one(node, near[node]) if node in near else Fact(kept.value, kept.text + _cure(node, columns))
            found[name] = kept
    return found


def _one_by_one(node: Join, near: Interval) -> Fact:
    """What a join keeps whose rows lie near each other in time."""
    sides = ("left", "right")
    ends = [f"{name} + {shown_micros(us)}" if us else name for name, us in zip(near.times, near.kept_us, strict=True)]
    late = "; rows that come when it has passed them are late" if any(near.judged) else ""
    endless = next((side for side, us in zip((0, 1), near.kept_us, strict=True) if us is None), None)
    if endless is None:
        return Fact(GIVEN, f"given back: left rows when the watermark passes {ends[0]}, right rows when it passes {ends[1]}{late}")
    mine, other = near.times[endless], near.times[1 - endless]
    bound = f"{other} <= {mine} + INTERVAL 1 HOUR"
    kept = f"grows with the {sides[endless]} rows, as the condition does not say until when they can meet one: `{bound}` would"
    return Fact(ROWS, f"{kept}; given back: {sides[1 - endless]} rows when the watermark passes {ends[1 - endless]}{late}")


def _cure(node: Join, columns: Mapping[Node, Columns]) -> str:
    """What would let the rows of a join go, if little is missing."""
    left, right = columns[node.left], columns[node.right]
    for mine, other in bounds(node):
        if (mine in left) != (other in right):
            return f"; a watermark on {other if mine in left else mine} would end that"
    if not left or not right:
        return ""
    mine, other = next(iter(left)), next(iter(right))
    return f"; a condition as `{mine} BETWEEN {other} AND {other} + INTERVAL 1 HOUR` would end that"


def _given_back(node: Node, group: Group, kept: Fact) -> Fact:
    """What an operator keeps until its groups close."""
    times = []
    for number, closes in group.keys:
        text = grouped_by(node)[number]
        time = text if closes.at == SELF else f"{text}.end" if closes.at == IN_STRUCT else closes.at.of(text)
        times.append(f"{time} and {shown(closes.lateness_ms)} more" if closes.lateness_ms else time)
    late = "; rows that come later are late" if any(group.judged) else ""
    clock = "the watermark" if EVENT in group.clocks else "processing time"
    return Fact(GIVEN, f"given back when {clock} passes {' or '.join(times)}{late}; till then: {kept.text}")


def _forgotten(node: Node, after_ms: int, kept: Fact) -> Fact:
    """What an operator keeps of a group until no row has come to it for a while."""
    of = f"a group of {', '.join(plain_name(text) or text for text in grouped_by(node))}"
    said = "what was said of it stays, a row that comes later begins it anew"
    late = "; rows that take away what is forgotten are late" if any(judged(node)) else ""
    text = f"forgotten when no row has come to {of} for {shown(after_ms)} of event time; {said}{late}; till then: {kept.text}"
    return Fact(GIVEN, text)


@dataclass(frozen=True)
class Basis:
    """What is known of an operator: whether rows are only ever added to its inputs, and how much is kept for the parts of an aggregate."""

    append: bool
    storage: tuple[tuple[str, str], ...] = ()


@singledispatch
def state_of(node: Node, basis: Basis) -> Fact:
    """What an operator keeps."""
    raise TypeError(f"nobody says what {node!r} keeps")


@state_of.register
def _(node: Ledger, basis: Basis) -> Fact:
    return Fact(ROWS, "grows with the rows that are there: how often each is, to judge what is taken away")


@state_of.register
def _(node: Consolidate, basis: Basis) -> Fact:
    return Fact(BOUNDED, "bounded: it keeps nothing")


@state_of.register
def _(node: Join, basis: Basis) -> Fact:
    if node.how in ("semi", "anti", "existence") and node.condition is None:
        return Fact(ROWS, "grows with the left rows, each of which may still meet one; of the right ones it keeps how many a key has")
    partners = "" if node.how == "inner" or node.condition is None else ", and how many partners each has"
    return Fact(ROWS, f"grows with the rows of both sides, each of which may still meet a row that comes{partners}")


@state_of.register
def _(node: AsOf, basis: Basis) -> Fact:
    if node.clock != "event":
        return Fact(ROWS, "grows with the rows of both sides, as any row may get another version; a watermark on both would end that")
    waits = "rows until the watermark has passed them" if node.direction == "backward" else "rows until no other version can be theirs"
    if node.direction == "forward" or node.within_us is not None:
        return Fact("given back", f"given back by the watermark: {waits}, versions until no row can need them")
    of = f"a key of {', '.join(left for left, _ in node.keys)}"
    return Fact("grows with keys", f"grows with the number of keys: the last version of {of}; given back by the watermark: {waits}")


@state_of.register
def _(node: Sessions, basis: Basis) -> Fact:
    rows = f"the rows in the order of time{f', of each {_partition(node.per)}' if node.per else ''}"
    end = ended(node)
    if end is None:
        return Fact(ROWS, f"grows with the rows, as one that comes may join two sessions: {rows}")
    more = f" and {shown(end.lateness_ms)} more" if end.lateness_ms else ""
    late = "; rows that come later are late" if end.straight else ""
    return Fact(GIVEN, f"given back when the watermark passes the end of a session{more}{late}; till then: {rows}")


@state_of.register
def _(node: Aggregate, basis: Basis) -> Fact:
    of = f"a group of {', '.join(name for name, _ in node.keys)}" if node.keys else "the one group"
    constant = ("constant", "append") if basis.append else ("constant",)
    values = [text for text, kept in basis.storage if kept not in constant]
    if values:
        more = f"; of {of} it keeps the values of {', '.join(values)}, as any may become the answer when another is taken away"
        return Fact(ROWS, f"grows with the values that differ{more}")
    if node.keys:
        return Fact(GROUPS, f"grows with the number of groups: a row of numbers for {of}")
    return Fact(BOUNDED, f"bounded: a row of numbers for {of}")


@state_of.register
def _(node: Partition, basis: Basis) -> Fact:
    return Fact(ROWS, f"grows with the rows, which it keeps in the order of each {_partition(node.per)}")


@state_of.register
def _(node: Top, basis: Basis) -> Fact:
    if basis.append and node.ties != "row_number":
        kept = f"the first {node.count} of each {_partition(node.per)}, and those that tie with the last"
        if node.ties == "dense_rank":
            kept = f"those of the first {node.count} values of each {_partition(node.per)}"
        return Fact(ROWS, f"grows with the rows that tie: {kept}")
    if basis.append and node.count is not None:
        kept = f"the first {node.count + node.offset} rows of each {_partition(node.per)}"
        return Fact(GROUPS if node.per else BOUNDED, f"{'grows with the number of partitions' if node.per else 'bounded'}: {kept}")
    return Fact(ROWS, f"grows with the rows, as those behind move up when one is taken away; in the order of each {_partition(node.per)}")


@state_of.register
def _(node: Temporal, basis: Basis) -> Fact:
    if node.until:
        return Fact("given back", "given back when a row's time has passed: each row that is there or will be")
    return Fact("given back", "given back when a row's time has come: each row that waits for it")


@state_of.register
def _(node: Upserts, basis: Basis) -> Fact:
    of = f"a key of {', '.join(node.key)}"
    if node.last and node.replaces:
        return Fact(BOUNDED, f"bounded: it keeps nothing, as its sink puts a row in the place of the one with {of}")
    if node.last:
        return Fact("grows with keys", f"grows with the number of keys: the last row of {of}")
    if unique(node.input, node.key):
        return Fact(BOUNDED, f"bounded: it keeps nothing, as {of} has one row at the most")
    return Fact("grows with keys", f"grows with the number of keys: the row of {of}, to see whether another comes beside it")


def _partition(per: tuple[str, ...]) -> str:
    return f"partition of {', '.join(per)}" if per else "partition (there is one)"


@state_of.register
def _(node: Program, basis: Basis) -> Fact:
    cells = [cell for cell in node.traced.cells if cell.kind not in ("timer", "broadcast")]
    keys = [name for name, _ in node.keys[0]]
    of = f"a key of {', '.join(keys)}" if keys else "the whole stream"
    shared = ", ".join(cell.name for cell in node.traced.cells if cell.kind == "broadcast")
    held = " and the rows that wait for the watermark" if node.order == "time" else ""
    held += f"; {shared} for all keys, once in each partition" if shared else ""
    if not cells:
        return Fact("bounded", f"bounded: nothing for {of} but pending timers{held}")
    cleared = {name for handler in node.traced.to_json()["handlers"] for name in _cleared(handler["body"])}
    expiring = {cell.name for cell in cells if cell.expires_ms is not None}
    given = "the program clears it" + (" or it expires" if expiring else "") if cleared else "it expires"
    cleared |= expiring
    kept = ", ".join(cell.name for cell in cells if cell.name not in cleared)
    names = ", ".join(cell.name for cell in cells)
    if kept and keys:
        return Fact("grows with keys", f"grows with the number of keys: {kept} is kept for {of} and never cleared")
    if kept:
        return Fact("bounded", f"bounded: {names}, once{held}")
    return Fact("given back", f"given back when {given}: {names} for {of}{held}")


def _cleared(body: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """The cells of which statements take something away."""
    cells = {step["it"]: step["cell"] for step in _inside(body) if step["do"] == "each"}
    for step in _inside(body):
        if step["do"] == "clear" or (step["do"] == "set" and step["value"].upper() == "NULL"):
            yield step["cell"]
        elif step["do"] == "replace" and "value" not in step:
            yield cells[step["it"]]


def _inside(body: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """All statements of a body, those inside others too."""
    for statement in body:
        yield statement
        for inner in [statement.get("body", ()), *(inner for _, inner in statement.get("branches", ()))]:
            yield from _inside(inner)
