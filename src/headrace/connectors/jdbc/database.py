"""A database, as the driver of a job uses it: statements, transactions, and retries while its server is away."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.jvm.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


class Problem(Exception):
    """A refusal by the database. `state` is the SQLSTATE, "" if the driver has none; `transient`: a retry may succeed; `of_row`: a row was
    refused for its content.
    """

    def __init__(self, state: str, vendor: int, message: str, transient: bool, of_row: bool = False) -> None:
        super().__init__(message)
        self.state = state
        self.vendor = vendor
        self.message = message
        self.transient = transient
        self.of_row = of_row


class Database:
    """A server and the driver's connection to it, opened on first use. Tasks ask for the server by `name`."""

    def __init__(self, session: SparkSession, driver: str, url: str, properties: Mapping[str, str]) -> None:
        java = jvm(session)
        java_properties = java.java.util.Properties()
        for key, value in properties.items():
            java_properties.setProperty(key, value)
        self._servers = java.headrace.jdbc.Server
        self.name = str(self._servers.register(driver, url, java_properties))
        self._link = java.headrace.jdbc.Link(self.name)

    def open(self) -> None:
        """Connect, unless connected already."""
        _answer(self._link.open())

    def query(self, sql: str, *values: str | int | None) -> list[list[Any]]:
        """The rows of a query, with the values for each `?`."""
        rows: list[list[Any]] = _answer(self._link.query(sql, json.dumps(values)))["rows"]
        return rows

    def update(self, sql: str, *values: str | int | None) -> int:
        """Run a statement. Returns the number of rows that it changed."""
        return int(_answer(self._link.update(sql, json.dumps(values)))["count"])

    def schema(self, table: str) -> str:
        """The columns of a FROM clause, as Spark reads them, as DDL."""
        return str(_answer(self._link.schema(table))["ddl"])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run all statements within, or none of them."""
        _answer(self._link.begin())
        try:
            yield
            _answer(self._link.commit())
        except BaseException:
            self._link.rollback()
            raise

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Run statements, and undo them at the end."""
        _answer(self._link.begin())
        try:
            yield
        finally:
            self._link.rollback()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Run all statements within, or none of them, and keep the transaction around them, unless the problem is transient."""
        self.update("SAVEPOINT part")
        try:
            yield
        except Problem as problem:
            if not problem.transient:
                self.update("ROLLBACK TO SAVEPOINT part")
                self.update("RELEASE SAVEPOINT part")
            raise
        self.update("RELEASE SAVEPOINT part")

    def steadily(self, action: Callable[[], T], seconds: float) -> T:
        """Run an action, and again on a new connection after a transient problem, such as a server that is away or a conflict of
        transactions, for at most some seconds.

        The action has to be idempotent: a commit may have taken place although its answer was lost.
        """
        until: float | None = None
        wait = 0.05
        while True:
            try:
                return action()
            except Problem as problem:
                self._link.close()
                now = time.monotonic()
                until = now + seconds if until is None else until
                if not problem.transient or now >= until:
                    raise
                time.sleep(min(wait, until - now))
                wait = min(wait * 2, 1)

    def leave(self) -> None:
        """Close the connection: the next statement opens a new one, which no server restart in between has broken."""
        self._link.close()

    def close(self) -> None:
        self._link.close()
        self._servers.forget(self.name)


def _answer(answer: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(str(answer))
    if "error" in content:
        error = content["error"]
        raise Problem(error["state"] or "", error["vendor"], error["message"], error["transient"], error["of_row"])
    return content
