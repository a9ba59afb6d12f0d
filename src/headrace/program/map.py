"""Map: a cell that keeps values by keys of their own, in the order of these keys."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.entries import Entries
from headrace.program.opaque import Opaque
from headrace.program.statement import Clear, Set
from headrace.program.whole import refuse_fraction
from headrace.schema.ddl import type_text


class Map(Entries):
    """Values of a Spark type by keys of another, for each key of the program.

    >>> import headrace as hr
    >>> class PerShop(hr.Program):
    ...     spent = hr.Map("string", "decimal(12,2)")
    ...
    ...     def on_event(self, e):
    ...         spent = hr.f.coalesce(self.spent.get(e.shop), 0) + e.amount
    ...         self.spent.set(e.shop, spent)
    ...         hr.emit(card=self.key.card, shop=e.shop, spent=spent, shops=self.spent.size())

    Entries are in the order of their keys as Spark orders them; where Spark does not order a type (map, variant) in some order that stays
    the same. It is read in pages: what is asked of one key does not read the others. A row that asks to set a value under null goes to
    the dead letters. `was` is the name the cell had in an older version of the job: its state is taken over.
    """

    kind = "map"
    needs = ("key",)
    entries = True
    projected = False
    read_with = ".get(key)"
    write_with = ".set(key, ...)"

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return f"a map of {type} by {key}"

    def __init__(
        self, key: Any, value: Any, *, expires: str | dt.timedelta | None = None, clock: str = "event", was: str | None = None
    ) -> None:
        super().__init__(type_text(value), key=type_text(key), expires=expires, clock=clock, was=was)

    def __contains__(self, key: object) -> bool:
        raise self._refusal("look into it with `in`", "write {}.has(key)")

    def get(self, key: Any) -> Column:
        """The value of a key, null if there is none. A Python value is a literal."""
        recording, name = self._recording()
        return recording.read(name, "get", key=_given(key))

    def has(self, key: Any) -> Column:
        """True if there is a value of this key."""
        recording, name = self._recording()
        return recording.read(name, "has", key=_given(key))

    def set(self, key: Any, value: Any) -> None:
        """Replaces the value of a key; null removes it."""
        recording, name = self._recording()
        refuse_fraction(f"the key of `{name}`", str(self.key), key)
        refuse_fraction(f"`{name}`", self.type, value)
        of, text = recording.text(_given(key)), recording.text(value)
        recording.record(Set(name, text, of, site=here()))

    def remove(self, key: Any) -> None:
        """Takes the value of a key away, if there is one."""
        recording, name = self._recording()
        recording.record(Clear(name, recording.text(_given(key)), site=here()))

    def first(self) -> Column:
        """The entry of the least key as a struct, `first().key` and `first().value`; null if there is none."""
        recording, name = self._recording()
        return recording.read(name, "first")

    def last(self) -> Column:
        """The entry of the greatest key as a struct, `last().key` and `last().value`; null if there is none."""
        recording, name = self._recording()
        return recording.read(name, "last")

    def range(self, low: Any = None, high: Any = None) -> Range:
        """For a loop: the entries from `low` on and before `high`; None is no limit.

        `with hr.each(self.spent.range("a", "b")) as it` goes over the shops that begin with a.
        """
        return Range(self, low, high)


@dataclass(frozen=True, eq=False)
class Range(Opaque):
    """Some of a map's entries, for `hr.each`."""

    map: Map
    low: Any
    high: Any

    def _refusal(self, done: str) -> ProgramError:
        return ProgramError(
            "CELL_OPERATOR",
            f"a range of a map is not its entries, so Python cannot {done}",
            hint="loop over it: with hr.each(self.spent.range(low, high)) as it: ...",
            site=here(),
        )


def _given(key: Any) -> Any:
    """A key; there is none under None."""
    if key is None:
        raise ProgramError(
            "NULL_KEY", "None is given as the key of a map, which has no value under null", hint="give a value or a column", site=here()
        )
    return key
