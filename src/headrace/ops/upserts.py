"""One row for each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from headrace.errors import PlanError, here
from headrace.ops.changes import CHANGE, Changes, changes
from headrace.ops.columns import column_name, duplicate, once
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.clock import NO_TIME, Clock
from headrace.ops.facts.closing import Group
from headrace.ops.facts.contract import contracts
from headrace.ops.facts.keys import Keys, lower, unique
from headrace.ops.facts.kind import APPEND, CHANGES, kind_of
from headrace.ops.facts.provenance import Itself, Provenance
from headrace.ops.facts.reading import Wanted, both
from headrace.ops.facts.state import BOUNDED, KEYS, Basis
from headrace.ops.handle import Handle, verb
from headrace.ops.inlet import Checked, Inlet, inlet, numbered
from headrace.ops.operator import Unary, Ungrouped
from headrace.ops.parts import RelationText
from headrace.ops.relational import Relational
from headrace.plan import Fact, Node, node
from headrace.syntax import quote


@dataclass(frozen=True, kw_only=True)
class UpsertsText(RelationText):
    """The columns of the key, and how its rows replace each other; with `unique`, a key cannot have two rows."""

    by: tuple[str, ...]
    last: bool
    pairs: bool
    unique: bool
    replaces: bool


@node("upserts")
class Upserts(Relational, Unary, Ungrouped):
    """The one row of each key; in an epoch at most one is retracted and one is added.

    `last`: a row replaces the one before it, and a retraction ends the key. Otherwise the rows of a key add up, and two of them at the end
    of an epoch stop the job. `pairs`: each change is a row with a word in `_change`, an update is two. `replaces`: the sink puts each row
    in the place of the one before it, which is not retracted first, so last rows need not be kept.

    >>> import headrace as hr
    >>> prices = hr.read.memory([("a", 1), ("b", 5), ("a", 2)], "card string, amount int", name="prices")
    >>> # epoch 1: (a, 1) (b, 5)   ->   +(a, 1) +(b, 5)
    >>> # epoch 2: (a, 2)          ->   -(a, 1) +(a, 2)
    >>> prices.upserts("card")
    <Stream upserts(prices): card, amount>
    >>> prices.upserts("card").changes()
    <Stream upserts(prices): card, amount, _change>
    """

    net = True

    key: tuple[str, ...] = field(metadata={"unordered": True})
    last: bool
    pairs: bool = False
    replaces: bool = field(default=False, metadata={"later": True})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, CHANGE) if self.pairs else self.input.columns

    @property
    def fits(self) -> bool:
        return bool(self.key) and set(self.key) <= set(self.input.columns)

    def describe(self) -> str:
        what = "the last row" if self.last else "the one row"
        return f"{what} of each {', '.join(self.key)}" + (", each change as a row" if self.pairs else "")

    @property
    def reads_changes(self) -> bool:
        return True

    @property
    def shows_changes(self) -> bool:
        return self.pairs

    @property
    def replaced_in_place(self) -> bool:
        return self.replaces

    @property
    def sole_by(self) -> tuple[str, ...]:
        return self.key

    @property
    def each_version(self) -> Node:
        return self.input if self.last and not self.pairs else self

    @property
    def caveat(self) -> str | None:
        return "keeps the row read last for each key" if self.last else None

    @property
    def key_names(self) -> tuple[str | None, ...]:
        return self.key

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return APPEND if self.pairs else CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return () if self.pairs else (lower(self.key),)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return {}

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        # As a row of its own, a change of a column that is not read counts as well.
        return {"input": both(wanted, lower(self.key)) if self.last and not self.pairs else None}

    @property
    def keeps(self) -> bool:
        """Whether it has to keep the row of a key: not if its sink replaces rows, or if a key has at most one row."""
        return not (self.replaces if self.last else unique(self.input, self.key))

    @property
    def _may_begin_anew(self) -> bool:
        """Whether an upstream operator may forget the rows that it has sent for a key."""
        return any(node.forgets_after is not None for node in contracts([self.input]))

    @property
    def provenance(self) -> Provenance:
        return Itself()

    def kept(self, basis: Basis) -> Fact:
        of = f"a key of {', '.join(self.key)}"
        if self.last and self.replaces:
            return Fact(BOUNDED, f"bounded: it keeps nothing, as its sink replaces the row of {of}")
        if self.last:
            return Fact(KEYS, f"grows with the number of keys: the last row of {of}")
        if not self.keeps:
            anew = "; one whose group is forgotten and starts over has one more" if self._may_begin_anew else ""
            return Fact(BOUNDED, f"bounded: it keeps nothing, as {of} has at most one row{anew}")
        return Fact(KEYS, f"grows with the number of keys: the row of {of}, to detect a second one")

    def place_of_filter(self, named: frozenset[str]) -> str | None:
        # A row with a null in its key becomes a dead letter, also one that the filter would drop.
        return "input" if not self.pairs and not self.last and named <= lower(self.key) else None

    def goes_by(self, group: Group | None) -> Clock:
        return NO_TIME

    def relation(self) -> UpsertsText:
        alone = not self.last and unique(self.input, self.key)
        return UpsertsText(by=self.key, last=self.last, pairs=self.pairs, unique=alone, replaces=self.replaces)

    @property
    def refuses_null_keys(self) -> bool:
        # A row with a null in its key replaces no known row; in a result a null is a key like any other.
        return self.last

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        delivery, order = ("key" if self.refuses_null_keys else "null_key"), ("position" if self.last else "rows")
        key = numbered([quote(name) for name in self.key])
        return (inlet(self.input, at, delivery=delivery, key=key, key_schema=at.key_schema(self), order=order),)


def upserts(input: Node, key: Any, kind: str, *, replaces: bool = False) -> Upserts:
    """The rows of a stream of that kind by key. `replaces`: for a sink that puts a row in the place of the one before it."""
    columns = key_of(input, key, "upserts")
    if isinstance(input, Upserts) and not input.pairs and set(input.key) == set(columns):
        return input
    return Upserts(input, columns, last=kind == "append", replaces=replaces, site=here())


def key_of(input: Node, key: Any, verb: str) -> tuple[str, ...]:
    """Return the columns that a user gave as a key."""
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, list | tuple) or not names:
        raise PlanError("BAD_COLUMN", f"{verb}: the key cannot be {key!r}", hint='name its columns: "id", or ["shop", "day"]', site=here())
    columns = tuple(column_name(input, name) for name in names)
    once(columns, verb)
    return columns


def shown(input: Node, kind: str) -> Changes | Upserts:
    """The changes of a stream of that kind as rows; with a key, an update has its old and its new row."""
    if not isinstance(input, Upserts) or input.pairs:
        return changes(input, kind)
    if any(name.lower() == CHANGE for name in input.columns):
        raise duplicate(CHANGE, CHANGE, "changes")
    return replace(input, pairs=True, site=here())


class UpsertsVerbs(Handle):
    __slots__ = ()

    @verb("changes")
    def changes(self) -> Self:
        """Turns the changelog into an append-only stream: each change becomes a row, with `insert` or `delete` in the column `_change`.

        Only the net changes of each epoch appear. After `upserts`, a replaced row gives two rows: the old one with `update_before`, the new
        one with `update_after`.

        Returns:
            An append-only stream.

        Raises:
            PlanError: `DUPLICATE_COLUMN` if the stream has a column `_change`.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 7), ("a", 2)], "card string, amount int", name="charges")
            >>> hr.collect(charges.group_by("card").agg(spent="sum(amount)").changes()).rows()
            [('a', 9, 'insert')]
        """
        return self._then(shown(self._node, kind_of(self._node)))

    @verb("upserts")
    def upserts(self, key: str | Iterable[str]) -> Self:
        """Keeps one row for each key: the latest one.

        Over an append-only stream each row replaces the earlier row of its key, in the order in which rows are read; a row with a null in
        its key becomes a dead letter. Over a stream with retractions the key must be unique at the end of each epoch, else the run stops
        with `KEY_NOT_UNIQUE`; a null is then a key like any other. No state is needed if the key is known to be unique, such as the keys of
        an aggregate.

        Args:
            key: The column or columns of the key.

        Raises:
            PlanError: `BAD_COLUMN` if `key` does not name columns; `UNKNOWN_COLUMN` if a column does not exist; `DUPLICATE_COLUMN` if it
                names one twice.
            RunError: `KEY_NOT_UNIQUE` in a run, if two rows have one key.

        Examples:
            >>> import headrace as hr
            >>> prices = hr.read.memory([("tea", 3), ("jam", 5), ("tea", 4)], "product string, price int", name="prices")
            >>> sorted(hr.collect(prices.upserts("product")).rows())
            [('jam', 5), ('tea', 4)]
        """
        return self._then(upserts(self._node, key, kind_of(self._node)))
