"""The content of a record, and how it becomes columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.connectors.kafka.messages import schema_answer
from headrace.connectors.kafka.registry import Registered, Registry
from headrace.errors import ConnectorError, HeadraceError, here
from headrace.jvm.session import jvm, session
from headrace.ports.options import choice, wrong
from headrace.schema import Atomic, Field, Struct, parse_schema
from headrace.syntax import quote

VALUES: Mapping[str, Struct | None] = {
    "json": None,
    "csv": None,
    "text": parse_schema("value string"),
    "raw": parse_schema("value binary"),
    "avro": None,
    "json_schema": None,
    "protobuf": None,
}
"""The formats of values, with their columns where these are fixed."""

# The parts of a record beside its value: the type, and the expression over Spark's frame.
_METADATA: Mapping[str, tuple[str, str]] = {
    "key": ("string", "CAST(key AS string)"),
    "key_bytes": ("binary", "key"),
    "topic": ("string", "topic"),
    "partition": ("int", "partition"),
    "offset": ("bigint", "offset"),
    "timestamp": ("timestamp", "timestamp"),
    "headers": ("array<struct<key: string, value: binary>>", "headers"),
}
Metadata = dict[str, str]
"""Column names, and the part of a record for each."""


_SCHEMA = 'it is the schema of the values, as JSON: value="avro", descriptor="order.avsc"'


def metadata_of(verb: str, argument: Any) -> Metadata:
    """The columns for other parts of a record that a user selected.

    >>> metadata_of("read.kafka", "key"), metadata_of("read.kafka", {"written": "timestamp"})
    ({'key': 'key'}, {'written': 'timestamp'})
    """
    if isinstance(argument, Mapping):
        named = dict(argument)
    elif isinstance(argument, str | Sequence):
        named = {name: name for name in ([argument] if isinstance(argument, str) else argument)}
    else:
        raise wrong(f"{verb}: metadata cannot be {argument!r}", f"it names some of: {', '.join(_METADATA)}")
    return {str(name): choice(verb, "metadata", what, tuple(_METADATA)) for name, what in named.items()}


def columns(verb: str, of_value: Struct, metadata: Metadata) -> Struct:
    """The columns of a source: those of the value, then the others."""
    beside = tuple(field for name, what in metadata.items() for field in parse_schema(f"{quote(name)} {_METADATA[what][0]}").fields)
    names = {name.lower() for name in of_value.names}
    for name, what in metadata.items():
        if name.lower() in names:
            raise wrong(
                f"{verb}: `{name}` is in the schema and in the metadata", f'give it another name: metadata={{"kafka_{name}": "{what}"}}'
            )
    return Struct((*of_value.fields, *beside))


def of_value(schema: Struct, metadata: Metadata) -> Struct:
    """The columns of a source that come from the value."""
    return Struct(schema.fields[: len(schema.fields) - len(metadata)])


def whole(registry: Registry, schema: Registered) -> str:
    """The text of an Avro schema, with types from schemas that it refers to."""
    if not schema.refers:
        return schema.text
    request = {**registry.kernel(), "id": str(schema.id)}
    return str(schema_answer(request, _kernel().whole(json.dumps(request)))["schema"])


def avro_columns(id: int, text: str) -> str:
    """The columns of an Avro schema's records."""
    request = {"id": str(id), "schema": text}
    ddl = schema_answer(request, _kernel().columns(json.dumps(request)))["ddl"]
    if ddl is None:
        hint = 'read such values as bytes: value="raw"'
        raise ConnectorError("REGISTRY_SCHEMA", "the Avro schema in the registry is not a record with fields", hint=hint, site=here())
    return str(ddl)


def schema_in(file: str) -> str:
    """The Avro schema in a file."""
    try:
        return Path(file).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "it is not text"
        raise ConnectorError("DESCRIPTOR_UNREADABLE", f"the file {file} cannot be read: {reason}", hint=_SCHEMA, site=here()) from None


def columns_in(file: str) -> str:
    """The columns of the records whose Avro schema is in a file."""
    content: dict[str, Any] = json.loads(_kernel().columns(json.dumps({"schema": schema_in(file)})))
    if content.get("ddl") is None:
        why = " ".join(content.get("problem", "it is not a record with fields").split())
        raise ConnectorError("DESCRIPTOR_UNREADABLE", f"the schema in {file} is not valid: {why}", hint=_SCHEMA, site=here())
    return str(content["ddl"])


def misfit(text: str, ddl: str) -> str | None:
    """The reason why an Avro schema cannot be read as some columns; None if it can."""
    why = jvm(session()).org.apache.spark.sql.headrace.Avro.misfit(text, ddl)
    return None if why is None else str(why)


def fits(topic: str, id: int, why: str | None) -> None:
    """Raise if a registered schema cannot be read as the columns that a user gave."""
    if why is not None:
        message = f"the schema {id} of {topic} cannot be read as the given columns: {' '.join(why.split())}"
        hint = "remove `schema` to use the registry's, or give columns that it has"
        raise ConnectorError("REGISTRY_SCHEMA", message, hint=hint, site=here())


def nullable(schema: Struct, key: tuple[str, ...]) -> Struct:
    """The columns with all but the key nullable, for records that only have a key."""
    keys = {name.lower() for name in key}
    return Struct(tuple(field if field.name.lower() in keys else Field(field.name, field.type) for field in schema.fields))


def beside(metadata: Metadata) -> list[str]:
    """The columns beside the value, as expressions over Spark's frame."""
    return [f"{_METADATA[what][1]} AS {quote(name)}" for name, what in metadata.items()]


def tombstone(schema: Struct, key: tuple[str, ...]) -> str:
    """The row that a record without a value retracts, as a line of JSON: the key is an object, or the value of the only key column."""
    if len(key) > 1:
        return "key"
    kind = schema.get(key[0])
    if kind is None:
        raise _unknown(key[0], schema)
    if not isinstance(kind, Atomic):
        return "key"
    name = "'" + key[0].replace("\\", "\\\\").replace("'", "\\'") + "'"
    text = "CAST(key AS string)"
    plain = f"try_cast({text} AS {kind.text})"
    # A text key may look like an object. Text that is no value of the column, or an object with its name, is kept as it is.
    as_it_is = f"{plain} IS NULL OR array_contains(json_object_keys({text}), {name})"
    return f"CASE WHEN {as_it_is} THEN key ELSE CAST(to_json(named_struct({name}, {plain})) AS binary) END"


def registered_tombstone(schema: Struct, key: tuple[str, ...]) -> str:
    """The same for registry formats: a key with a schema number as it is, else `tombstone` after a number that no schema has."""
    return f"CASE WHEN startswith(key, X'00') THEN key ELSE concat(X'00FFFFFFFE', {tombstone(schema, key)}) END"


def _kernel() -> Any:
    return jvm(session()).headrace.kafka.AvroSchemas


def _unknown(name: str, schema: Struct) -> HeadraceError:
    return wrong(f"read.kafka: the key `{name}` is not a column", f"there are: {', '.join(schema.names)}")
