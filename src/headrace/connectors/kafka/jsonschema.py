"""JSON Schema: the columns that a schema describes, and the schema of a sink's columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.connectors.kafka.formats import no_such, odd_key
from headrace.errors import ConnectorError, here
from headrace.schema import Array, Field, Map, Struct, Type, plain_type
from headrace.syntax import quote

_PLAIN = {"boolean": "boolean", "integer": "bigint", "number": "double", "string": "string"}
_FORMATS = {"date-time": "timestamp", "date": "date"}

# A keyword of headrace's own, which other readers ignore: Spark's type where JSON has a wider one.
_OURS = "spark.type"
_WRITTEN: Mapping[str, Mapping[str, str]] = {
    "boolean": {"type": "boolean"},
    "tinyint": {"type": "integer"},
    "smallint": {"type": "integer"},
    "int": {"type": "integer"},
    "bigint": {"type": "integer"},
    "float": {"type": "number"},
    "double": {"type": "number"},
    "decimal": {"type": "number"},
    "string": {"type": "string"},
    "binary": {"type": "string", "contentEncoding": "base64"},
    "date": {"type": "string", "format": "date"},
    "timestamp": {"type": "string", "format": "date-time"},
    "timestamp_ntz": {"type": "string"},
}


def columns_of(text: str) -> str:
    """The columns of the objects that a schema describes, as a Spark schema.

    >>> columns_of('{"properties": {"id": {"type": "integer"}, "at": {"type": ["null", "string"], "format": "date-time"}}}')
    'id bigint, at timestamp'
    """
    schema = json.loads(text)
    object_schema = _resolved(schema, schema)
    if not isinstance(object_schema.get("properties"), Mapping) or not object_schema["properties"]:
        raise _unclear("it does not describe an object with properties")
    return ", ".join(f"{quote(name)} {_type(of, schema)}" for name, of in object_schema["properties"].items())


def json_schema(columns: Struct, record: str) -> str:
    """A schema of objects with these columns and no others, so that columns can be added later.

    >>> from headrace.schema import parse_schema
    >>> print(json_schema(parse_schema("id bigint not null, amount decimal(10,2)"), "Order"))
    {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
     "properties": {"id": {"type": "integer"}, "amount": {"type": ["null", "number"], "spark.type": "decimal(10,2)"}},
     "additionalProperties": false, "required": ["id"]}
    """
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", "title": record, **_object(columns, "")})


def unfit(text: str, columns: Struct) -> str | None:
    """The reason why objects with these columns do not match a schema; None if no mismatch is found."""
    root = json.loads(text)
    return _unfit(_resolved(root, root), columns, root, "")


def filled(text: str, columns: Struct) -> list[str]:
    """The columns for which a schema does not allow null.

    >>> from headrace.schema import parse_schema
    >>> filled('{"properties": {"id": {"type": "integer"}, "name": {"type": ["null", "string"]}}}', parse_schema("id int, name string"))
    ['id']
    """
    root = json.loads(text)
    has = _resolved(root, root).get("properties", {})
    takes = {name: _kinds(has[name], root) for name in columns.names if name in has}
    return [name for name, kinds in takes.items() if kinds and "null" not in kinds]


def _unfit(schema: Mapping[str, Any], columns: Struct, root: Any, path: str) -> str | None:
    has = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in columns.names:
            return f"it requires `{path}{name}`, which is not a column"
    for column in columns.fields:
        name = path + column.name
        if column.name not in has:
            if schema.get("additionalProperties") is False:
                return f"it has no `{name}`, and allows no other properties"
            continue
        of = _resolved(has[column.name], root)
        takes = _kinds(has[column.name], root)
        kind = _kind(column.type)
        if takes and kind not in takes and not (kind == "integer" and "number" in takes):
            return f"`{name}` is {column.type}, which is written as {kind}, but it allows {' or '.join(takes)}"
        if isinstance(column.type, Struct):
            why = _unfit(of, column.type, root, f"{name}.")
            if why is not None:
                return why
    return None


def _kinds(subschema: Any, root: Any) -> list[str]:
    """The JSON types that a schema allows; empty if it does not restrict them."""
    schema = _resolved(subschema, root)
    kinds = schema.get("type", [])
    allowed = list(kinds) if isinstance(kinds, list) else [str(kinds)]
    choices = subschema.get("oneOf", subschema.get("anyOf", [])) if isinstance(subschema, Mapping) else []
    nothing = any(isinstance(one, Mapping) and one.get("type") == "null" for one in choices)
    return [*allowed, "null"] if allowed and nothing and "null" not in allowed else allowed


def _kind(type: Type) -> str:
    if isinstance(type, Array):
        return "array"
    return "object" if isinstance(type, Map | Struct) else _WRITTEN.get(plain_type(type), {}).get("type", "string")


def _object(columns: Struct, path: str) -> dict[str, Any]:
    properties = {field.name: _property(field, f"{path}.{field.name}" if path else field.name) for field in columns.fields}
    required = [field.name for field in columns.fields if not field.nullable]
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _property(field: Field, path: str) -> dict[str, Any]:
    return _or_null(_written(field.type, path)) if field.nullable else _written(field.type, path)


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": ["null", schema["type"]]}


def _written(type: Type, path: str) -> dict[str, Any]:
    if isinstance(type, Struct):
        return _object(type, path)
    if isinstance(type, Array):
        return {"type": "array", "items": _or_null(_written(type.element, path))}
    if isinstance(type, Map):
        if plain_type(type.key) != "string":
            raise odd_key("json_schema", path, type, "strings")
        return {"type": "object", "additionalProperties": _or_null(_written(type.value, path))}
    plain = plain_type(type)
    if plain not in _WRITTEN:
        raise no_such("json_schema", path, type)
    schema = dict(_WRITTEN[plain])
    read = _FORMATS.get(schema.get("format", ""), _PLAIN[schema["type"]])
    return schema if read == plain else {**schema, _OURS: str(type)}


def _type(subschema: Any, root: Any) -> str:
    schema = _resolved(subschema, root)
    if isinstance(schema.get(_OURS), str):
        return str(schema[_OURS])
    kinds = schema.get("type")
    kind = next((one for one in kinds if one != "null"), None) if isinstance(kinds, list) else kinds
    if kind == "string":
        return _FORMATS.get(schema.get("format", ""), "string")
    if kind == "array":
        return f"array<{_type(schema.get('items', {}), root)}>"
    if kind == "object" and schema.get("properties"):
        return f"struct<{', '.join(f'{quote(name)}: {_type(of, root)}' for name, of in schema['properties'].items())}>"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"map<string, {_type(schema['additionalProperties'], root)}>"
    # A value of several types, or of an unknown type, is read as its JSON text.
    return _PLAIN.get(str(kind), "string")


def _resolved(schema: Any, root: Any) -> Mapping[str, Any]:
    """A schema with its reference resolved, and without the choice of null."""
    if not isinstance(schema, Mapping):
        return {}
    if "$ref" in schema:
        place = root
        for part in str(schema["$ref"]).lstrip("#").strip("/").split("/"):
            place = place.get(part, {}) if isinstance(place, Mapping) else {}
        if not place:
            raise _unclear(f"it refers to {schema['$ref']}, which is not in it")
        return _resolved(place, root)
    choices = [one for one in schema.get("oneOf", schema.get("anyOf", [])) if isinstance(one, Mapping) and one.get("type") != "null"]
    return _resolved(choices[0], root) if len(choices) == 1 else schema


def _unclear(why: str) -> ConnectorError:
    return ConnectorError(
        "SCHEMA_NEEDED",
        f"the columns cannot be derived from the JSON Schema: {why}",
        hint='give them: schema="id bigint, amount double"',
        site=here(),
    )
