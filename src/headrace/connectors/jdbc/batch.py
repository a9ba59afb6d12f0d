"""Rows of a table read at once with Spark's own reader, to inspect its contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.connectors.jdbc.dialect import Dialect, base
from headrace.schema import Field, Struct
from headrace.syntax import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WHOLE = ("tinyint", "smallint", "int", "bigint")


def frame(session: SparkSession, dialect: Dialect, url: str, properties: Mapping[str, str], table: str, schema: Struct) -> DataFrame:
    """The rows of a FROM clause, with the columns of a schema in its types, as the sink writes them."""
    options = dialect.reading(properties)
    if dialect.wide:
        options["customSchema"] = ", ".join(f"{quote(field.name)} bigint" for field in schema.fields if base(field.type) in _WHOLE)
    reader = session.read.format("jdbc").options(**options, url=url, dbtable=table, driver=dialect.driver, preferTimestampNTZ="true")
    return reader.load().selectExpr(*(f"{_read(dialect, field)} AS {quote(field.name)}" for field in schema.fields))


def _read(dialect: Dialect, field: Field) -> str:
    name, kind = quote(field.name), base(field.type)
    if field.type.text == "variant":
        return f"parse_json({name})"
    if kind == "json":
        return f"from_json({name}, '{field.type.text.replace(chr(39), chr(92) + chr(39))}')"
    if kind == "timestamp" and not dialect.zoned:
        return f"CAST(CAST({name} AS string) || 'Z' AS timestamp)"
    return f"CAST({name} AS {field.type.text})"
