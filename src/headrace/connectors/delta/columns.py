"""The columns of a stream as those of a Delta table, and back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.schema import Array, Atomic, Field, Map, Struct, Type, schema_of

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

Json = dict[str, Any]

_PLAIN = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}


def delta_schema(schema: Struct) -> Schema:
    """The schema of a table for these columns. All are nullable, so that the table puts no constraint on other writers."""
    from deltalake import Schema

    return Schema.from_json(json.dumps(_json(schema, "")))


def delta_field(field: Field) -> Json:
    return {"name": field.name, "type": _json(field.type, field.name), "nullable": True, "metadata": {}}


def columns_of(table: DeltaTable) -> Struct:
    """The columns of a table, as Spark reads them."""
    from pyspark.sql.types import StructType

    return schema_of(StructType.fromJson(json.loads(table.schema().to_json())))


def same(one: Type, other: Type) -> bool:
    """Whether two types are the same in a Delta table, which ignores the length of strings, and here also nullability."""
    return bool(_json(one, "") == _json(other, ""))


def _json(kind: Type, where: str) -> Any:
    match kind:
        case Struct(fields):
            return {"type": "struct", "fields": [delta_field(field) for field in fields]}
        case Array(element):
            return {"type": "array", "elementType": _json(element, where), "containsNull": True}
        case Map(key, value):
            return {"type": "map", "keyType": _json(key, where), "valueType": _json(value, where), "valueContainsNull": True}
        case Atomic(name) if name in _PLAIN:
            return _PLAIN[name]
        case Atomic(name) if re.match(r"string\b|varchar\(|char\(", name):
            return "string"
        case Atomic(name) if name.startswith("decimal("):
            return name
    raise HeadraceError(
        "WRONG_TYPE",
        f"a Delta table cannot hold column {where} of type {kind.text}",
        hint='cast it to another type: with_columns(d="cast(d as string)")',
    )
