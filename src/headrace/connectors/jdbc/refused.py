"""Rows of an epoch that a table refuses: found by bisection in the epoch's transaction, while all others are written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from headrace.connectors.jdbc.database import Database, Problem
from headrace.connectors.jdbc.dialect import TASK, WEIGHT, Dialect, Target, base
from headrace.schema import Field, Struct

Id = Any
_WHERE = re.compile(r"^(ERROR: |\(conn=\d+\) )")
"""The varying beginning of a database's message."""
_MANY = 1000
"""The number of ids in one statement."""
_SHOWN = 500
"""The characters of a refused row in an error."""


class Refused:
    """The staged rows of an epoch, written as far as the table accepts them. `schema` is the stream's, `target` the table."""

    def __init__(self, database: Database, dialect: Dialect, target: Target, schema: Struct, stage: str, tasks: str) -> None:
        self._database = database
        self._dialect = dialect
        self._target = target
        self._schema = schema
        self._stage = stage
        self._tasks = tasks

    def write(self) -> list[tuple[str, str]]:
        """Write the rows. Returns the refused ones, each as the reason and its text."""
        ids = self._ids("")
        if not self._target.key:
            return self._reasons(self._refused(ids, self._append))
        refusals = self._refused(ids, self._remove)
        come = self._ids(f" AND {WEIGHT} > 0")
        if refused := self._refused(come, self._upsert):
            # The rows under their keys are out of date. Without those some may be accepted: two rows may have swapped a unique value.
            again = [id for id, _ in refused]
            parts = [again[at : at + _MANY] for at in range(0, len(again), _MANY)]
            for part in parts:
                self._refused(part, self._replaced, self._these)
            for part in parts:
                refusals += self._refused(part, self._upsert, self._these)
        return self._reasons(refusals)

    def first(self) -> str | None:
        """Return one refused row and the reason, or None if the rows fail only together. It is found by halving, and nothing is written."""
        # it is looked for only to show it
        with suppress(Problem), self._database.undone():
            if not self._target.key:
                refusal = self._first(self._ids(""), self._append)
            else:
                refusal = self._first(self._ids(""), self._remove) or self._first(self._ids(f" AND {WEIGHT} > 0"), self._upsert)
            for reason, row in self._reasons([refusal] if refusal else []):
                return f"{row if len(row) <= _SHOWN else f'{row[:_SHOWN]}...'}: {reason}"
        return None

    def _first(self, ids: Sequence[Id], write: Callable[[str], str]) -> tuple[Id, Problem] | None:
        problem = self._tried(ids, write, self._between)
        while problem is not None and len(ids) > 1:
            half = len(ids) // 2
            problem = self._tried(ids[:half], write, self._between)
            if problem is None:
                ids = ids[half:]
                problem = self._tried(ids, write, self._between)
            else:
                ids = ids[:half]
        return None if problem is None else (ids[0], problem)

    def _refused(
        self, ids: Sequence[Id], write: Callable[[str], str], among: Callable[[Sequence[Id]], str] | None = None
    ) -> list[tuple[Id, Problem]]:
        """Run a statement for rows, and for each half of them if it fails. Returns the rows for which it fails alone. `among` makes the
        condition that selects them, if other rows between their ids have to be left alone.
        """
        problem = self._tried(ids, write, among or self._between)
        if problem is None:
            return []
        half = len(ids) // 2
        if not half:
            return [(ids[0], problem)]
        return [*self._refused(ids[:half], write, among), *self._refused(ids[half:], write, among)]

    def _tried(self, ids: Sequence[Id], write: Callable[[str], str], among: Callable[[Sequence[Id]], str]) -> Problem | None:
        """Run a statement for rows. Returns the problem with a row, after which nothing of the statement is left."""
        if not ids:
            return None
        try:
            with self._database.savepoint():
                self._database.update(write(among(ids)))
                for check in self._dialect.checks:
                    self._database.update(check)
        except Problem as problem:
            if problem.transient or not problem.of_row:
                raise
            return problem
        return None

    def _append(self, among: str) -> str:
        return self._dialect.append(self._target, self._part(among), self._tasks)

    def _remove(self, among: str) -> str:
        return self._dialect.remove(self._target, self._part(among), self._tasks)

    def _replaced(self, among: str) -> str:
        """The statement that deletes the existing rows under the keys of rows."""
        columns = self._dialect.names(self._target.key)
        part = f"(SELECT {TASK}, -1 AS {WEIGHT}, {columns} FROM {self._stage} WHERE {among}) part"
        return self._dialect.remove(self._target, part, self._tasks)

    def _upsert(self, among: str) -> str:
        return self._dialect.upsert(self._target, self._part(among), self._tasks)

    def _part(self, among: str) -> str:
        return f"(SELECT * FROM {self._stage} WHERE {among}) part"

    def _between(self, ids: Sequence[Id]) -> str:
        """The condition for a range of rows in the order of their ids."""
        row = self._dialect.row_id
        return f"{row} >= {self._id(ids[0])} AND {row} <= {self._id(ids[-1])}"

    def _these(self, ids: Sequence[Id]) -> str:
        return f"{self._dialect.row_id} IN ({', '.join(map(self._id, ids))})"

    def _id(self, id: Id) -> str:
        return self._dialect.row_ids.format(id)

    def _ids(self, more: str) -> list[Id]:
        row = self._dialect.row_id
        sql = f"SELECT {row} FROM {self._stage} WHERE {TASK} IN ({self._tasks}){more} ORDER BY {row}"
        return [id for (id,) in self._database.query(sql)]

    def _reasons(self, refused: Sequence[tuple[Id, Problem]]) -> list[tuple[str, str]]:
        return sorted((_WHERE.sub("", problem.message), self._text(id)) for id, problem in refused)

    def _text(self, id: Id) -> str:
        """A staged row as JSON."""
        shown = ", ".join(self._shown(name, field) for name, field in zip(self._target.columns, self._schema.fields, strict=True))
        (row,) = self._database.query(f"SELECT {shown} FROM {self._stage} WHERE {self._dialect.row_id} = {self._id(id)}")
        values = {field.name: _value(value, field) for field, value in zip(self._schema.fields, row, strict=True)}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

    def _shown(self, name: str, field: Field) -> str:
        return self._dialect.text(self._dialect.quote(name), base(field.type))


def _value(text: Any, field: Field) -> Any:
    """A value that a database returned as text, as JSON."""
    kind = base(field.type)
    if text is None or kind == "string":
        return text
    if kind == "boolean":
        return text in ("1", "t", "true")
    if kind == "json" or kind in ("tinyint", "smallint", "int", "bigint", "float", "double"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
