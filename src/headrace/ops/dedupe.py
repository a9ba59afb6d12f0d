"""One row for each key: the first or the last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self

from headrace.errors import PlanError, here
from headrace.expr import Column
from headrace.ops.columns import label, listed
from headrace.ops.expires import Duration
from headrace.ops.facts.time import event_time
from headrace.ops.handle import Handle, verb
from headrace.ops.process import key_by, processed
from headrace.ops.relational import Stateful
from headrace.ops.top import Top, top
from headrace.plan import Node
from headrace.program import Program, Value, emit, when
from headrace.syntax import quote

_TURNED = {"asc": "desc", "desc": "asc", "first": "last", "last": "first"}


class Dedupe(Program):
    """The first row of a key, and no other for a span of time after it."""

    def __init__(self, within: str | timedelta) -> None:
        self.seen = Value("boolean", expires=within)

    def on_event(self, e: Any) -> None:
        with when(~self.seen.exists()):
            self.seen.set(True)
            emit(e)


def dedupe(input: Node, on: Any, keep: str, by: Any, expires: Duration, alias: str | None) -> Top:
    """The first or last row of each key: by event time, unless an order is given."""
    _known(keep)
    time = event_time(input)
    if by is None and time is None and keep == "last":
        hint = 'give an order: .dedupe(on="card", keep="last", by="version")'
        raise PlanError("BAD_ORDER", f"{label(input)} has no event time to tell its last row", hint=hint, site=here())
    order = by if by is not None else [] if time is None else quote(time)
    first = top(input, 1, order, keys(on), "row_number", expires, alias)
    if keep == "first":
        return first
    turned = tuple((text, _TURNED[direction], _TURNED[nulls]) for text, direction, nulls in first.order)
    return replace(first, order=turned)


def for_a_while(input: Node, keep: str, by: Any, within: str | timedelta, expires: Duration) -> tuple[Dedupe, str]:
    """Return the program that passes the first row of a key by event time and later forgets the key, and the column of that time."""
    if expires is not None:
        hint = "leave one out: within counts from the first row of a key, expires from the last"
        raise PlanError("BAD_EXPIRY", "dedupe takes within or expires, not both", hint=hint, site=here())
    _known(keep)
    if keep == "last" or by is not None:
        hint = "leave within out, or take the first row by event time"
        raise PlanError("BAD_INPUT", "dedupe: within requires keep='first' and no by", hint=hint, site=here())
    time = event_time(input)
    if time is None:
        hint = 'give the source a watermark: .watermark("ts", "5 minutes")'
        raise PlanError("NO_WATERMARK", f"dedupe: within needs event time, and {label(input)} has none", hint=hint, site=here())
    return Dedupe(within), time


def forgets_keys_after(node: Stateful) -> int | None:
    """The `within=` of `dedupe`, in milliseconds; None for any other node."""
    if node.program_class != Dedupe.__name__ or [cell.name for cell in node.cells] != ["seen"]:
        return None
    return node.cells[0].expires_ms if node.columns == node.inputs[0].columns else None


def keys(on: Any) -> list[Any]:
    columns = listed(on, "on")
    if not columns:
        raise PlanError("BAD_KEY", "dedupe needs at least one column", hint='.dedupe(on="id"); for whole rows: .distinct()', site=here())
    return columns


def _known(keep: str) -> None:
    if keep not in ("first", "last"):
        raise PlanError("BAD_INPUT", f"dedupe: `keep` cannot be {keep!r}", hint='use "first" or "last"', site=here())


class DedupeVerb(Handle):
    __slots__ = ()

    @verb("dedupe")
    def dedupe(
        self,
        *,
        on: Column | str | Iterable[Column | str],
        keep: str = "first",
        by: Column | str | Iterable[Column | str] | None = None,
        within: str | timedelta | None = None,
        expires: str | timedelta | None = None,
    ) -> Self:
        """Keeps one row for each key: the first or the last in an order.

        * Without `within`, the result of each key is kept, and is replaced when a row arrives that comes earlier in the order (`"first"`)
          or later (`"last"`). Ties are settled by all columns, nulls first.
        * With `within`, the first row of a key passes when the watermark reaches it, and is final. Repeats within that time after it are
          dropped. The input must be append-only, and a row with a null key becomes a dead letter.

        Args:
            on: The columns of the key.
            keep: `"first"` or `"last"`.
            by: The order: columns or SQL texts such as `"version desc"`. Default: event time; without it, all columns for `keep="first"`,
                and an error for `keep="last"`.
            within: A duration such as `"1 hour"` in event time: how long after the first row of a key its repeats are dropped. Needs event
                time, `keep="first"` and no `by`.
            expires: A duration in event time: a key without rows for that long is forgotten, and its next row passes again. Not with
                `within`. Default: never.

        Returns:
            Without `within`, a stream of changes with `on` as a unique key; with it, an append-only stream.

        Raises:
            PlanError: `BAD_KEY` if `on` is empty; `UNKNOWN_COLUMN` if a column does not exist; `BAD_INPUT` if `keep` is unknown or does not
                fit `within`; `BAD_ORDER` if `keep="last"` has neither `by` nor event time; `NO_WATERMARK` or `CHANGES_NOT_YET` if the
                stream does not fit `within`; `BAD_EXPIRY` if `expires` is zero or given with `within`.
            SchemaError: `BAD_DURATION` if `within` or `expires` is not a duration.

        Examples:
            >>> import headrace as hr
            >>> orders = hr.read.memory([(1, 1, "new"), (1, 2, "paid"), (2, 1, "new")], "id int, version int, state string", name="orders")
            >>> sorted(hr.collect(orders.dedupe(on="id", keep="last", by="version")).rows())
            [(1, 2, 'paid'), (2, 1, 'new')]
        """
        if within is None:
            return self._then(dedupe(self._node, on, keep, by, expires, self._alias), self._alias)
        program, time = for_a_while(self._node, keep, by, within, expires)
        return self._then(processed(key_by(self._node, tuple(keys(on)), self._alias), program, "time", time, {}))
