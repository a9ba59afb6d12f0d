"""The tables of Nexmark in the syntax of each engine: one stream of events with a view of each kind, and the side table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import headrace as hr
from bench.nexmark.events import CORES, Events
from bench.nexmark.generator import AUCTION, BID, PERSON

KINDS = {"person": PERSON, "auction": AUCTION, "bid": BID}
COLUMNS = {
    "person": "id bigint, name string, emailAddress string, creditCard string, city string, state string, dateTime timestamp, extra string",
    "auction": "id bigint, itemName string, description string, initialBid bigint, reserve bigint, dateTime timestamp, expires timestamp, "
    "seller bigint, category bigint, extra string",
    "bid": "auction bigint, bidder bigint, price bigint, channel string, url string, dateTime timestamp, extra string",
}
SIDE = "key bigint, value string"


def streams(events: Events, files_per_epoch: int | None = CORES) -> dict[str, hr.Stream]:
    """Return the tables for headrace, with one epoch of files at a time."""
    schema = "event_type int, " + ", ".join(f"{name} struct<{_typed(columns, ':')}>" for name, columns in COLUMNS.items())
    stream = hr.read.files(events.stream, format="json", schema=schema, files_per_epoch=files_per_epoch, name="events")
    tables = {
        name: hr.sql(f"SELECT {name}.* FROM events WHERE event_type = {code}", events=stream).named(name) for name, code in KINDS.items()
    }
    return tables | {"side_input": hr.read.files(events.side, format="json", schema=SIDE, name="side_input")}


def in_duckdb(events: Events) -> list[str]:
    """Return the statements that create the tables in DuckDB."""
    structs = "".join(f", {name}: 'STRUCT({_typed(columns, ' ', {'string': 'varchar'})})'" for name, columns in COLUMNS.items())
    read = f"read_json('{events.stream}/*.json', format = 'newline_delimited', columns = {{event_type: 'int'{structs}}})"
    side = f"read_json('{events.side}/*.json', format = 'newline_delimited', columns = {{key: 'bigint', value: 'varchar'}})"
    return [
        f"CREATE TABLE events AS SELECT * FROM {read}",
        *(f"CREATE VIEW {name} AS SELECT {name}.* FROM events WHERE event_type = {code}" for name, code in KINDS.items()),
        f"CREATE TABLE side_input AS SELECT * FROM {side}",
    ]


def in_flink(events: Events) -> list[str]:
    """Return the statements that create the tables in Flink; they drop those of the same names. Times and delays are the published ones."""
    rows = ", ".join(f"{name} ROW<{_typed(columns, ' ', {'timestamp': 'timestamp(3)'}, '`')}>" for name, columns in COLUMNS.items())
    time = " ".join(f"WHEN {code} THEN {name}.`dateTime`" for name, code in KINDS.items())
    views = {
        name: ", ".join(f"`{column}`" if column == "dateTime" else f"{name}.`{column}`" for column, _ in _columns(columns))
        for name, columns in COLUMNS.items()
    }
    return [
        *(f"DROP TEMPORARY VIEW IF EXISTS {name}" for name in KINDS),
        "DROP TEMPORARY TABLE IF EXISTS events",
        "DROP TEMPORARY TABLE IF EXISTS side_input",
        f"CREATE TEMPORARY TABLE events (event_type int, {rows}, `dateTime` AS CASE event_type {time} END, "
        f"WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND) WITH ({_files(events.for_flink())})",
        *(f"CREATE TEMPORARY VIEW {name} AS SELECT {views[name]} FROM events WHERE event_type = {code}" for name, code in KINDS.items()),
        f"CREATE TEMPORARY TABLE side_input ({_typed(SIDE, ' ', {}, '`')}) WITH ({_files(events.side)})",
    ]


def _files(path: Path) -> str:
    return f"'connector' = 'filesystem', 'path' = '{path.as_uri()}', 'format' = 'json'"


def _columns(columns: str) -> list[tuple[str, str]]:
    return re.findall(r"(\w+) (\w+)", columns)


def _typed(columns: str, between: str, types: Mapping[str, str] = MappingProxyType({}), quote: str = "") -> str:
    return ", ".join(f"{quote}{name}{quote}{between}{types.get(type, type)}" for name, type in _columns(columns))
