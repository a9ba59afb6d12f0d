"""Databases for tests of the JDBC connector, each with a reader of its own that knows nothing of headrace."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

import headrace as hr
from headrace.testing import Harness

KINDS = ("postgresql", pytest.param("mariadb", marks=pytest.mark.full), pytest.param("sqlite", marks=pytest.mark.full))
"""One is tried in short runs, all in long ones."""
WAITING = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    "mariadb": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
}


class Place(Protocol):
    """A database: its address, what `write.jdbc` takes beside it, and what a reader of its own sees there."""

    kind: str
    url: str
    options: dict[str, Any]

    def run(self, sql: str) -> list[tuple[Any, ...]]: ...


class Served:
    """A database of a server."""

    def __init__(self, kind: str, server: Any) -> None:
        self.kind = kind
        self.server = server
        self.url = server.database()
        self.options: dict[str, Any] = {"user": "app", "password": hr.secret(server.variable)}
        if kind == "mariadb":
            self.options["options"] = {"sslMode": "disable"}  # the server of the tests has no certificate

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.server.run(self.url, sql)]


class File:
    """A database of SQLite."""

    def __init__(self, folder: Path) -> None:
        self.kind = "sqlite"
        self.path = folder / "out.db"
        self.url = f"sqlite:{self.path}"
        self.options: dict[str, Any] = {}

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            return list(connection.execute(sql))


@pytest.fixture
def pg(postgres: Any) -> Served:
    return Served("postgresql", postgres)


@pytest.fixture
def maria(mariadb: Any) -> Served:
    return Served("mariadb", mariadb)


@pytest.fixture
def sqlite(tmp_path: Path) -> File:
    return File(tmp_path)


@contextmanager
def held(place: Served, sql: str, *values: Any) -> Iterator[None]:
    """What another's transaction does, which ends with the block."""
    connection = place.server.connect(place.url)
    try:
        if place.kind == "postgresql":
            connection.autocommit = False
        else:
            connection.begin()
        connection.cursor().execute(sql, values)
        yield
        connection.commit()
    finally:
        connection.close()


def until_waiting(place: Served, count: int) -> None:
    deadline = time.monotonic() + 60
    while place.run(WAITING[place.kind]) != [(count,)]:
        assert time.monotonic() < deadline, f"no {count} transactions wait for another"
        time.sleep(0.2)  # MariaDB shows what it showed last to whoever asks sooner


def rows(place: Place, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    """What a table has, in an order of its own."""
    return sorted(place.run(f"SELECT {columns} FROM {table}"), key=repr)


def stages(place: Place) -> list[str]:
    """The staging tables that are there."""
    catalogue = "sqlite_master" if place.kind == "sqlite" else "information_schema.tables"
    column = "name" if place.kind == "sqlite" else "table_name"
    return [row[0] for row in place.run(f"SELECT {column} FROM {catalogue}") if row[0].startswith("_headrace_stage_")]


def into(h: Harness, sink: Any) -> Any:
    """Let a harness write to a sink of the user's; answers the connector's own object."""
    h._sinks.append(sink._use())
    return sink._connected


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A database of each kind."""
    if request.param == "sqlite":
        return File(tmp_path)
    return Served(request.param, request.getfixturevalue({"postgresql": "postgres"}.get(request.param, request.param)))
