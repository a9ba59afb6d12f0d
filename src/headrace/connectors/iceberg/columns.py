"""The columns of a stream as those of an Iceberg table, and back."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError, HeadraceError
from headrace.schema import Array, Atomic, Field, Map, Struct, Type

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType, NestedField

_PLAIN = {
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ltz": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_CLASSES = {
    "int": "IntegerType",
    "long": "LongType",
    "float": "FloatType",
    "double": "DoubleType",
    "boolean": "BooleanType",
    "binary": "BinaryType",
    "date": "DateType",
    "timestamptz": "TimestamptzType",
    "timestamp": "TimestampType",
}
_SPARK = {"long": "bigint", "timestamptz": "timestamp", "timestamp": "timestamp_ntz"} | {
    name: name for name in ("int", "float", "double", "boolean", "binary", "date", "string")
}


def iceberg_schema(schema: Struct) -> Schema:
    """The schema of a table for these columns; each is nullable."""
    from pyiceberg.schema import Schema

    numbers = itertools.count(1)
    return Schema(*(_field(field, numbers) for field in schema.fields))


def iceberg_type(kind: Type, where: str = "", numbers: Iterator[int] | None = None) -> IcebergType:
    """The Iceberg type; the table assigns its own numbers to the parts."""
    from pyiceberg import types

    field_ids = itertools.count(1) if numbers is None else numbers
    match kind:
        case Struct(fields):
            return types.StructType(*(_field(field, field_ids) for field in fields))
        case Array(element):
            return types.ListType(next(field_ids), iceberg_type(element, where, field_ids), element_required=False)
        case Map(key, value):
            number, other = next(field_ids), next(field_ids)
            return types.MapType(
                number, iceberg_type(key, where, field_ids), other, iceberg_type(value, where, field_ids), value_required=False
            )
        case Atomic(name) if name in _PLAIN:
            primitive: IcebergType = getattr(types, _CLASSES[_PLAIN[name]])()
            return primitive
        case Atomic(name) if re.match(r"string\b|varchar\(|char\(", name):
            return types.StringType()
        case Atomic(name) if name.startswith("decimal("):
            precision, scale = (int(part) for part in name[8:-1].split(","))
            return types.DecimalType(precision, scale)
    raise HeadraceError(
        "WRONG_TYPE",
        f"an Iceberg table cannot hold column {where} of type {kind.text}",
        hint='cast it to another type: with_columns(d="cast(d as string)")',
    )


def columns_of(table: Table) -> Struct:
    """The columns of a table, as Spark reads them."""
    return Struct(tuple(_spark_field(field, table) for field in table.schema().fields))


def plain(kind: Type) -> Type:
    """The type as in an Iceberg table, without nullability."""
    match kind:
        case Struct(fields):
            return Struct(tuple(Field(field.name, plain(field.type)) for field in fields))
        case Array(element):
            return Array(plain(element))
        case Map(key, value):
            return Map(plain(key), plain(value))
        case Atomic(name) if name in _PLAIN:
            return Atomic(_SPARK[_PLAIN[name]])
        case Atomic(name) if re.match(r"string\b|varchar\(|char\(", name):
            return Atomic("string")
    return kind


def _field(field: Field, numbers: Iterator[int]) -> NestedField:
    from pyiceberg.types import NestedField

    return NestedField(next(numbers), field.name, iceberg_type(field.type, field.name, numbers), required=False)


def _spark_field(field: NestedField, table: Table) -> Field:
    return Field(field.name, _spark(field.field_type, field.name, table), not field.required)


def _spark(kind: IcebergType, where: str, table: Table) -> Type:
    from pyiceberg import types

    match kind:
        case types.StructType(fields=fields):
            return Struct(tuple(_spark_field(field, table) for field in fields))
        case types.ListType():
            return Array(_spark(kind.element_type, where, table))
        case types.MapType():
            return Map(_spark(kind.key_type, where, table), _spark(kind.value_type, where, table))
        case types.DecimalType():
            return Atomic(f"decimal({kind.precision},{kind.scale})")
    if str(kind) in _SPARK:
        return Atomic(_SPARK[str(kind)])
    raise ConnectorError(
        "TABLE_FEATURE",
        f"column {where} of the table {'.'.join(table.name())} is of type {kind}, which Spark does not have",
        hint="read a copy of the table without the column",
    )
