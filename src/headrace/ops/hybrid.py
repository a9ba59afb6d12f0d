"""History, then live: several sources as one, read one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from graphlib import CycleError, TopologicalSorter

from headrace.errors import PlanError, Site, here
from headrace.expr import col, lit
from headrace.ops.columns import label
from headrace.ops.facts.time import event_time
from headrace.ops.filter import filter
from headrace.ops.source import Source, sources_of
from headrace.ops.union import Union, union
from headrace.plan import Node, Role, node, order
from headrace.schema import parse_schema
from headrace.schema.values import rows_to_internal
from headrace.schema.values import zone as time_zone

_TIME = parse_schema("at timestamp")
_EXAMPLE = "hr.read.hybrid(history, then=live)"


@node("hybrid")
class Hybrid(Union):
    """All rows of the first input, then those of the second: its sources are not read before those of the first have ended.

    Together they have one watermark, as the one source that they are. `at`: the time at which they were cut, as ISO text.

    >>> import headrace as hr
    >>> archive = hr.read.memory([("a", 1)], "card string, amount int", name="archive")
    >>> live = hr.read.memory([("a", 2)], "card string, amount int", name="live")
    >>> hr.read.hybrid(archive, then=live)                     # ('a', 1), and then ('a', 2)
    <Stream archive.hybrid: card, amount>
    """

    at: str | None = None

    @property
    def fits(self) -> bool:
        return super().fits and (self.at is None or _time(self.at) is not None)

    def describe(self) -> str:
        history, live = map(label, self.branches)
        return f"{history} to its end, then {live}"


def turns(nodes: Iterable[Node]) -> Mapping[str, tuple[str, ...]]:
    """Return for each source that waits the names of the sources that are read before it.

    Raises:
        PlanError: `BAD_HYBRID` if sources wait for each other.
    """
    before: dict[str, set[str]] = {}
    hybrids = [one for one in nodes if isinstance(one, Hybrid)]
    for hybrid in hybrids:
        history, live = (_names(branch) for branch in hybrid.branches)
        for name in live:
            before.setdefault(name, set()).update(history)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as cycle:
        name = cycle.args[1][0]
        site = next(hybrid.site for hybrid in hybrids if name in _names(hybrid))
        raise _bad(f"the source {name} would have to end before it is read", "put each source in one place of one order", site) from None
    return {name: tuple(sorted(names)) for name, names in before.items()}


def cuts_of(nodes: Iterable[Node], zone: str) -> Mapping[str, int]:
    """Return the times (microseconds) at which sources of history are cut. Their rows since then are left out, and must not move the
    watermark: live rows would be late.
    """
    cuts: dict[str, int] = {}
    for one in nodes:
        if isinstance(one, Hybrid) and one.at is not None:
            [(at,)] = rows_to_internal([(one.at,)], _TIME, time_zone(zone))
            cuts |= {name: min(at, cuts.get(name, at)) for name in _names(one.branches[0])}
    return cuts


def hybrid(history: Node, live: Node, at: str | datetime | None) -> Hybrid:
    for branch in (history, live):
        kept = [one for one in order([branch]) if one.role is Role.STATEFUL]
        if kept:
            why = f"{label(kept[0])} keeps state, and may still send rows when its sources have ended"
            raise _bad(why, f"read the sources first, then do the rest: {_EXAMPLE}.dedupe(...)")
    endless = [one for one in sources_of(order([history])) if not one.connect().traits.bounded]
    if endless:
        raise _bad(f"{label(endless[0])} never ends, so what follows would never be read", "leave follow=True out, or give it an end")
    shared = set(sources_of(order([history]))) & set(sources_of(order([live])))
    if shared:
        raise _bad(f"{label(shared.pop())} is both history and live", f"give two sources: {_EXAMPLE}")
    _same_watermarks(sources_of(order([history, live])))
    if at is None:
        return Hybrid(union([history, live]).branches, site=here())
    time = at if isinstance(at, datetime) else _time(at)
    if time is None:
        raise _bad(f"{at!r} is not a time", 'write it so: at="2026-01-01 00:00:00"')
    return Hybrid(union(_cut(history, live, time)).branches, time.isoformat(), site=here())


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def _cut(history: Node, live: Node, at: datetime) -> tuple[Node, Node]:
    """Return the rows before a time of one stream and the rows since then of the other. Rows without a time stay."""
    column = event_time(history)
    if column is None:
        raise PlanError(
            "NO_WATERMARK",
            f"{label(history)} has no event time, by which it could be cut",
            hint='set a watermark on both sources: .watermark("ts", "5 minutes")',
            site=here(),
        )
    after = col(column) >= lit(at)
    return filter(history, [~after | col(column).is_null()]), filter(live, [after | col(column).is_null()])


def _same_watermarks(sources: Iterable[Source]) -> None:
    """Refuse sources that could not have one watermark."""
    first, *others = sources
    for other in others:
        if _times(other) != _times(first):
            why = f"{label(first)} and {label(other)} have different watermarks"
            raise _bad(why, 'give both the same delay and idle time: .watermark("ts", "5 minutes")')


def _times(source: Source) -> tuple[int, int | None] | None:
    mark = source.watermark
    return None if mark is None else (mark.delay_ms, mark.idle_ms)


def _names(branch: Node) -> tuple[str, ...]:
    return tuple(str(one.name) for one in sources_of(order([branch])))


def _bad(why: str, hint: str, site: Site | None = None) -> PlanError:
    return PlanError("BAD_HYBRID", f"these streams cannot be read one after the other: {why}", hint=hint, site=site or here())
