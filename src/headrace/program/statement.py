"""Statements: what a handler does, as data.

A handler's body is a tuple of statements; their texts are Spark SQL over `e` (the row), `key`, `at` (the time of a timer) and the
locals that reads have made so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from headrace.errors import Site
from headrace.program.document import Fields, place, text_of

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Statement:
    """One step of a handler and the user's line it came from."""

    do: ClassVar[str]
    site: Site | None = field(default=None, compare=False, kw_only=True)

    def to_json(self) -> Json:
        raise NotImplementedError

    @staticmethod
    def from_json(value: object) -> Statement:
        """The statement that `to_json` wrote; unknown kinds and fields are refused."""
        fields = Fields(value, "a statement")
        read = _READERS.get(fields.text("do"))
        if read is None:
            raise fields.wrong(f"unknown statement {fields.text('do')!r}")
        return read(fields)


@dataclass(frozen=True)
class Read(Statement):
    """Keeps the value that a cell has now under the name of a local."""

    do: ClassVar[str] = "read"
    local: str
    cell: str

    def to_json(self) -> Json:
        return {"do": self.do, "local": self.local, "cell": self.cell, "site": text_of(self.site)}

    @staticmethod
    def read(fields: Fields) -> Read:
        fields.only("do", "local", "cell", "site")
        return Read(fields.text("local"), fields.text("cell"), site=place(fields))


@dataclass(frozen=True)
class Set(Statement):
    """Gives a cell a value, or a timer a time; null clears it."""

    do: ClassVar[str] = "set"
    cell: str
    value: str

    def to_json(self) -> Json:
        return {"do": self.do, "cell": self.cell, "value": self.value, "site": text_of(self.site)}

    @staticmethod
    def read(fields: Fields) -> Set:
        fields.only("do", "cell", "value", "site")
        return Set(fields.text("cell"), fields.text("value"), site=place(fields))


@dataclass(frozen=True)
class Clear(Statement):
    """Takes a cell's value, or a pending timer, away."""

    do: ClassVar[str] = "clear"
    cell: str

    def to_json(self) -> Json:
        return {"do": self.do, "cell": self.cell, "site": text_of(self.site)}

    @staticmethod
    def read(fields: Fields) -> Clear:
        fields.only("do", "cell", "site")
        return Clear(fields.text("cell"), site=place(fields))


@dataclass(frozen=True)
class When(Statement):
    """Does the statements of the first branch whose condition is true; no condition is `otherwise`."""

    do: ClassVar[str] = "when"
    branches: tuple[tuple[str | None, tuple[Statement, ...]], ...]

    def to_json(self) -> Json:
        branches = [[condition, [step.to_json() for step in body]] for condition, body in self.branches]
        return {"do": self.do, "branches": branches, "site": text_of(self.site)}

    @staticmethod
    def read(fields: Fields) -> When:
        fields.only("do", "branches", "site")
        branches = []
        for branch in fields.list("branches"):
            match branch:
                case [str() | None as condition, list(body)]:
                    branches.append((condition, tuple(Statement.from_json(step) for step in body)))
                case _:
                    raise fields.wrong("a branch is [condition or null, [statements]]")
        return When(tuple(branches), site=place(fields))


@dataclass(frozen=True)
class Emit(Statement):
    """Sends a row to an output."""

    do: ClassVar[str] = "emit"
    output: str
    row: tuple[tuple[str, str], ...]

    def to_json(self) -> Json:
        return {"do": self.do, "output": self.output, "row": [list(item) for item in self.row], "site": text_of(self.site)}

    @staticmethod
    def read(fields: Fields) -> Emit:
        fields.only("do", "output", "row", "site")
        row = []
        for item in fields.list("row"):
            match item:
                case [str(name), str(value)]:
                    row.append((name, value))
                case _:
                    raise fields.wrong("a row is [[column, text], ...]")
        return Emit(fields.text("output"), tuple(row), site=place(fields))


_READERS = {kind.do: kind.read for kind in (Read, Set, Clear, When, Emit)}
