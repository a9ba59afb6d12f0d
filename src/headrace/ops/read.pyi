# Written by tools/stubs.py from the connectors that come with headrace; a test compares.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headrace.ops.stream import Stream
from headrace.ports import Secret

class Read:
    """The sources: `hr.read.<connector>(..., name=None)`; `dir(hr.read)` lists them."""

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
        """The rows of a Delta table, and with `follow=True` those of later versions."""

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
        """Rows of files: a path is a file, folder or pattern, `format` "json" (one object per line), "csv", "parquet", "orc" or "avro"."""

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
        """The rows of an Iceberg table, and with `follow=True` those of later snapshots."""

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
        """Rows of a table of PostgreSQL, MariaDB or SQLite, or of a query that begins with SELECT or WITH."""

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
        """Records of one topic, of several, or of those that match a `pattern`; topics and partitions may be added while the job runs."""

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
        """Rows given as tuples or dicts. Timestamps without a zone, and timestamps given as text, are in the job's time zone."""

    def rate(
        self,
        rows_per_second: int,
        *,
        name: str | None = None,
    ) -> Stream:
        """Rows generated at a fixed rate, without end: `timestamp` and `value`, which counts from 0."""

    def values(
        self,
        columns: Sequence[tuple[str, str]],
        rows: Sequence[Sequence[str]],
        *,
        name: str | None = None,
    ) -> Stream:
        """Constant rows: columns as pairs of name and type, and the rows' values as texts of Spark SQL."""

    # A connector of another package.
    def __getattr__(self, connector: str) -> Callable[..., Stream]: ...

read: Read
