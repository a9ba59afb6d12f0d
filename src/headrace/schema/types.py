"""Types as plain trees, with canonical DDL text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from headrace.syntax import quote


@dataclass(frozen=True)
class Type:
    """A Spark type."""

    @property
    def text(self) -> str:
        """The canonical DDL of the type."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Atomic(Type):
    """A type without element or field types: `int`, `decimal(10,2)`, `timestamp`, `string collate UTF8_LCASE`."""

    name: str

    @property
    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class Array(Type):
    element: Type

    @property
    def text(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map(Type):
    key: Type
    value: Type

    @property
    def text(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True)
class Field:
    """One field of a struct or column of a schema."""

    name: str
    type: Type
    nullable: bool = True

    def spelled(self, separator: str) -> str:
        return f"{quote(self.name)}{separator}{self.type}" + ("" if self.nullable else " not null")


@dataclass(frozen=True)
class Struct(Type):
    """A struct, or the schema of a stream.

    >>> from headrace.schema import parse_schema
    >>> schema = parse_schema("card STRING, amount DECIMAL(10, 2)")
    >>> schema.ddl, schema.names, schema.text
    ('card string, amount decimal(10,2)', ('card', 'amount'), 'struct<card: string, amount: decimal(10,2)>')
    """

    fields: tuple[Field, ...]

    @property
    def text(self) -> str:
        return f"struct<{', '.join(field.spelled(': ') for field in self.fields)}>"

    @cached_property
    def ddl(self) -> str:
        """The canonical DDL of the fields as a schema."""
        return ", ".join(field.spelled(" ") for field in self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def get(self, name: str) -> Type | None:
        """Returns the type of a column, or None. Names are compared case-insensitively, as Spark does."""
        return next((field.type for field in self.fields if field.name.lower() == name.lower()), None)
