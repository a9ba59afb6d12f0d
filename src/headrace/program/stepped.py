"""A traced program that also emits its steps: what its handlers read, which branches they take, what they change and emit.

The steps go to an output of their own, numbered in the order in which they happen for a key. Each point of a handler has a column there, a
struct with what happened at it, so every value keeps its type. An expression is evaluated once, as in the program itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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

NUMBER, ROW = "number", "row"
"""The columns of a step: its number, and that of the row whose handler runs; null for a timer."""

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
    """A point of the handler `on`. `what`: one of the above, or what its statement does. `branch`: the number of the branch that is taken;
    behind the last one if none is.
    """

    on: str
    what: str
    statement: Statement | None = None
    branch: int | None = None


@dataclass(frozen=True)
class Step:
    """A step: what happened at a point. `row`: the number of the row that is handled; None for a timer. `column`: that of the point.
    `values`: the fields of its struct.
    """

    number: int
    row: int | None
    point: Point
    column: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Stepped:
    """`program`: the program with its steps. `points`: its points, in the order of the columns after `NUMBER` and `ROW`."""

    program: Traced
    points: tuple[Point, ...]


def column(point: int) -> str:
    """Return the column with what happened at a point, by its number."""
    return f"step {point}"


def stepped(traced: Traced, emitted: Mapping[str, Struct], *, keyed: bool, without: int | None = None) -> Stepped:
    """Return a program that emits its steps; handlers of rows for all keys do not.

    Args:
        traced: The program.
        emitted: The columns of its outputs, with their types.
        keyed: Whether it has a key.
        without: The number of a row, from 1, whose handler does nothing.
    """
    known = _Stepper(traced, emitted, keyed, without, 0)
    known.handlers()
    stepper = _Stepper(traced, emitted, keyed, without, len(known.points))
    handlers = stepper.handlers()
    cells = (*traced.cells, TracedCell(_NUMBER, "value", "bigint"), TracedCell(_ROW, "value", "bigint"))
    return Stepped(Traced(cells, handlers, (*traced.outputs, TracedOutput(STEPS, stepper.columns))), tuple(stepper.points))


class _Stepper:
    """`width`: the number of points."""

    def __init__(self, traced: Traced, emitted: Mapping[str, Struct], keyed: bool, without: int | None, width: int) -> None:
        self._traced, self._emitted, self._keyed, self._without = traced, emitted, keyed, without
        self._cells = {cell.name: cell for cell in traced.cells}
        self.columns = (NUMBER, ROW, *map(column, range(width)))
        self.points: list[Point] = []
        self._on = ""
        self._row = "NULL"
        self._locals = 0
        self._loops: dict[str, TracedCell] = {}

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
            return (*number, *self._point(BEGIN, None, {"at": "at", **timer, **known, **times}), *self._body(handler.body), numbered)
        self._row = _ROW
        row = (Read(f"{_ROW}_before", _ROW), Let(_ROW, f"coalesce({_ROW}_before, 0L) + 1L", "bigint"), Set(_ROW, _ROW))
        body = (*self._point(BEGIN, None, {"e": "e", **known, **times}), *self._body(handler.body))
        return (*number, *row, *(body if self._without is None else (When(((f"{_ROW} != {self._without}L", body),)),)), numbered)

    def _point(self, what: str, statement: Statement | None, values: Mapping[str, str], branch: int | None = None) -> Body:
        """Return the statements that emit a step. `values`: the fields of its struct, as texts."""
        own = column(len(self.points))
        self.points.append(Point(self._on, what, statement, branch))
        fields = ", ".join(f"'{name}', {text}" for name, text in values.items()) or f"'{VALUE}', true"
        texts = {NUMBER: _NUMBER, ROW: self._row, own: f"named_struct({fields})"}
        site = None if statement is None else statement.site
        emit = Emit(STEPS, tuple((column, texts.get(column, "NULL")) for column in self.columns), site=site)
        return Let(_NUMBER, f"{_NUMBER} + 1L", site=site), emit

    def _body(self, body: Body) -> Body:
        return tuple(part for statement in body for part in self._statement(statement))

    def _statement(self, statement: Statement) -> Body:
        match statement:
            case When():
                return (self._when(statement),)
            case Each():
                return self._each(statement)
            case Read(local=local, key=key):
                return statement, *self._point(statement.do, statement, {VALUE: quote(local), **_keyed(key)})
            case Let(local=local):
                return statement, *self._point(statement.do, statement, {VALUE: quote(local)})
            case Set() | Clear():
                return self._changed(statement)
            case Append(cell=cell, value=value):
                lets, text = self._once(value, self._cells[cell].type, statement)
                return *lets, replace(statement, value=text), *self._point(statement.do, statement, {VALUE: text})
            case Add():
                return self._added(statement)
            case Replace(it=it, value=value):
                kind = self._loops[it].type
                lets, text = self._once("NULL" if value is None else value, kind, statement)
                change = statement if value is None else replace(statement, value=text)
                return *lets, change, *self._point(statement.do, statement, {BEFORE: quote(f"{it}.value"), VALUE: text})
            case Emit():
                return self._emitted_row(statement)
        return (statement,)  # a rejected row leaves no step

    def _once(self, text: str, kind: Type | str, statement: Statement) -> tuple[Body, str]:
        """Return a local for the value of a text, as a statement and its name; for NULL a typed null."""
        if text.upper() == "NULL":
            return (), f"CAST(NULL AS {kind})"
        self._locals += 1
        local = f"__value_{self._locals}"
        return (Let(local, text, str(kind), site=statement.site),), local

    def _when(self, when: When) -> Statement:
        sites = when.sites or (when.site,)
        branches = when.branches if when.branches[-1][0] is None else (*when.branches, (None, ()))
        stepped = tuple(
            (condition, (*self._point(BRANCH, when, {}, number), *self._body(body))) for number, (condition, body) in enumerate(branches)
        )
        return replace(when, branches=stepped, sites=(*sites, when.site)[: len(branches)] if len(branches) > 1 else None)

    def _each(self, each: Each) -> Body:
        cell = self._loops[each.it] = self._cells[each.cell]
        parts = ("key", "value", "index") if cell.key is not None else ("value", "index")
        entry = self._point(ENTRY, each, {part: quote(f"{each.it}.{part}") for part in parts})
        loop = replace(each, body=(*entry, *self._body(each.body)))
        return loop, *self._point(END, each, {})

    def _changed(self, change: Set | Clear) -> Body:
        """Return the change of a value, an entry or a whole cell, between its value before and its step."""
        cell = self._cells[change.cell]
        parts: list[Statement] = []
        values: dict[str, str] = {}
        if change.key is not None:
            assert cell.key is not None
            lets, text = self._once(change.key, cell.key, change)
            change = replace(change, key=text)
            parts += lets
            values[KEY] = text
        what = _read_before(cell, change)
        if what is not None:
            self._locals += 1
            before = f"__before_{self._locals}"
            parts.append(Read(before, cell.name, what, change.key, site=change.site))
            values[BEFORE] = before
        statement: Statement = change
        if isinstance(change, Set):
            lets, values[VALUE] = self._once(change.value, f"array<{cell.type}>" if cell.kind == "list" else cell.type, change)
            parts += lets
            statement = change if not lets else replace(change, value=values[VALUE])
        return *parts, statement, *self._point(change.do, change, values)

    def _added(self, add: Add) -> Body:
        lets, row = self._row_of(add.row, parse_schema(self._cells[add.cell].type).get, add)
        self._locals += 1
        before, after = (Read(f"__{when}_{self._locals}", add.cell, site=add.site) for when in ("before", "after"))
        values = {BEFORE: before.local, "after": after.local, VALUE: _struct(row)}
        return *lets, before, replace(add, row=row), after, *self._point(add.do, add, values)

    def _emitted_row(self, emit: Emit) -> Body:
        lets, row = self._row_of(emit.row, self._emitted[emit.output].get, emit)
        return *lets, replace(emit, row=row), *self._point(emit.do, emit, {VALUE: _struct(row)})

    def _row_of(
        self, row: tuple[tuple[str, str], ...], kind: Callable[[str], Type | None], statement: Statement
    ) -> tuple[Body, tuple[tuple[str, str], ...]]:
        """Return locals for the columns of a row, as statements and by their names."""
        once = {name: self._once(text, kind(name) or "string", statement) for name, text in row}
        return tuple(let for lets, _ in once.values() for let in lets), tuple((name, text) for name, (_, text) in once.items())


def _keyed(key: str | None) -> dict[str, str]:
    return {} if key is None else {KEY: key}


def _struct(row: tuple[tuple[str, str], ...]) -> str:
    return f"named_struct({', '.join(f'{literal(name)}, {text}' for name, text in row)})"


def _read_before(cell: TracedCell, change: Set | Clear) -> str | None:
    """Return what a change of a cell reads before; None for the times of all keys of a timer."""
    if change.key is not None:
        return "get"
    if cell.has_entries and isinstance(change, Clear):
        return "size"
    return "value" if cell.has_entries or cell.key is None else None
