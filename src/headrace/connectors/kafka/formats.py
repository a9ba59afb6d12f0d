"""Common parts of the registry formats: their names, and errors for columns that they cannot have."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.errors import HeadraceError, here
from headrace.schema import Array, Atomic, Map, Struct, Type

TYPES: Mapping[str, str] = {"avro": "AVRO", "json_schema": "JSON", "protobuf": "PROTOBUF"}
"""The registry formats, and their names in a registry."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RECORD = re.compile(rf"{NAME.pattern}(\.{NAME.pattern})*")

_VERB = "write.kafka"


def record_of(topic: str, part: str) -> str:
    """The name of a record if the user gives none.

    >>> record_of("shop.orders-eu", "value"), record_of("2nd", "key")
    ('shop_orders_eu', '_2nd_key')
    """
    name = re.sub(r"[^A-Za-z0-9_]", "_", topic)
    return ("_" if name[0].isdigit() else "") + name + ("_key" if part == "key" else "")


def check_names(format: str, columns: Struct) -> None:
    """Raise if a format cannot have a column's name, including names within structs."""
    for field in columns.fields:
        if not NAME.fullmatch(field.name):
            raise HeadraceError(
                "BAD_NAME",
                f"{_VERB}: the column `{field.name}` cannot be written in {format}: names consist of letters (a to z), digits and _",
                hint="rename it: .rename({...})",
                site=here(),
            )
        _names_within(format, field.type)


def _names_within(format: str, type: Type) -> None:
    if isinstance(type, Struct):
        check_names(format, type)
    elif isinstance(type, Array):
        _names_within(format, type.element)
    elif isinstance(type, Map):
        _names_within(format, type.value)


def cannot(format: str, path: str, why: str, hint: str) -> HeadraceError:
    """The error for a column that a format cannot have."""
    return HeadraceError("WRONG_TYPE", f"{_VERB}: the column {path} cannot be {format}: {why}", hint=hint, site=here())


def no_such(format: str, path: str, type: Type) -> HeadraceError:
    """The error for a type without an equivalent in a format."""
    column = path.partition(".")[0]
    if isinstance(type, Atomic):
        return cannot(
            format, path, f"it has no type for {type}", f'write it as a string: .with_columns({column}="CAST({column} AS string)")'
        )
    return cannot(format, path, f"it has no type for {type}", f'write it as JSON: .with_columns({column}="to_json({column})")')


def odd_key(format: str, path: str, type: Map, takes: str) -> HeadraceError:
    """The error for a map by the type of its keys."""
    hint = f"convert them to strings: transform_keys({path.partition('.')[0]}, (k, v) -> CAST(k AS string))"
    return cannot(format, path, f"its map keys are {takes}, not {type.key}", hint)
