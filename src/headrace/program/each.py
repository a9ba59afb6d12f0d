"""each: a loop over the entries of a list or a map."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, NoReturn

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.list import List
from headrace.program.map import Map, Range
from headrace.program.opaque import Opaque
from headrace.program.recording import Block, Origin, Recording, changed_in_loop, recording
from headrace.program.source import check_branch
from headrace.program.statement import Each, Replace
from headrace.syntax import quote


def each(entries: List | Map | Range, *, reverse: bool = False) -> Loop:
    """Opens a loop: the block under `with` runs for each entry of a list or a map, in order.

    `it.value` is the entry's value, `it.key` its key in a map, `it.index` its number in the loop from 0. `it.set(value)` replaces the value
    and `it.remove()` removes the entry; the cell cannot be changed otherwise inside the loop. Entries are read in pages. There is no
    `break`.

    Args:
        entries: A `hr.List`, a `hr.Map` or `hr.Broadcast`, or a `range` of one.
        reverse: Runs from the last entry to the first.

    Raises:
        ProgramError: `EACH_OVER` for anything else, or for `it.key` of a list; `WHEN_WITHOUT_WITH` without `with`; `LOOP_CHANGES` for
            another change of the cell inside the loop; `OUTSIDE_HANDLER`; `FOREIGN_CELL` in a handler of another program. `process` raises
            `LEAVES_WHEN`, `NAME_FROM_WHEN` and `TRY_IN_HANDLER` as for `hr.when`.

    Examples:
        >>> import headrace as hr
        >>> class Open(hr.Program):
        ...     orders = hr.Map("bigint", "timestamp")
        ...
        ...     def on_event(self, e):
        ...         with hr.each(self.orders) as it:
        ...             with hr.when(it.value < e.ts - hr.hours(1)):
        ...                 hr.emit(shop=self.key.shop, order=it.key, since=it.value)
        ...                 it.remove()
        ...         self.orders.set(e.order, e.ts)
        >>> rows = [("a", 1, "2026-01-01 10:00:00"), ("a", 2, "2026-01-01 12:00:00")]
        >>> orders = hr.read.memory(rows, "shop string, order bigint, ts timestamp", name="orders").watermark("ts", "1 minute")
        >>> hr.collect(orders.key_by("shop").process(Open).select("shop", "order")).rows()
        [('a', 1)]
    """
    return Loop(entries, reverse)


class Loop:
    """A loop, opened only by a `with` statement."""

    def __init__(self, entries: List | Map | Range, reverse: bool) -> None:
        self._site = here()
        current = self._recording = recording("hr.each")
        cell = entries.map if isinstance(entries, Range) else entries
        if not isinstance(cell, List | Map):
            raise ProgramError(
                "EACH_OVER",
                f"hr.each loops over a hr.List or hr.Map, not over {_described(cell)}",
                hint="with hr.each(self.orders) as it: ...; for an array column use stream.explode(...) before it, or hr.f.transform",
                site=self._site,
            )
        _, self.cell = cell._recording()
        low, high = (entries.low, entries.high) if isinstance(entries, Range) else (None, None)
        self._low = None if low is None else current.text(low)
        self._high = None if high is None else current.text(high)
        self._reverse = reverse
        self._keyed = isinstance(cell, Map)
        current.unentered[id(self)] = self

    def __bool__(self) -> NoReturn:
        raise self.without_with()

    def __iter__(self) -> Iterator[Entry]:
        return self._recording.iterated(self)

    def __enter__(self) -> Entry:
        current = self._recording
        current.enter(self)
        if not check_branch(current):
            raise self.without_with()
        self._it = current.numbered("it")
        self._outer = current.block
        current.block = Block(self._outer)
        current.loops.append((self.cell, self._it))
        message = "`it` is used outside its `with hr.each(...)`"
        hint = "to keep a value, use a local: found = hr.let(None, type) before the loop, found.set(it.value) inside"
        for part in ("key", "value", "index") if self._keyed else ("value", "index"):
            current.locals[f"{self._it}.{part}"] = Origin(current.block, message, hint)
        return Entry(current, self.cell, self._it, self._keyed)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        current = self._recording
        body, current.block = current.block, self._outer
        current.loops.pop()
        if error is None:
            loop = Each(self.cell, self._it, body.frozen(), self._low, self._high, self._reverse, site=self._site)
            self._outer.statements.append(loop)

    def without_with(self) -> ProgramError:
        return ProgramError(
            "WHEN_WITHOUT_WITH",
            "hr.each is used without `with`, or twice, so it has no effect",
            hint="write `with hr.each(...) as it:` and indent its statements",
            site=self._site,
        )


class Entry(Opaque):
    """The current entry of a loop."""

    __slots__ = ("__cell", "__it", "__keyed", "__recording")

    def __init__(self, recording: Recording, cell: str, it: str, keyed: bool) -> None:
        self.__recording = recording
        self.__cell = cell
        self.__it = it
        self.__keyed = keyed

    @property
    def value(self) -> Column:
        """The entry's value when the loop reached it. A later `set` does not change it."""
        return self.__part("value")

    @property
    def key(self) -> Column:
        """The entry's key, in a map."""
        if not self.__keyed:
            raise ProgramError(
                "EACH_OVER", f"`{self.__cell}` is a list, and its entries have no key", hint="use it.index or it.value", site=here()
            )
        return self.__part("key")

    @property
    def index(self) -> Column:
        """The entry's number in the loop, from 0, as bigint."""
        return self.__part("index")

    def set(self, value: Any) -> None:
        """Replaces the entry's value. In a map, null removes the entry."""
        self.__change(self.__recording.text(value))

    def remove(self) -> None:
        """Removes the entry; the loop continues with the next one."""
        self.__change(None)

    def __part(self, part: str) -> Column:
        name = f"{self.__it}.{part}"
        return self.__recording.value(quote(name), name)

    def __change(self, value: str | None) -> None:
        current = recording("it")
        current.text(self.value)  # refuses an entry whose loop has ended
        if [cell for cell, _ in current.loops].count(self.__cell) > 1:
            raise changed_in_loop(self.__cell)
        current.record(Replace(self.__it, value, site=here()))

    def __repr__(self) -> str:
        return f"<Entry of {self.__cell}>"

    def _refusal(self, done: str) -> ProgramError:
        parts = "it.key, it.value, it.index" if self.__keyed else "it.value, it.index"
        return ProgramError(
            "CELL_OPERATOR",
            f"`it` is an entry of `{self.__cell}`, not a value, so Python cannot {done}",
            hint=f"read it: {parts}; change it: it.set(...), it.remove()",
            site=here(),
        )


def _described(value: object) -> str:
    if isinstance(value, Column):
        return "a column"
    return f"the {type(value).__name__} {value!r}"
