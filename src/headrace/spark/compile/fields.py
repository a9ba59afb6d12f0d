"""The query document: its parts, with operators and steps in the form they declare.

Connectors describe their scans, stages and requests in JSON of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.jvm.parts import Columns, Int, Json, Part
from headrace.ops.parts import OperatorText, OutputText, RouteText


@dataclass(frozen=True, kw_only=True)
class WatermarkText(Part):
    """The column of event time, and how late a row may come. Times from `before_us` on do not move the watermark."""

    column: str
    delay_ms: int
    before_us: int | None = None


@dataclass(frozen=True, kw_only=True)
class SourceText(Part):
    """A source: how to read its scan and its `repaired` rows, what to do with `malformed` lines, and where its rows go. It is read when the
    sources `after` which it comes have ended.
    """

    name: str
    schema: Columns
    reader: Json
    repaired: Json | None = None
    after: tuple[str, ...] | None = None
    malformed: str
    watermark: WatermarkText | None
    routes: tuple[RouteText, ...]
    dead: tuple[RouteText, ...]


@dataclass(frozen=True, kw_only=True)
class LookupText(Part):
    """A lookup: its rows and key, the columns of `table` that are looked up (`by`) and returned (`given`), how to query it, where rows go.

    `ask` is None if the whole table is kept.
    """

    op: Int
    name: str
    site: str | None
    schema: Columns
    key: Columns
    table: Columns
    by: tuple[str, ...]
    given: tuple[str, ...]
    how: str
    cache_ms: int
    cache_keys: int
    batch: Int
    in_flight: Int
    retry_ms: int
    refresh_ms: int | None
    constant: bool
    ask: Json | None
    outputs: tuple[OutputText, ...]


@dataclass(frozen=True, kw_only=True)
class SinkText(Part):
    """A sink: its columns, how tasks stage its rows, and what to do with a row that it rejects; `key` are the columns that name such a row.
    `weighted`: the last column is the row's weight.
    """

    op: Int
    name: str
    schema: Columns
    stage: Json
    refused: str | None = None
    key: tuple[str, ...] | None = None
    weighted: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Document(Part):
    """A query. `levels[i]` are the operators of level i + 1, `retired[i]` those that an earlier version had there, `lookups[i]` the lookups
    after level i, in rounds. `placed`: rows are dealt out to tasks before the sinks. `fingerprint` covers everything but the user's lines.
    """

    format: Int
    job: str
    query: str
    partitions: Int
    clock: str
    settings: Mapping[str, str]
    sources: tuple[SourceText, ...]
    levels: tuple[tuple[OperatorText, ...], ...]
    retired: tuple[tuple[Int, ...], ...]
    sinks: tuple[SinkText, ...]
    lookups: tuple[tuple[tuple[LookupText, ...], ...], ...] | None = None
    placed: bool | None = None
    fingerprint: str
