"""Types, schemas, durations and values, without a JVM."""

from headrace.schema.ddl import as_read, meant_type, parse_schema, parse_type, schema_of
from headrace.schema.duration import days, hours, milliseconds, minutes, seconds, shown
from headrace.schema.named import digits, plain_type
from headrace.schema.plain import plain, row_text
from headrace.schema.types import Array, Atomic, Field, Map, Struct, Type

__all__ = [
    "Array",
    "Atomic",
    "Field",
    "Map",
    "Struct",
    "Type",
    "as_read",
    "days",
    "digits",
    "hours",
    "meant_type",
    "milliseconds",
    "minutes",
    "parse_schema",
    "parse_type",
    "plain",
    "plain_type",
    "row_text",
    "schema_of",
    "seconds",
    "shown",
]
