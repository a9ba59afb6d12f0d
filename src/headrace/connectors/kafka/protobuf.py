"""The Protobuf schema of a sink's columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.kafka.formats import cannot, check_names, no_such, odd_key
from headrace.schema import Array, Field, Map, Struct, Type, digits, plain_type

_PLAIN = {
    "boolean": "bool",
    "tinyint": "int32",
    "smallint": "int32",
    "int": "int32",
    "bigint": "int64",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
}
_KEYS = ("bool", "int32", "int64", "string")
# The messages that Kafka's readers expect for these types, and the files that define them.
_MESSAGES = {
    "date": ("google.type.Date", "google/type/date.proto"),
    "timestamp": ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
    "timestamp_ntz": ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
    "decimal": ("confluent.type.Decimal", "confluent/type/decimal.proto"),
}
_META = "confluent/meta.proto"


@dataclass(frozen=True)
class Numbers:
    """The numbers of a message's fields in the registry, the numbers that no field may use again, and the nested messages by field."""

    fields: Mapping[str, int] = field(default_factory=dict)
    reserved: tuple[int, ...] = ()
    within: Mapping[str, Numbers] = field(default_factory=dict)

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Numbers:
        """The numbers in the kernel's answer."""
        return cls(answer["fields"], tuple(answer["reserved"]), {name: cls.of(one) for name, one in answer["within"].items()})

    def dealt(self, names: tuple[str, ...]) -> dict[str, int]:
        """A number for each name: its own, or one that no field ever had."""
        last = max([0, *self.fields.values(), *self.reserved])
        numbers = {}
        for name in names:
            if name not in self.fields:
                # 19000 to 19999 are reserved for Protobuf itself.
                last = 20_000 if last + 1 == 19_000 else last + 1
            numbers[name] = self.fields.get(name, last)
        return numbers

    def gone(self, names: tuple[str, ...]) -> list[int]:
        """The numbers that must not be used again."""
        return sorted({*self.reserved, *(number for name, number in self.fields.items() if name not in names)})


def protobuf_schema(columns: Struct, record: str, known: Numbers | None = None) -> str:
    """A message of these columns. Fields that are in the registry keep their numbers, so that columns can be added and removed.

    >>> from headrace.schema import parse_schema
    >>> print(protobuf_schema(parse_schema("id bigint not null, name string, at timestamp, tags array<string>"), "shop.Order"))
    syntax = "proto3";
    package shop;
    import "google/protobuf/timestamp.proto";
    message Order {
      int64 id = 1;
      optional string name = 2;
      google.protobuf.Timestamp at = 3;
      repeated string tags = 4;
    }
    """
    check_names("protobuf", columns)
    package, _, name = record.rpartition(".")
    schema = _Schema()
    body = schema.message(columns, name, known or Numbers(), "", "")
    head = ['syntax = "proto3";', *([f"package {package};"] if package else []), *(f'import "{file}";' for file in sorted(schema.imports))]
    return "\n".join([*head, *body])


class _Schema:
    """The text of a schema as it is built, and the files that it imports."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def message(self, columns: Struct, name: str, known: Numbers, path: str, margin: str) -> list[str]:
        dealt = known.dealt(columns.names)
        inner = margin + "  "
        lines = [f"{margin}message {name} {{"]
        gone = known.gone(columns.names)
        if gone:
            lines.append(f"{inner}reserved {', '.join(map(str, gone))};")
        for column in columns.fields:
            below = f"{path}.{column.name}" if path else column.name
            of = _struct(column.type)
            named = _named(column.name, columns.names)
            if of is not None:
                lines += self.message(of, named, known.within.get(column.name, Numbers()), below, inner)
            lines.append(f"{inner}{self._field(column, named, below)} {column.name} = {dealt[column.name]}{self._notes(column.type)};")
        return [*lines, f"{margin}}}"]

    def _field(self, column: Field, named: str, path: str) -> str:
        type = column.type
        if isinstance(type, Array):
            return f"repeated {self._single(type.element, named, path, 'an array within an array')}"
        if isinstance(type, Map):
            key = _PLAIN.get(plain_type(type.key), "")
            if key not in _KEYS:
                raise odd_key("protobuf", path, type, "whole numbers, strings or booleans")
            return f"map<{key}, {self._single(type.value, named, path, 'an array or a map within a map')}>"
        type_name = self._single(type, named, path, "")
        return f"optional {type_name}" if column.nullable and plain_type(type) in _PLAIN else type_name

    def _single(self, type: Type, named: str, path: str, within: str) -> str:
        if isinstance(type, Struct):
            return named
        if isinstance(type, Array | Map):
            hint = f"put a struct between them: transform({path.partition('.')[0]}, x -> named_struct('items', x))"
            raise cannot("protobuf", path, f"it has no type for {within}", hint)
        plain = plain_type(type)
        if plain in _MESSAGES:
            message, file = _MESSAGES[plain]
            self.imports.add(file)
            return message
        if plain not in _PLAIN:
            raise no_such("protobuf", path, type)
        return _PLAIN[plain]

    def _notes(self, type: Type) -> str:
        """The precision and scale of a decimal, as an annotation of its field: the decimal's message lacks them."""
        while isinstance(type, Array):
            type = type.element
        if isinstance(type, Map | Struct) or plain_type(type) != "decimal":
            return ""
        self.imports.add(_META)
        precision, scale = digits(type)
        parameters = f'{{key: "precision", value: "{precision}"}}, {{key: "scale", value: "{scale}"}}'
        return f" [(confluent.field_meta) = {{params: [{parameters}]}}]"


def _struct(type: Type) -> Struct | None:
    """The struct of a column's nested message: the column itself, its elements or the values of its map."""
    if isinstance(type, Array):
        type = type.element
    elif isinstance(type, Map):
        type = type.value
    return type if isinstance(type, Struct) else None


def _named(column: str, taken: tuple[str, ...]) -> str:
    """The name of a column's nested message, different from those of the fields beside it."""
    name = column[0].upper() + column[1:]
    while name in taken:
        name += "_"
    return name
