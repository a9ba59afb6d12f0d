"""The statements of scripts, as data: what each says, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import Site


@dataclass(frozen=True)
class Part:
    """A part of a script: what stands from `start` up to `end` of its text.

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
        """The place in the script of a line and column of this part, both from 1 on."""
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
    """`columns` is their DDL without the watermark, which is a column and a delay; None where no column is told."""

    name: str
    columns: str | None
    watermark: tuple[str, str] | None
    options: Mapping[str, Any]
    replace: bool = False


@dataclass(frozen=True)
class Constraint:
    """What the rows of a view are expected to meet, and what becomes of one that does not, as `stream.expect` calls it."""

    name: str
    condition: Part
    on_violation: str


@dataclass(frozen=True)
class CreateLookup(Statement):
    """`columns` is their DDL."""

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
    """`definition` is what stands behind CREATE FUNCTION, `body` what behind RETURN, `types` are those of the parameters."""

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
    """Without a value the setting is asked for; without a name all of them."""

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
    """Without a query, the whole job; `extended` with all that is known of each operator."""

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
    """Run the job that the INSERTs so far make; a script does that by itself at its end."""


def lasting(statement: Statement) -> bool:
    """Whether a statement says something about the job, and does not only ask or run."""
    if isinstance(statement, Set):
        return statement.value is not None
    return isinstance(statement, CreateSource | CreateLookup | CreateView | CreateFunction | CreateSink | Insert | Drop)
