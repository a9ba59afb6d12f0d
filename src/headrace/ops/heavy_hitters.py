"""The most frequent values, in bounded state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from headrace.errors import PlanError, Site, here
from headrace.expr import Column
from headrace.ops.columns import label, listed, name_of, once, verb_arguments
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.clock import NO_TIME, Clock
from headrace.ops.facts.closing import Group
from headrace.ops.facts.keys import Keys, lower
from headrace.ops.facts.kind import APPEND, CHANGES, kind_of
from headrace.ops.facts.provenance import OfGroup, Provenance
from headrace.ops.facts.reading import Wanted
from headrace.ops.facts.state import BOUNDED, Basis
from headrace.ops.handle import Handle, verb
from headrace.ops.inlet import Checked, Inlet, inlet
from headrace.ops.operator import Unary, Ungrouped
from headrace.ops.parts import RelationText
from headrace.ops.project import Project
from headrace.ops.relational import Relational
from headrace.plan import Fact, Node, node
from headrace.syntax import quote

ADDED = ("count", "overestimate")
"""The columns of numbers in its rows, after those of the values."""

_MOST = 1_000_000
"""That many counters are a state of some hundred megabytes under one key."""


@dataclass(frozen=True, kw_only=True)
class HeavyHittersText(RelationText):
    """The number of values in the result, and the number of counters."""

    k: int
    counters: int


@node("heavy_hitters")
class HeavyHitters(Relational, Unary, Ungrouped):
    """The `k` most frequent rows of its input, by the Space-Saving algorithm: `count` is an estimate, `overestimate` bounds its error.

    A row whose value has a counter adds to it. Once all `counters` are in use, another value takes the counter of the rarest one: its count
    continues from that value's count, which is its `overestimate`.

    Law: after every epoch, of n rows so far, `count - overestimate <= frequency <= count` for each row, and `overestimate <= n / counters`.
    Each value more frequent than n / counters has a counter. If there were no more values than counters, all counts are exact. Of equal
    counts the first value in ascending order is shown, nulls first.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1), ("a", 5), ("b", 2)], "card string, amount int", name="charges")
    >>> # two counters, epoch 1: (a, 1) (a, 5) (b, 2)   ->   +(a, 2, 0)
    >>> # epoch 2: (c, 1) (c, 2)                        ->   -(a, 2, 0) +(c, 3, 1)
    >>> charges.heavy_hitters(1, by="card", error=0.5)
    <Stream heavy_hitters(charges): card, count, overestimate>
    """

    net = True

    k: int = field(metadata={"least": 1})
    counters: int = field(metadata={"least": 1})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *ADDED)

    @property
    def fits(self) -> bool:
        return self.k <= self.counters

    def describe(self) -> str:
        return f"the {self.k} most frequent {', '.join(self.input.columns)}, by {self.counters} counters"

    @property
    def caveat(self) -> str | None:
        return f"counts are estimates, too high by at most one row in {self.counters}; they depend on the cut into epochs"

    @property
    def key_names(self) -> tuple[str | None, ...]:
        return ()

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return (lower(self.input.columns),)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return {}

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}

    @property
    def provenance(self) -> Provenance:
        return OfGroup(tuple((name, quote(name)) for name in self.input.columns), ((ADDED[0], "count(*)"),))

    def kept(self, basis: Basis) -> Fact:
        return Fact(BOUNDED, f"bounded: {self.counters} counters with their values, in one group, of one task")

    def goes_by(self, group: Group | None) -> Clock:
        return NO_TIME

    def relation(self) -> HeavyHittersText:
        return HeavyHittersText(k=self.k, counters=self.counters)

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        _only_added(self.input, self.site)
        # All rows are in one group. They come in order, so that a replay gives the same counters; equal ones may be combined.
        rows = inlet(self.input, at, delivery="null_key", key_schema=at.key_schema(self), order="columns")
        return (replace(rows, combines=True),)


def heavy_hitters(input: Node, k: Any, by: Any, error: Any, alias: str | None) -> HeavyHitters:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= _MOST:
        raise _bad(f"k cannot be {k!r}", f"a whole number from 1 to {_MOST}")
    if isinstance(error, bool) or not isinstance(error, int | float) or not 1 / _MOST <= error <= 1:
        raise _bad(f"error cannot be {error!r}", f"a part of the rows, from {1 / _MOST:f} to 1")
    values = verb_arguments(input, listed(by, "by"), {}, alias)
    if not values:
        raise _bad("by names no column", "name the columns whose values are counted")
    items = tuple((name_of(expression), expression.text) for expression in values)
    once((*(name for name, _ in items), *ADDED), "heavy_hitters")
    _only_added(input, here())
    # From the decimal that the user wrote: 1 / 0.1 is exactly 10 counters.
    counters = max(k, math.ceil(1 / Fraction(repr(error))))
    return HeavyHitters(Project(input, "heavy_hitters", items, site=here()), k, counters, site=here())


def _only_added(input: Node, site: Site | None) -> None:
    if kind_of(input) != APPEND:
        message = f"heavy_hitters takes only insertions, and {label(input)} has retractions"
        hint = 'count all values: .group_by(...).agg(count="count(*)").top(...); or count each change as a row: .changes()'
        raise PlanError("CHANGES_NOT_YET", message, hint=hint, site=site)


def _bad(what: str, cure: str) -> PlanError:
    hint = f'{cure}: .heavy_hitters(10, by="card", error=0.001)'
    return PlanError("BAD_INPUT", f"heavy_hitters: {what}", hint=hint, site=here())


class HeavyHittersVerb(Handle):
    __slots__ = ()

    @verb("heavy_hitters")
    def heavy_hitters(self, k: int, by: Column | str | Iterable[Column | str], error: float) -> Self:
        """Estimates the `k` most frequent values of one or more columns, in bounded state.

        The true frequency of a value lies between `count - overestimate` and `count`. `overestimate` is at most `error` times the number of
        rows so far. All counts are exact while there are no more values than counters. The algorithm is Space-Saving (Metwally, Agrawal and
        El Abbadi, 2005); one task holds its counters.

        Args:
            k: The number of values to return, from 1 to 1,000,000.
            by: The columns whose values are counted.
            error: The bound of the error as a fraction of all rows, from 0.000001 to 1: after a million rows, counts with `error=0.001` are
                at most 1,000 too high. State has `1 / error` counters, at least `k`.

        Returns:
            The columns of `by`, `count` and `overestimate`: a stream of changes.

        Raises:
            PlanError: `BAD_INPUT` if `k` or `error` is out of range or `by` is empty; `CHANGES_NOT_YET` if rows of the stream are
                retracted; `UNKNOWN_COLUMN` if a column does not exist; `UNNAMED_COLUMN` or `DUPLICATE_COLUMN` if the columns do not have
                names of their own.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a",), ("b",), ("a",), ("c",)], "card string", name="charges")
            >>> hr.collect(charges.heavy_hitters(1, by="card", error=0.001)).rows()
            [('a', 2, 0)]
        """
        return self._then(heavy_hitters(self._node, k, by, error, self._alias))
