"""A file's column statistics in a Delta table, by which readers skip files: the least and greatest values, and the number of nulls.

All of them come from the file's own footer. A bound that is unknown, or that readers could misinterpret, is left out.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from headrace.schema import Array, Atomic, Map, Struct, Type

# Delta's own defaults: the number of columns with statistics, and of a text's characters in them.
_COLUMNS = 32
_CHARACTERS = 32
_LAST = "\U0010ffff"
_EPOCH = dt.datetime(1970, 1, 1)


class Leaf(NamedTuple):
    """A column of a Parquet file; `repeated` inside an array or map, where Delta has no statistics."""

    path: tuple[str, ...]
    type: Type
    repeated: bool


def leaves(schema: Struct) -> list[Leaf]:
    """The columns in the order of a file.

    >>> from headrace.schema import parse_schema
    >>> [leaf.path for leaf in leaves(parse_schema("a int, s struct<x: int, y: array<int>>"))]
    [('a',), ('s', 'x'), ('s', 'y')]
    """
    return list(_leaves(schema, (), False))


def statistics(footer: Any, schema: Struct) -> str:
    """The statistics of a file as Delta writes them, from its footer (`pyarrow.parquet.FileMetaData`)."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    columns = leaves(schema)
    if len(columns) == footer.num_columns:
        for place, leaf in enumerate(columns[:_COLUMNS]):
            if not leaf.repeated:
                _column(footer, place, leaf, least, greatest, nulls)
    return _text({"numRecords": footer.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls})


def _leaves(kind: Type, path: tuple[str, ...], repeated: bool) -> Iterator[Leaf]:
    match kind:
        case Struct(fields):
            for field in fields:
                yield from _leaves(field.type, (*path, field.name), repeated)
        case Array(element):
            yield from _leaves(element, path, True)
        case Map(key, value):
            yield from _leaves(key, path, True)
            yield from _leaves(value, path, True)
        case _:
            yield Leaf(path, kind, repeated)


def _column(footer: Any, place: int, leaf: Leaf, least: dict[str, Any], greatest: dict[str, Any], nulls: dict[str, Any]) -> None:
    chunks = [footer.row_group(group).column(place) for group in range(footer.num_row_groups)]
    chunk_statistics = [chunk.statistics for chunk in chunks]
    if not all(one is not None and one.has_null_count for one in chunk_statistics):
        return
    empty = sum(one.null_count for one in chunk_statistics)
    _put(nulls, leaf.path, empty)
    bounds = [_bounds(one, leaf.type) for one in chunk_statistics if one.num_values]
    known = [bound for bound in bounds if bound is not None]
    if known and len(known) == len(bounds):
        low, high = _written(min(bound[0] for bound in known), max(bound[1] for bound in known), leaf.type)
        if low is not None and high is not None:
            _put(least, leaf.path, low)
            _put(greatest, leaf.path, high)


def _bounds(chunk_statistics: Any, kind: Type) -> tuple[Any, Any] | None:
    """The least and the greatest value of a row group, in a comparable form."""
    if not chunk_statistics.has_min_max or not isinstance(kind, Atomic):
        return None
    name = kind.name
    if name == "boolean" or name.startswith("decimal("):
        return chunk_statistics.min, chunk_statistics.max
    if name in ("float", "double"):
        return (
            (chunk_statistics.min_raw, chunk_statistics.max_raw)
            if math.isfinite(chunk_statistics.min_raw) and math.isfinite(chunk_statistics.max_raw)
            else None
        )
    if name in ("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ltz", "timestamp_ntz"):
        return chunk_statistics.min_raw, chunk_statistics.max_raw
    if name.startswith(("string", "char(", "varchar(")):
        return bytes(chunk_statistics.min_raw), bytes(chunk_statistics.max_raw)
    return None


def _written(low: Any, high: Any, kind: Type) -> tuple[Any, Any]:
    name = kind.text
    if name == "date":
        return _day(low), _day(high)
    if name.startswith("timestamp"):
        # To the millisecond, rounded outwards: all readers support that.
        zone = "" if name == "timestamp_ntz" else "Z"
        return _moment(low // 1000, zone), _moment(-(-high // 1000), zone)
    if isinstance(low, bytes):
        return _shortened(low, high)
    return low, high


def _text(value: Any) -> str:
    """JSON with decimals in plain digits: some readers read a number with an exponent as null."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_text(item)}" for name, item in value.items()) + "}"
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value)


def _shortened(low: bytes, high: bytes) -> tuple[str | None, str | None]:
    first, last = low.decode("utf-8", "replace"), high.decode("utf-8", "replace")
    if "\ufffd" in first or "\ufffd" in last:
        return None, None
    if len(last) > _CHARACTERS:
        if last[_CHARACTERS] == _LAST:
            return None, None
        last = last[:_CHARACTERS] + _LAST
    return first[:_CHARACTERS], last


def _day(days: int) -> str | None:
    try:
        return (_EPOCH + dt.timedelta(days=days)).date().isoformat()
    except OverflowError:
        return None


def _moment(millis: int, zone: str) -> str | None:
    try:
        return (_EPOCH + dt.timedelta(milliseconds=millis)).isoformat(timespec="milliseconds") + zone
    except OverflowError:
        return None


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value
