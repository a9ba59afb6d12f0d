"""The columns that a JSON Schema describes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.errors import ConnectorError, here
from headrace.syntax import quote

_PLAIN = {"boolean": "boolean", "integer": "bigint", "number": "double", "string": "string"}
_FORMATS = {"date-time": "timestamp", "date": "date"}


def columns_of(text: str) -> str:
    """The columns of the objects that a schema describes, as a schema of Spark.

    >>> columns_of('{"properties": {"id": {"type": "integer"}, "at": {"type": ["null", "string"], "format": "date-time"}}}')
    'id bigint, at timestamp'
    """
    schema = json.loads(text)
    found = _found(schema, schema)
    if not isinstance(found.get("properties"), Mapping) or not found["properties"]:
        raise _unclear("it describes no object with properties")
    return ", ".join(f"{quote(name)} {_type(of, schema)}" for name, of in found["properties"].items())


def _type(given: Any, root: Any) -> str:
    schema = _found(given, root)
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
    # What may be of several types, and what is not said, is its JSON as text.
    return _PLAIN.get(str(kind), "string")


def _found(schema: Any, root: Any) -> Mapping[str, Any]:
    """A schema without references and without the choice of null."""
    if not isinstance(schema, Mapping):
        return {}
    if "$ref" in schema:
        place = root
        for part in str(schema["$ref"]).lstrip("#").strip("/").split("/"):
            place = place.get(part, {}) if isinstance(place, Mapping) else {}
        if not place:
            raise _unclear(f"it refers to {schema['$ref']}, which is not in it")
        return _found(place, root)
    choices = [one for one in schema.get("oneOf", schema.get("anyOf", [])) if isinstance(one, Mapping) and one.get("type") != "null"]
    return _found(choices[0], root) if len(choices) == 1 else schema


def _unclear(why: str) -> ConnectorError:
    return ConnectorError(
        "SCHEMA_NEEDED",
        f"the columns cannot be told from the JSON Schema: {why}",
        hint='give them: schema="id bigint, amount double"',
        site=here(),
    )
