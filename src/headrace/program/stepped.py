"""A traced program that also emits its steps: what its handlers read, which branches they take, what they change and emit.

The steps go to an output of their own, numbered in the order in which they happen for a key. Points of a handler at which values of the
same types are known, such as the changes of one cell, share a column, a struct with these values. An expression is evaluated once, as in
the program itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.expr import literal
from headrace.program.recording import NOW, TIMER_KEY, WATERMARK
from headrace.program.statement import Add, Append, Body, Clear, Each, Emit, Let, Read, Replace, Set, Statement, When
from headrace.program.traced import Traced, TracedCell, TracedHandler, TracedOutput
from headrace.schema import Struct, Type, parse_schema
from headrace.syntax import quote

STEPS = "__steps"
"""The output with the steps. No output or cell of a user's starts with __."""

NUMBER, ROW, POINT = "number", "row", "point"
"""The columns of a step: its number, that of the row whose handler runs (null for a timer), and that of the point."""

BEGIN, BRANCH, ENTRY, END = "begin", "branch", "entry", "end"
"""What happens at a point that is no statement: a handler begins, a branch is taken, a loop reaches an entry, a loop ends."""

BEFORE, VALUE, KEY = "before", "value", "key"
"""The fields of a change: the value of the cell before, the new value, the key of the entry. A read has `VALUE` and `KEY`."""

_NUMBER, _ROW = "__number", "__row"
"""The cells, and the locals, with the numbers of the last step and row. The kernel does not restore such cells if a handler fails, so rows
and timers count that have no effect.
"""


@dataclass(frozen=True)
class Point:
    """A point of the handler `on`. `what`: one of the above, or what its statement does. `column`: that with its values; None if it has
    none. `branch`: the number of the branch that is taken; behind the last one if none is.
    """

    on: str
    what: str
    column: str | None = None
    statement: Statement | None = None
    branch: int | None = None


@dataclass(frozen=True)
class Step:
    """A step: what happened at a point. `row`: the number of the row that is handled; None for a timer."""

    number: int
    row: int | None
    point: Point
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Stepped:
    """`program`: the program with its steps. `points`: its points, by their numbers."""

    program: Traced
    points: tuple[Point, ...]


def stepped(traced: Traced, emitted: Mapping[str, Struct], *, keyed: bool, without: int | None = None) -> Stepped:
    """Return a program that emits its steps; handlers of rows for all keys do not.

    Args:
        traced: The program.
        emitted: The columns of its outputs, with their types.
        keyed: Whether it has a key.
        without: The number of a row, from 1, whose handler does nothing.
    """
    known = _Stepper(traced, emitted, keyed, without, {})
    known.handlers()
    stepper = _Stepper(traced, emitted, keyed, without, known.columns)
    handlers = stepper.handlers()
    cells = (*traced.cells, TracedCell(_NUMBER, "value", "bigint"), TracedCell(_ROW, "value", "bigint"))
    return Stepped(Traced(cells, handlers, (*traced.outputs, TracedOutput(STEPS, stepper.names))), tuple(stepper.points))


class _Stepper:
    """`columns`: those with values, by what shares them; each step names all of them."""

    def __init__(
        self, traced: Traced, emitted: Mapping[str, Struct], keyed: bool, without: int | None, columns: Mapping[tuple[str, ...], str]
    ) -> None:
        self._traced, self._emitted, self._keyed, self._without = traced, emitted, keyed, without
        self._cells = {cell.name: cell for cell in traced.cells}
        self.columns = dict(columns)
        self.names = (NUMBER, ROW, POINT, *columns.values())
        self.points: list[Point] = []
        self._on = ""
        self._row = "NULL"
        self._locals = 0
        self._loops: dict[str, tuple[TracedCell, str]] = {}

    def handlers(self) -> tuple[TracedHandler, ...]:
        return tuple(one if one.kind == "broadcast" else replace(one, body=self._handler(one)) for one in self._traced.handlers)

    def _handler(self, handler: TracedHandler) -> Body:
        self._on, self._locals, self._loops = handler.on, 0, {}
        known = {"key": "key"} if self._keyed else {}
        written = json.dumps(handler.to_json())
        times = {name: text for name, text in (("now", NOW), ("watermark", WATERMARK)) if text in written}
        number = (Read(f"{_NUMBER}_before", _NUMBER), Let(_NUMBER, f"coalesce({_NUMBER}_before, 0L)", "bigint"))
        numbered = Set(_NUMBER, _NUMBER)
        if handler.kind == "timer":
            timer = {} if self._cells[handler.on].key is None else {"timer": TIMER_KEY}
            self._row = "CAST(NULL AS bigint)"
            begin = self._point(BEGIN, None, {"at": "at", **timer, **known, **times}, handler.on)
            return (*number, *begin, *self._body(handler.body), numbered)
        self._row = _ROW
        row = (Read(f"{_ROW}_before", _ROW), Let(_ROW, f"coalesce({_ROW}_before, 0L) + 1L", "bigint"), Set(_ROW, _ROW))
        body = (*self._point(BEGIN, None, {"e": "e", **known, **times}, handler.on), *self._body(handler.body))
        return (*number, *row, *(body if self._without is None else (When(((f"{_ROW} != {self._without}L", body),)),)), numbered)

    def _point(self, what: str, statement: Statement | None, values: Mapping[str, str], of: str = "", *, branch: int | None = None) -> Body:
        """Return the statements that emit a step. `values`: the fields of its struct, as texts. Points of the same kind, fields and `of`
        share a column.
        """
        column = self.columns.setdefault((what, of, *values), f"values {len(self.columns)}") if values else None
        texts = {NUMBER: _NUMBER, ROW: self._row, POINT: str(len(self.points))}
        if column is not None:
            texts[column] = _struct(values.items())
        self.points.append(Point(self._on, what, column, statement, branch))
        site = None if statement is None else statement.site
        emit = Emit(STEPS, tuple((name, texts.get(name, "NULL")) for name in self.names), site=site)
        return Let(_NUMBER, f"{_NUMBER} + 1L", site=site), emit

    def _body(self, body: Body) -> Body:
        return tuple(part for statement in body for part in self._statement(statement))

    def _statement(self, statement: Statement) -> Body:
        match statement:
            case When():
                return (self._when(statement),)
            case Each():
                return self._each(statement)
            case Read():
                return self._read(statement)
            case Let(local=local):
                return statement, *self._point(statement.do, statement, {VALUE: quote(local)}, f"{self._on} {local}")
            case Set() | Clear():
                return self._changed(statement)
            case Append(cell=cell, value=value):
                lets, text = self._once(value, self._cells[cell].type, statement)
                return *lets, replace(statement, value=text), *self._point(statement.do, statement, {VALUE: text}, cell)
            case Add(cell=cell, row=row):
                # its result is not read: it may fail where the program does not ask for it
                lets, row = self._row_of(row, parse_schema(self._cells[cell].type).get, statement)
                return *lets, replace(statement, row=row), *self._point(statement.do, statement, {VALUE: _struct(row)}, cell)
            case Replace():
                return self._replaced(statement)
            case Emit(output=output, row=row):
                lets, row = self._row_of(row, self._emitted[output].get, statement)
                return *lets, replace(statement, row=row), *self._point(statement.do, statement, {VALUE: _struct(row)}, output)
        return (statement,)  # a rejected row leaves no step

    def _once(self, text: str, kind: Type | str, statement: Statement) -> tuple[Body, str]:
        """Return a local for the value of a text, as a statement and its name; for NULL a typed null."""
        if text.upper() == "NULL":
            return (), f"CAST(NULL AS {kind})"
        self._locals += 1
        local = f"__value_{self._locals}"
        return (Let(local, text, str(kind), site=statement.site),), local

    def _key(self, key: str | None, cell: TracedCell, statement: Statement) -> tuple[Body, str | None, dict[str, str]]:
        """Return a local for the key of an entry, if there is one: as a statement, its name, and a field of a step."""
        if key is None:
            return (), None, {}
        assert cell.key is not None
        lets, text = self._once(key, cell.key, statement)
        return lets, text, {KEY: text}

    def _read(self, read: Read) -> Body:
        lets, key, values = self._key(read.key, self._cells[read.cell], read)
        point = self._point(read.do, read, {VALUE: quote(read.local), **values}, f"{read.cell} {read.what}")
        return *lets, replace(read, key=key), *point

    def _when(self, when: When) -> Statement:
        sites = when.sites or (when.site,) * len(when.branches)
        branches = when.branches
        if branches[-1][0] is not None:
            branches, sites = (*branches, (None, ())), (*sites, when.site)
        stepped = tuple(
            (condition, (*self._point(BRANCH, when, {}, branch=number), *self._body(body)))
            for number, (condition, body) in enumerate(branches)
        )
        return replace(when, branches=stepped, sites=sites if len(branches) > 1 else None)

    def _each(self, each: Each) -> Body:
        cell, entry = self._cells[each.cell], f"__entry_{len(self._loops)}"
        self._loops[each.it] = (cell, entry)
        parts = ("key", "value", "index") if cell.key is not None else ("value", "index")
        reached = self._point(ENTRY, each, {part: quote(f"{each.it}.{part}") for part in parts}, cell.name)
        value = Let(entry, quote(f"{each.it}.value"), cell.type, site=each.site)
        return replace(each, body=(value, *reached, *self._body(each.body))), *self._point(END, each, {})

    def _replaced(self, change: Replace) -> Body:
        """Return the change of a loop's entry, whose value is in a local: it may change more than once."""
        cell, entry = self._loops[change.it]
        lets, text = self._once("NULL" if change.value is None else change.value, cell.type, change)
        step = self._point(change.do, change, {BEFORE: entry, VALUE: text}, cell.name)
        own = change if change.value is None else replace(change, value=text)
        return *lets, own, *step, Let(entry, text, cell.type, site=change.site)

    def _changed(self, change: Set | Clear) -> Body:
        """Return the change of a value, an entry or a whole cell, between its value before and its step."""
        cell = self._cells[change.cell]
        lets, key, values = self._key(change.key, cell, change)
        parts: list[Statement] = [*lets]
        what = _read_before(cell, change)
        if what is not None:
            self._locals += 1
            before = f"__before_{self._locals}"
            parts.append(Read(before, cell.name, what, key, site=change.site))
            values[BEFORE] = before
        own: Statement = replace(change, key=key)
        if isinstance(change, Set):
            lets, values[VALUE] = self._once(change.value, f"array<{cell.type}>" if cell.kind == "list" else cell.type, change)
            parts += lets
            own = replace(change, key=key, value=values[VALUE] if lets else change.value)
        return *parts, own, *self._point(change.do, change, values, cell.name)

    def _row_of(
        self, row: tuple[tuple[str, str], ...], kind: Callable[[str], Type | None], statement: Statement
    ) -> tuple[Body, tuple[tuple[str, str], ...]]:
        """Return locals for the columns of a row, as statements and by their names."""
        once = {name: self._once(text, kind(name) or "string", statement) for name, text in row}
        return tuple(let for lets, _ in once.values() for let in lets), tuple((name, text) for name, (_, text) in once.items())


def _struct(row: Iterable[tuple[str, str]]) -> str:
    return f"named_struct({', '.join(f'{literal(name)}, {text}' for name, text in row)})"


def _read_before(cell: TracedCell, change: Set | Clear) -> str | None:
    """Return what a change of a cell reads before. None for the times of all keys of a timer, and for an aggregate, whose result may
    fail.
    """
    if change.key is not None:
        return "get"
    if cell.kind == "aggregate" or (cell.key is not None and not cell.has_entries):
        return None
    return "size" if cell.has_entries and isinstance(change, Clear) else "value"
