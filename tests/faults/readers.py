"""Readers of what sinks have written that know nothing of headrace: DuckDB for files and lakes, and the clients of servers.

Each gives the rows that are there as tuples of texts, by the columns of the sink's schema.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from headrace.certify.copy import Reader
from headrace.schema import Struct
from tests.servers import mariadb as mariadb_server
from tests.servers import postgres as postgres_server
from tests.servers import redis as redis_server
from tests.servers.kafka import consumed

Rows = list[tuple[Any, ...]]


@cache
def _duckdb() -> Any:
    """DuckDB with the extensions for lakes, which PyPI has for just this version."""
    import duckdb

    database = duckdb.connect()
    for name in ("delta", "avro", "iceberg"):
        (file,) = Path(*import_module(f"duckdb_extension_{name}").__path__).glob("extensions/*/*.duckdb_extension")
        database.execute(f"LOAD '{file}'")
    return database


def _selected(source: str, parameters: Sequence[Any], schema: Struct) -> Rows:
    columns = ", ".join(f'"{name}"::VARCHAR' for name in schema.names)
    return list(_duckdb().cursor().execute(f"SELECT {columns} FROM {source}", parameters).fetchall())


def files(sink: Any, schema: Struct) -> Rows:
    """All that a reader finds who lists the folder and leaves out, as is the custom, what begins with `_` or `.`."""
    folder = Path(sink.path)
    seen = [file for file in folder.rglob("*") if file.is_file() and not any(part[0] in "_." for part in file.relative_to(folder).parts)]
    if not seen:
        return []
    function = {"json": "read_json", "csv": "read_csv", "parquet": "read_parquet"}[sink.format]
    options = {"csv": ", header = true, all_varchar = true"}.get(sink.format, "")
    return _selected(f"{function}(?, hive_partitioning = true, union_by_name = true{options})", [list(map(str, seen))], schema)


def delta(sink: Any, schema: Struct) -> Rows:
    return _selected("delta_scan(?)", [sink.place.path], schema)


def iceberg(sink: Any, schema: Struct) -> Rows:
    """By the metadata that the catalog, a database of SQLite, has for the table."""
    namespace, _, table = sink.place.name.rpartition(".")
    query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
    with closing(sqlite3.connect(sink.place.options["uri"].removeprefix("sqlite:///"))) as catalog:
        locations = catalog.execute(query, (namespace, table)).fetchall()
    return [row for (place,) in locations for row in _selected("iceberg_scan(?)", [place.removeprefix("file://")], schema)]


def jdbc(sink: Any, schema: Struct) -> Rows:
    connect = {"postgresql": _postgresql, "mariadb": _mariadb, "sqlite": sqlite3.connect}[sink.address.kind]
    quote = "`" if sink.address.kind == "mariadb" else '"'
    columns = ", ".join(f"{quote}{name}{quote}" for name in schema.names)
    place = ".".join(f"{quote}{name}{quote}" for name in sink.place)
    with closing(connect(sink.address.rest)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(f"SELECT {columns} FROM {place}")
        return [tuple(map(str, row)) for row in cursor.fetchall()]


def _postgresql(rest: str) -> Any:
    import psycopg

    return psycopg.connect(f"postgresql:{rest}", user=postgres_server.USER, password=postgres_server.PASSWORD)


def _mariadb(rest: str) -> Any:
    import pymysql

    host, _, name = rest.partition("?")[0].removeprefix("//").partition("/")
    address, _, port = host.partition(":")
    account = {"user": mariadb_server.USER, "password": mariadb_server.PASSWORD, "charset": "utf8mb4"}
    return pymysql.connect(host=address, port=int(port), database=name, **account)


def kafka(sink: Any, schema: Struct) -> Rows:
    """By a consumer that reads what was committed: each record, or the newest one of a key where records replace others."""
    records = consumed(sink.cluster.servers, sink.topic)
    values = {record.key: record.value for record in records}.values() if sink._replaces else [record.value for record in records]
    # without tombstones, and without the marks at the ends of epochs
    return [_texts(json.loads(value), schema) for value in values if value is not None]


def redis(sink: Any, schema: Struct) -> Rows:
    import redis

    with redis.Redis.from_url(sink.url, password=redis_server.PASSWORD) as server:
        values = [server.get(key) for key in set(server.scan_iter(f"{sink.prefix}*", count=1000))]
    return [_texts(json.loads(value), schema) for value in values]


def http(sink: Any, schema: Struct) -> Rows:
    """What the receiver shows: rows, or of changes what is left, as how many there are depends on the epochs."""
    import urllib3

    counts: Counter[tuple[str, ...]] = Counter()
    for line in urllib3.request("GET", sink.url).data.decode().split("\n")[:-1]:
        row = json.loads(line)
        counts[_texts(row, schema)] += -1 if row.get("_change") == "delete" else 1
    return list(counts.elements())


def _texts(values: Mapping[str, Any], schema: Struct) -> tuple[str, ...]:
    return tuple(str(values.get(name)) for name in schema.names)


READERS: Mapping[str, Reader] = {
    "files": files,
    "delta": delta,
    "iceberg": iceberg,
    "jdbc": jdbc,
    "kafka": kafka,
    "redis": redis,
    "http": http,
}
"""By the names of connectors."""
