"""Checks whether rows can be written to an existing table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headrace.errors import ConnectorError
from headrace.schema import Field, Struct, Type


def lacking(name: str, columns: Struct, schema: Struct, same: Callable[[Type, Type], bool], *, add: bool) -> list[Field]:
    """The columns of a schema that a table lacks. Raises if rows of the schema do not match the table's columns."""
    unfit = partial(unfitting, name)
    by_name = {field.name: field for field in columns.fields}
    missing = []
    for field in schema.fields:
        known = by_name.get(field.name)
        if known is None and columns.get(field.name) is not None:
            near = next(one for one in by_name if one.lower() == field.name.lower())
            raise unfit(f"its column {near} is spelled {field.name} here", f"rename({{{field.name!r}: {near!r}}})")
        if known is None:
            if not add:
                raise unfit(f"it has no column {field.name}", 'schema="add" adds columns to a table')
            missing.append(field)
        elif not same(known.type, field.type):
            cast = f'with_columns({field.name}="cast({field.name} as {known.type})")'
            raise unfit(f"its column {field.name} is {known.type}, not {field.type}", cast)
        elif field.nullable and not known.nullable:
            filled = f'with_columns({field.name}="coalesce({field.name}, ...)")'
            raise unfit(f"its column {field.name} is not nullable, but the stream's is", filled)
    stream_columns = {field.name for field in schema.fields}
    for field in columns.fields:
        if field.name not in stream_columns and not field.nullable:
            raise unfit(f"its column {field.name} is not nullable, and the stream does not have it", f'with_columns({field.name}="...")')
    return missing


def unfitting(name: str, why: str, hint: str) -> ConnectorError:
    return ConnectorError("TABLE_SCHEMA", f"the table {name} does not fit: {why}", hint=hint)
