"""Statements: the steps of a handler as data.

A handler's body is a tuple of statements. Their texts are Spark SQL over `e` (the row), `key`, `at` (the time of a timer), `__now`,
`__watermark` and the locals of earlier reads, lets and loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeAlias

from headrace.errors import Site
from headrace.jvm.parts import ALWAYS, OneOf
from headrace.program.document import Fields, place

Json: TypeAlias = dict[str, Any]
Body: TypeAlias = tuple["Statement", ...]
Branches: TypeAlias = tuple[tuple[str | None, Body], ...]
Sites: TypeAlias = tuple[Site | None, ...]
Texts: TypeAlias = tuple[tuple[str, str], ...]
"""Pairs of a column's name and its text."""

_KINDS: dict[str, type[Statement]] = {}


@dataclass(frozen=True)
class Statement(OneOf):
    """One statement of a handler, with the user's line. A subclass has `do`, its name in JSON, and fields."""

    kind_field = "do"
    do: ClassVar[str]
    site: Site | None = field(default=None, compare=False, kw_only=True, metadata=ALWAYS)

    def __init_subclass__(cls) -> None:
        cls.kind_name = cls.do
        _KINDS[cls.do] = cls

    def to_json(self) -> Json:
        return {"do": self.do, **super().to_json()}

    @staticmethod
    def from_json(value: object) -> Statement:
        """Reads a statement that `to_json` wrote; refuses unknown kinds and fields."""
        values = Fields(value, "a statement")
        kind = _KINDS.get(values.text("do"))
        if kind is None:
            raise values.wrong(f"unknown statement {values.text('do')!r}")
        types = _fields(kind)
        values.only("do", *types, "site")
        return kind(**{name: _READERS[type_](values, name) for name, type_ in types.items()}, site=place(values))


@dataclass(frozen=True)
class Read(Statement):
    """Reads from a cell into a local: the cell's value, its size, or the value of one of its entries.

    `what` is one of value, size, exists, get, has, first, last; `key` is the text of the entry's key, for the kinds that read one.
    """

    do: ClassVar[str] = "read"
    local: str
    cell: str
    what: str = "value"
    key: str | None = None


@dataclass(frozen=True)
class Set(Statement):
    """Sets the value of a cell, of an entry of a map or of a timer; null clears it."""

    do: ClassVar[str] = "set"
    cell: str
    value: str
    key: str | None = None


@dataclass(frozen=True)
class Clear(Statement):
    """Clears a cell's value, an entry of a map or a pending timer; without a key, all entries or timers."""

    do: ClassVar[str] = "clear"
    cell: str
    key: str | None = None


@dataclass(frozen=True)
class Append(Statement):
    """Appends a value to a list."""

    do: ClassVar[str] = "append"
    cell: str
    value: str


@dataclass(frozen=True)
class Add(Statement):
    """Adds a row to an aggregate."""

    do: ClassVar[str] = "add"
    cell: str
    row: Texts


@dataclass(frozen=True)
class Let(Statement):
    """Defines a local, or assigns it another value. `type` is set if it is declared or known from the first value."""

    do: ClassVar[str] = "let"
    local: str
    value: str
    type: str | None = None


@dataclass(frozen=True)
class When(Statement):
    """Executes the statements of the first branch whose condition is true; a branch without condition is `otherwise`.

    `sites` has the line of each branch if there are several; a single branch has the statement's own line.
    """

    do: ClassVar[str] = "when"
    branches: Branches
    sites: Sites | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Each(Statement):
    """Executes its body for each entry of a list or map in order, from `low` (inclusive) to `high` (exclusive).

    The entry is in the locals `<it>.key`, `<it>.value` and `<it>.index`.
    """

    do: ClassVar[str] = "each"
    cell: str
    it: str
    body: Body
    low: str | None = None
    high: str | None = None
    reverse: bool = False


@dataclass(frozen=True)
class Replace(Statement):
    """Replaces the value of a loop's current entry; without a value the entry is removed."""

    do: ClassVar[str] = "replace"
    it: str
    value: str | None = None


@dataclass(frozen=True)
class Emit(Statement):
    """Emits a row to an output."""

    do: ClassVar[str] = "emit"
    output: str
    row: Texts


@dataclass(frozen=True)
class Reject(Statement):
    """Ends the handler, undoes its effects, and makes its row a dead letter."""

    do: ClassVar[str] = "reject"
    reason: str


def inner(statement: Statement) -> tuple[Body, ...]:
    """Returns the bodies inside a statement."""
    if isinstance(statement, When):
        return tuple(body for _, body in statement.branches)
    return (statement.body,) if isinstance(statement, Each) else ()


def every(body: Body) -> Body:
    """Returns all statements of a body; nested ones follow the statement they are in."""
    return tuple(
        inner_statement
        for statement in body
        for inner_statement in (statement, *(deep for part in inner(statement) for deep in every(part)))
    )


def _fields(kind: type[Statement]) -> Mapping[str, str]:
    """Returns the names of a kind's own fields with the texts of their types."""
    return {field.name: str(field.type) for field in fields(kind) if field.name != "site"}


def _body(reader: Fields, values: list[Any]) -> Body:
    return tuple(Statement.from_json(value) for value in values)


def _branches(reader: Fields, name: str) -> Branches:
    branches: list[tuple[str | None, Body]] = []
    for branch in reader.list(name):
        match branch:
            case [str() | None as condition, list(body)]:
                branches.append((condition, _body(reader, body)))
            case _:
                raise reader.wrong("a branch must be [condition or null, [statements]]")
    return tuple(branches)


def _sites(reader: Fields, name: str) -> Sites | None:
    return None if name not in reader.fields else tuple(None if text is None else Site.parse(text) for text in reader.optional_texts(name))


def _texts(reader: Fields, name: str) -> Texts:
    pairs: list[tuple[str, str]] = []
    for item in reader.list(name):
        match item:
            case [str(column), str(text)]:
                pairs.append((column, text))
            case _:
                raise reader.wrong("a row must be [[column, text], ...]")
    return tuple(pairs)


_READERS: Mapping[str, Callable[[Fields, str], Any]] = {
    "str": Fields.text,
    "str | None": Fields.optional_text,
    "bool": Fields.flag,
    "Body": lambda reader, name: _body(reader, reader.list(name)),
    "Branches": _branches,
    "Sites | None": _sites,
    "Texts": _texts,
}
