"""Types as plain trees; their text is Spark's DDL in one spelling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from headrace.syntax import quote


@dataclass(frozen=True)
class Type:
    """A Spark type."""

    @property
    def text(self) -> str:
        """The type in DDL, always spelled the same way."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Atomic(Type):
    """A type without parts: `int`, `decimal(10,2)`, `timestamp`, `string collate UTF8_LCASE`."""

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
    """One named part of a struct or schema."""

    name: str
    type: Type
    nullable: bool = True

    def spelled(self, separator: str) -> str:
        return f"{quote(self.name)}{separator}{self.type}" + ("" if self.nullable else " not null")


@dataclass(frozen=True)
class Struct(Type):
    """A struct; as the columns of a stream, a schema.

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
        """The fields as a schema."""
        return ", ".join(field.spelled(" ") for field in self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def get(self, name: str) -> Type | None:
        """The type of a column; names are compared as Spark does, without case."""
        return next((field.type for field in self.fields if field.name.lower() == name.lower()), None)
