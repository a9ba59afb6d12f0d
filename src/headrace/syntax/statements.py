"""The statements of scripts as data, each with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import Site


@dataclass(frozen=True)
class Part:
    """A part of a script, from `start` up to `end` of its text.

    >>> part = Part("-- all\\nSELECT amout\\nFROM charges", "job.sql", 7, 32)
    >>> part.text, str(part.site), str(part.at(2, 6))
    ('SELECT amout\\nFROM charges', 'job.sql:2:1', 'job.sql:3:6')
    """

    script: str = field(repr=False)
    file: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.script[self.start : self.end]

    @property
    def site(self) -> Site:
        return self.at(1, 1)

    def at(self, line: int, column: int) -> Site:
        """Return the place in the script of a line and column of this part, both counted from 1."""
        before = self.text.split("\n")[: line - 1]
        offset = self.start + sum(len(one) + 1 for one in before) + column - 1
        first = self.script.rfind("\n", 0, offset) + 1
        whole = self.script[first:].split("\n", 1)[0].strip()
        return Site(self.file, self.script.count("\n", 0, offset) + 1, whole, offset - first + 1)


@dataclass(frozen=True)
class Statement:
    """One statement of a script."""

    part: Part

    @property
    def text(self) -> str:
        return self.part.text

    @property
    def site(self) -> Site:
        return self.part.site

    @property
    def line(self) -> int:
        return self.site.line

    @property
    def column(self) -> int:
        return self.site.column


@dataclass(frozen=True)
class CreateSource(Statement):
    """CREATE SOURCE. `columns` is DDL without the watermark, None if there are no columns; `watermark` is a column and a delay."""

    name: str
    columns: str | None
    watermark: tuple[str, str] | None
    options: Mapping[str, Any]
    replace: bool = False


@dataclass(frozen=True)
class Constraint:
    """An expectation on the rows of a view, and the treatment of a violation, in the words of `stream.expect`."""

    name: str
    condition: Part
    on_violation: str


@dataclass(frozen=True)
class CreateLookup(Statement):
    """CREATE LOOKUP. `columns` is DDL."""

    name: str
    columns: str | None
    options: Mapping[str, Any]
    replace: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    name: str
    query: Part
    replace: bool = False
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE FUNCTION. `definition` is the text after these words, `body` the text after RETURN, `types` the types of the parameters."""

    name: str
    definition: Part
    body: Part
    types: tuple[str, ...]
    replace: bool = False


@dataclass(frozen=True)
class CreateSink(Statement):
    name: str
    options: Mapping[str, Any]
    query: Part | None
    replace: bool = False


@dataclass(frozen=True)
class Insert(Statement):
    sink: str
    query: Part


@dataclass(frozen=True)
class Set(Statement):
    """SET. Without a value it shows the setting, without a name all settings."""

    name: str | None
    value: str | None


@dataclass(frozen=True)
class Show(Statement):
    what: str


@dataclass(frozen=True)
class Describe(Statement):
    name: str


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN of a query, or of the whole job without one; with `extended` it shows all facts of each operator."""

    query: Part | None
    extended: bool


@dataclass(frozen=True)
class Select(Statement):
    query: Part


@dataclass(frozen=True)
class Drop(Statement):
    kind: str
    name: str
    missing_ok: bool = False


@dataclass(frozen=True)
class Run(Statement):
    """`RUN` runs the job of the INSERTs so far, as the end of a script does."""


def lasting(statement: Statement) -> bool:
    """Return whether a statement defines a part of the job, rather than shows or runs something."""
    if isinstance(statement, Set):
        return statement.value is not None
    return isinstance(statement, CreateSource | CreateLookup | CreateView | CreateFunction | CreateSink | Insert | Drop)
