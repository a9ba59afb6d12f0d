"""The Avro schema of a sink's columns."""

from __future__ import annotations

import json
from typing import Any

from headrace.connectors.kafka.formats import check_names, no_such, odd_key
from headrace.schema import Array, Field, Map, Struct, Type, digits, plain_type

_PLAIN = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
}
_LOGICAL = {
    "date": ("int", "date"),
    "timestamp": ("long", "timestamp-micros"),
    "timestamp_ntz": ("long", "local-timestamp-micros"),
}


def avro_schema(columns: Struct, record: str) -> str:
    """A record of these columns. Nullable fields default to null, so that columns can be added and removed later.

    >>> from headrace.schema import parse_schema
    >>> print(avro_schema(parse_schema("id bigint not null, amount decimal(10,2)"), "shop.Order"))
    {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "long"},
     {"name": "amount", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}], "default": null}]}
    """
    check_names("avro", columns)
    return json.dumps(_record(columns, record, ""))


def _record(columns: Struct, full: str, path: str) -> dict[str, Any]:
    namespace, _, name = full.rpartition(".")
    fields = [_field(field, full, f"{path}.{field.name}" if path else field.name) for field in columns.fields]
    return {"type": "record", "name": name, **({"namespace": namespace} if namespace else {}), "fields": fields}


def _field(field: Field, record: str, path: str) -> dict[str, Any]:
    # A nested record is named after its field, in a namespace named after its parent, so all names are unique.
    avro_type = _type(field.type, f"{record}.{field.name}", path)
    if field.nullable:
        return {"name": field.name, "type": ["null", avro_type], "default": None}
    return {"name": field.name, "type": avro_type}


def _type(type: Type, name: str, path: str) -> Any:
    if isinstance(type, Struct):
        return _record(type, name, path)
    if isinstance(type, Array):
        return {"type": "array", "items": ["null", _type(type.element, name, path)]}
    if isinstance(type, Map):
        if plain_type(type.key) != "string":
            raise odd_key("avro", path, type, "strings")
        return {"type": "map", "values": ["null", _type(type.value, name, path)]}
    plain = plain_type(type)
    if plain in _PLAIN:
        return _PLAIN[plain]
    if plain in _LOGICAL:
        of, logical = _LOGICAL[plain]
        return {"type": of, "logicalType": logical}
    if plain == "decimal":
        precision, scale = digits(type)
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    raise no_such("avro", path, type)
