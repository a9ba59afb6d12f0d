"""The table that a sink writes: created if it is missing, else checked against the stream before anything is written."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.connectors.jdbc.database import Database
from headrace.connectors.jdbc.dialect import Column, Dialect, Target, base
from headrace.errors import ConnectorError
from headrace.schema import Struct

GONE = "restore it, or start over with fresh=True, which writes all rows again"
"""The hint for a table that was dropped after epochs were written to it."""


def make(
    database: Database, dialect: Dialect, place: tuple[str, ...], schema: Struct, key: Sequence[str], *, create: bool, wrote: bool
) -> bool:
    """Create the table for a stream of this schema if it is missing. Returns whether it was. Raises if this checkpoint `wrote` to it: rows
    of earlier epochs would be missing silently.
    """
    if dialect.columns(database, place):
        return False
    if wrote:
        raise ConnectorError(
            "TABLE_MISSING", f"the table {'.'.join(place)} was dropped, and the rows that were written to it are lost", hint=GONE
        )
    if not create:
        raise missing(place)
    return dialect.make(database, place, typed(dialect, schema, key), [_of(schema, one) for one in key])


def missing(place: tuple[str, ...]) -> ConnectorError:
    """The error for a missing table that the sink may not create."""
    hint = "create it, correct its name, or let the sink create it: create=True"
    return ConnectorError("TABLE_MISSING", f"there is no table {'.'.join(place)}", hint=hint)


def target(database: Database, dialect: Dialect, place: tuple[str, ...], schema: Struct, key: Sequence[str]) -> Target:
    """The table for a stream of this schema, with rows replaced by `key` if there is one; raises if it does not match."""
    name = ".".join(place)
    table_columns = dialect.columns(database, place)
    columns = [_column(table_columns, field, name) for field in schema.names]
    _fit(dialect, schema, columns, place)
    _complete(table_columns, columns, name)
    keys = [next(column for column, field in zip(columns, schema.names, strict=True) if field.lower() == one.lower()).name for one in key]
    if keys and frozenset(keys) not in dialect.unique(database, place):
        listed = ", ".join(keys)
        raise ConnectorError(
            "TABLE_SCHEMA",
            f"the table {name} has no unique index on {listed}, so rows cannot be replaced by {'it' if len(keys) == 1 else 'them'}",
            hint=f"add one: {dialect.unique_statement(place, keys)}",
        )
    casts = {
        column.name: cast
        for field, column in zip(schema.fields, columns, strict=True)
        if (cast := dialect.cast(field.type, column)) is not None
    }
    texts = frozenset(column.name for field, column in zip(schema.fields, columns, strict=True) if base(field.type) == "string")
    matched_table = Target(place, tuple(column.name for column in columns), tuple(keys), casts, texts)
    unfit = dialect.unfit(database, matched_table)
    if unfit is not None:
        raise ConnectorError("TABLE_SCHEMA", f"the table {name} {unfit[0]}", hint=unfit[1])
    return matched_table


def typed(dialect: Dialect, schema: Struct, key: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The columns of a stream with their types in this kind of database."""
    keys = [one.lower() for one in key]
    typed_columns = []
    for field in schema.fields:
        try:
            typed_columns.append((field.name, dialect.type_of(field.type, key=len(keys) if field.name.lower() in keys else 0)))
        except KeyError:
            raise ConnectorError(
                "TABLE_SCHEMA",
                f"{dialect.title} has no type for the column {field.name}, which is {field.type}",
                hint=f'convert it to a string: with_columns({field.name}="cast({field.name} as string)")',
            ) from None
    return typed_columns


def _of(schema: Struct, name: str) -> str:
    """A column as the stream spells it."""
    return next(one for one in schema.names if one.lower() == name.lower())


def _column(table_columns: Sequence[Column], name: str, table: str) -> Column:
    """The column of a table for a column of a stream: an exact match, else one that differs in case."""
    fits = [column for column in table_columns if column.name == name] or [
        column for column in table_columns if column.name.lower() == name.lower()
    ]
    if len(fits) == 1 and not fits[0].generated:
        return fits[0]
    if fits:
        raise ConnectorError(
            "TABLE_SCHEMA",
            f"the table {table} computes {name} itself" if len(fits) == 1 else f"the table {table} has {name} in several spellings",
            hint=f'drop it, .drop("{name}"), or rename it, .rename({{"{name}": ...}})',
        )
    names = ", ".join(column.name for column in table_columns)
    raise ConnectorError(
        "TABLE_SCHEMA",
        f"the table {table} has no column {name}",
        hint=f'it has: {names}. Add the column, or leave it out of the stream: .drop("{name}")',
    )


def _fit(dialect: Dialect, schema: Struct, columns: Sequence[Column], place: tuple[str, ...]) -> None:
    wanted = dict(typed(dialect, schema))
    for field, column in zip(schema.fields, columns, strict=True):
        if not dialect.fits(field.type, column):
            change = dialect.type_statement(place, column.name, wanted[field.name]) or f"change the column to {wanted[field.name]}"
            raise ConnectorError(
                "TABLE_SCHEMA",
                f"the column {column.name} of the table {'.'.join(place)} is {_shown(column)}, which cannot store every {field.type}",
                hint=f"{change}; or cast the column in the stream to a type that fits",
            )


def _complete(table_columns: Sequence[Column], columns: Sequence[Column], table: str) -> None:
    for column in table_columns:
        if column.needed and column not in columns:
            raise ConnectorError(
                "TABLE_SCHEMA",
                f"the table {table} needs a value for {column.name}, but the stream has no such column",
                hint="give the column a default, make it nullable, or add it to the stream",
            )


def _shown(column: Column) -> str:
    return f"{column.type}({column.size},{column.digits})" if column.type in ("numeric", "decimal") and column.size else column.type
