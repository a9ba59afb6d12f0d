# Written by tools/stubs.py from the connectors that come with headrace; a test compares.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from headrace.ops.stream import Stream
from headrace.ports import Secret

class Read:
    """The sources, by connector: `hr.read.<connector>(…)` returns a stream. `dir(hr.read)` lists the connectors."""

    def delta(
        self,
        path: str | os.PathLike[str],
        *,
        follow: bool = False,
        start: int | str | None = None,
        changes: bool = False,
        files_per_epoch: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Stream:
        """Reads the rows of a Delta table, and with `follow=True` those of later versions."""

    def files(
        self,
        path: str | os.PathLike[str],
        *,
        format: str,
        schema: Any = None,
        follow: bool = False,
        by: str = "name",
        files_per_epoch: int | None = None,
        malformed: str = "dead_letter",
        broken_files: str = "fail",
        options: Mapping[str, Any] | None = None,
        change_column: str | None = None,
        change_format: str | None = None,
        key: str | Sequence[str] | None = None,
        trusted: bool | None = None,
        name: str | None = None,
    ) -> Stream:
        """Reads the rows of JSON, CSV, Parquet, ORC or Avro files."""

    def iceberg(
        self,
        table: str,
        *,
        catalog: Mapping[str, Any],
        follow: bool = False,
        start: int | str | None = None,
        changes: bool = False,
        files_per_epoch: int | None = None,
        name: str | None = None,
    ) -> Stream:
        """Reads the rows of an Iceberg table, and with `follow=True` those of later snapshots."""

    def jdbc(
        self,
        url: str,
        table: str,
        *,
        by: str | None = None,
        follow: bool = False,
        updated: bool = False,
        settle: str = "1 second",
        schema: Any = None,
        user: str | None = None,
        password: Secret | None = None,
        options: Mapping[str, Any] | None = None,
        change_column: str | None = None,
        change_format: str | None = None,
        key: str | Sequence[str] | None = None,
        trusted: bool | None = None,
        name: str | None = None,
    ) -> Stream:
        """Reads a table or query of PostgreSQL, MariaDB or SQLite, and with `follow=True` rows that are added later."""

    def kafka(
        self,
        topics: str | Sequence[str] | None = None,
        *,
        servers: str | Sequence[str],
        pattern: str | None = None,
        value: str = "json",
        schema: Any = None,
        metadata: str | Sequence[str] | Mapping[str, str] = (),
        start: Any = "earliest",
        end: Any = None,
        rows_per_epoch: int | None = None,
        on_gap: str = "fail",
        tombstones: str = "dead_letter",
        group: str | None = None,
        security: Mapping[str, Any] | None = None,
        registry: str | Mapping[str, Any] | None = None,
        descriptor: str | None = None,
        message: str | None = None,
        malformed: str = "dead_letter",
        options: Mapping[str, str] | None = None,
        change_column: str | None = None,
        change_format: str | None = None,
        key: str | Sequence[str] | None = None,
        trusted: bool | None = None,
        name: str | None = None,
    ) -> Stream:
        """Reads the records of one Kafka topic, of several, or of all that match a pattern."""

    def memory(
        self,
        rows: Iterable[Any],
        schema: Any,
        *,
        change_column: str | None = None,
        change_format: str | None = None,
        key: str | Sequence[str] | None = None,
        trusted: bool | None = None,
        name: str | None = None,
    ) -> Stream:
        """Reads rows of this Python process, given as tuples or dicts."""

    def rate(
        self,
        rows_per_second: int,
        *,
        name: str | None = None,
    ) -> Stream:
        """Generates rows at a fixed rate by the clock, without end, to try things out."""

    def values(
        self,
        columns: Sequence[tuple[str, str]],
        rows: Sequence[Sequence[str]],
        *,
        name: str | None = None,
    ) -> Stream:
        """Reads constant rows that are part of the plan."""

    def hybrid(self, history: Stream, *, then: Stream, at: str | datetime | None = None) -> Stream:
        """Reads history to its end, and then live rows, as one source with one watermark. A restart goes on where the job was."""

    # A connector of another package.
    def __getattr__(self, connector: str) -> Callable[..., Stream]: ...

read: Read
