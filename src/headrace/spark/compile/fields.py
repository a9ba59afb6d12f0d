"""The query document, field by field, as `kernel/query/Document.scala` reads it.

Fields stand in the JSON in this order. One whose default is None is left out where it is None.

Some parts are JSON here: operators, which their own kinds in the kernel read, the steps of routes, and what connectors say of their scans,
stages and requests.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

Json = dict[str, Any]


class Text:
    """A part of the document."""

    def to_json(self) -> Json:
        """The part as JSON, with the parts in it."""
        values = ((one, getattr(self, one.name)) for one in fields(self))  # type: ignore[arg-type]  # all parts are dataclasses
        return {one.name: _json(value) for one, value in values if not (value is None and one.default is None)}


def _json(value: Any) -> Any:
    if isinstance(value, Text):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    return value


@dataclass(frozen=True, kw_only=True)
class RouteText(Text):
    """Where rows go: to one `side` of the operator, lookup or sink `to`, by its `delivery`; `steps` are done on the way.

    Only routes to operators and lookups say how many `shards` there are, the schema of their key and whether equal rows may become one;
    `rank` orders the routes of one inlet that takes rows as they come.
    """

    to: int
    side: int
    delivery: str
    shards: int | None = None
    key: tuple[tuple[str, str], ...] = ()
    key_schema: str | None = None
    time: str | None
    order: str | None
    combines: bool | None = None
    schema: str
    rank: int | None = None
    steps: tuple[Json, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WatermarkText(Text):
    """Which column is event time, and how late a row may come."""

    column: str
    delay_ms: int


@dataclass(frozen=True, kw_only=True)
class SourceText(Text):
    """A source: how its scan and what was `repaired` of it are read, what becomes of a line that is `malformed`, and where its rows go."""

    name: str
    schema: str
    reader: Json
    repaired: Json | None = None
    malformed: str
    watermark: WatermarkText | None
    routes: tuple[RouteText, ...]
    dead: tuple[RouteText, ...]


@dataclass(frozen=True, kw_only=True)
class OutputText(Text):
    """An output of an operator or a lookup; `time` is the column that is event time behind it."""

    name: str
    schema: str
    time: str | None
    routes: tuple[RouteText, ...]


@dataclass(frozen=True, kw_only=True)
class LookupText(Text):
    """A lookup: its rows and key, the `table` and which columns of it it is asked `by` and gives, how it is asked, and where rows go.

    `ask` is None where the whole table is kept.
    """

    op: int
    name: str
    site: str | None
    schema: str
    key: str
    table: str
    by: tuple[str, ...]
    given: tuple[str, ...]
    how: str
    cache_ms: int
    cache_keys: int
    batch: int
    in_flight: int
    retry_ms: int
    refresh_ms: int | None
    constant: bool
    ask: Json | None
    outputs: tuple[OutputText, ...]


@dataclass(frozen=True, kw_only=True)
class SinkText(Text):
    """A sink: its columns, how tasks stage its rows, and what becomes of a row that it refuses; `key` are the columns that name such a row.

    `weighted`: the last column is the row's weight.
    """

    op: int
    name: str
    schema: str
    stage: Json
    refused: str | None = None
    key: tuple[str, ...] | None = None
    weighted: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Document(Text):
    """A query. `levels[i]` are the operators of level i + 1 as their kinds read them, `retired[i]` those that an earlier version had there,
    `lookups[i]` the lookups behind level i, round by round. `placed`: rows are dealt out to tasks in front of the sinks.
    """

    format: int
    job: str
    query: str
    partitions: int
    clock: str
    settings: Json
    sources: tuple[SourceText, ...]
    levels: tuple[tuple[Json, ...], ...]
    retired: tuple[tuple[int, ...], ...]
    sinks: tuple[SinkText, ...]
    lookups: tuple[tuple[tuple[LookupText, ...], ...], ...] | None = None
    placed: bool | None = None
