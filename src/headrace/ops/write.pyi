# Written by tools/stubs.py from the connectors that come with headrace; a test compares.
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame

from headrace.plan import Node
from headrace.ports import Secret

class Sink:
    """The end of a stream, to pass to `hr.job(name, *sinks)`. A sink that no job takes warns."""

    _node: Node
    _connected: Any
    def __init__(self, node: Node, connected: Any) -> None: ...
    def _use(self) -> Node: ...
    # Methods of a connector's own: the rows of a memory sink.
    def __getattr__(self, name: str) -> Any: ...

class Write:
    """The sinks, by connector: `stream.write.<connector>(…)` returns a sink. `dir(stream.write)` lists the connectors."""

    def __init__(self, node: Node) -> None: ...
    def console(
        self,
        rows: int = 20,
        *,
        name: str | None = None,
        mode: str | None = None,
    ) -> Sink:
        """Prints the last rows of each epoch as a table on the terminal, at most `rows`."""

    def delta(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | Sequence[str] | None = None,
        partition_by: str | Sequence[str] = (),
        schema: str = "keep",
        compact_every: int | None = None,
        vacuum: str | timedelta | None = None,
        properties: Mapping[str, str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
        name: str | None = None,
        mode: str | None = None,
        on_refused: str = "dead_letter",
    ) -> Sink:
        """Writes a Delta table exactly once: each epoch is one transaction of the table."""

    def files(
        self,
        path: str | os.PathLike[str],
        *,
        format: str,
        partition_by: str | Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        mode: str | None = None,
        on_refused: str = "dead_letter",
    ) -> Sink:
        """Writes a folder of JSON, CSV, Parquet, ORC or Avro files exactly once."""

    def foreach_batch(
        self,
        function: Callable[[DataFrame, int], object],
        *,
        name: str | None = None,
        mode: str | None = None,
    ) -> Sink:
        """Calls a Python function with the rows of each non-empty epoch, as a Spark DataFrame."""

    def http(
        self,
        url: str,
        *,
        format: str = "json_lines",
        batch: int = 500,
        headers: Mapping[str, str | Secret] | None = None,
        token: Secret | None = None,
        timeout: str | timedelta = "30 seconds",
        retries: int = 5,
        backoff: str | timedelta = "200 milliseconds",
        idempotent: bool = False,
        ca: str | None = None,
        name: str | None = None,
        mode: str | None = None,
        on_refused: str = "dead_letter",
    ) -> Sink:
        """Posts the rows of each epoch to an HTTP server in batches of JSON."""

    def iceberg(
        self,
        table: str,
        *,
        catalog: Mapping[str, Any],
        key: str | Sequence[str] | None = None,
        partition_by: str | Sequence[str] = (),
        schema: str = "keep",
        properties: Mapping[str, str] | None = None,
        name: str | None = None,
        mode: str | None = None,
        on_refused: str = "dead_letter",
    ) -> Sink:
        """Writes an Iceberg table exactly once: each epoch is one commit to the catalog."""

    def jdbc(
        self,
        url: str,
        table: str,
        *,
        key: str | Sequence[str] | None = None,
        user: str | None = None,
        password: Secret | None = None,
        create: bool = True,
        retry: str = "30 seconds",
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        mode: str | None = None,
        on_refused: str = "dead_letter",
    ) -> Sink:
        """Writes a table of PostgreSQL, MariaDB or SQLite exactly once: each epoch is one transaction."""

    def kafka(
        self,
        topic: str,
        *,
        servers: str | Sequence[str],
        key: str | Sequence[str] | None = None,
        key_format: str | None = None,
        value: str = "json",
        columns: str | Sequence[str] | None = None,
        headers: Mapping[str, str] | None = None,
        timestamp: str | None = None,
        partition_by: str | Sequence[str] | None = None,
        epoch_headers: bool = True,
        end_markers: bool = False,
        create: Mapping[str, Any] | None = None,
        transaction_timeout: str = "15 minutes",
        prefix: str = "headrace",
        security: Mapping[str, Any] | None = None,
        registry: str | Mapping[str, Any] | None = None,
        register: bool = True,
        record: str | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        mode: str | None = None,
        on_refused: str = "dead_letter",
    ) -> Sink:
        """Writes records to a Kafka topic exactly once, for readers with `isolation.level=read_committed`."""

    def memory(
        self,
        *,
        key: str | Sequence[str] | None = None,
        name: str | None = None,
        mode: str | None = None,
    ) -> Sink:
        """Keeps rows in this Python process, for tests and notebooks."""

    def redis(
        self,
        url: str,
        *,
        prefix: str,
        key: str | Sequence[str],
        value: str = "json",
        user: str | None = None,
        password: Secret | None = None,
        ca: str | None = None,
        retry: str = "30 seconds",
        name: str | None = None,
        mode: str | None = None,
        on_refused: str = "dead_letter",
    ) -> Sink:
        """Writes one Redis key for each row: a row replaces the row with the same key, and a retraction deletes the key."""

    # A connector of another package.
    def __getattr__(self, connector: str) -> Callable[..., Sink]: ...
