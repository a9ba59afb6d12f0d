# Written by tools/stubs.py from the connectors that come with headrace; a test compares.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from headrace.ops.asking import Asking
from headrace.ports import Lookup
from headrace.ports.secrets import Secret

class Table:
    """A table outside, to be looked up in: `stream.lookup(table, on="customer")`."""

    connected: Lookup
    name: str
    constant: bool
    asking: Asking
    def __init__(
        self,
        connected: Lookup,
        name: str,
        constant: bool = ...,
        asking: Asking = ...,
    ) -> None: ...
    @property
    def columns(self) -> tuple[str, ...]: ...

class Tables:
    """The tables: `hr.lookup.<connector>(..., name=None, constant=False)`; `dir(hr.lookup)` lists them."""

    def delta(
        self,
        path: str | os.PathLike[str],
        *,
        schema: Any = None,
        version: int | None = None,
        refresh: str | timedelta | None = None,
        storage_options: Mapping[str, Any] | None = None,
        name: str | None = None,
        constant: bool = False,
        cache: str | timedelta | None = None,
        cache_keys: int | None = None,
        batch: int | None = None,
        in_flight: int | None = None,
        retry: str | timedelta | None = None,
    ) -> Table:
        """Rows of a Delta table, kept in the memory of each executor."""

    def files(
        self,
        path: str | os.PathLike[str],
        *,
        format: str,
        schema: Any,
        refresh: str | timedelta | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        constant: bool = False,
        cache: str | timedelta | None = None,
        cache_keys: int | None = None,
        batch: int | None = None,
        in_flight: int | None = None,
        retry: str | timedelta | None = None,
    ) -> Table:
        """Rows of a file, a folder or a pattern, kept in the memory of each executor."""

    def http(
        self,
        url: str,
        schema: Any,
        *,
        method: str = "GET",
        key: str | Sequence[str] | None = None,
        at: str | None = None,
        headers: Mapping[str, str | Secret] | None = None,
        token: Secret | None = None,
        timeout: str | timedelta = "10 seconds",
        ca: str | None = None,
        name: str | None = None,
        constant: bool = False,
        cache: str | timedelta | None = None,
        cache_keys: int | None = None,
        batch: int | None = None,
        in_flight: int | None = None,
        retry: str | timedelta | None = None,
    ) -> Table:
        """Rows that an HTTP service returns as JSON: one object, or a list of objects."""

    def jdbc(
        self,
        url: str,
        table: str,
        schema: Any,
        *,
        user: str | None = None,
        password: Secret | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        constant: bool = False,
        cache: str | timedelta | None = None,
        cache_keys: int | None = None,
        batch: int | None = None,
        in_flight: int | None = None,
        retry: str | timedelta | None = None,
    ) -> Table:
        """Rows of a table of PostgreSQL, MariaDB or SQLite, or of a query that begins with SELECT or WITH."""

    def memory(
        self,
        rows: Iterable[Any],
        schema: Any,
        *,
        name: str | None = None,
        constant: bool = False,
        cache: str | timedelta | None = None,
        cache_keys: int | None = None,
        batch: int | None = None,
        in_flight: int | None = None,
        retry: str | timedelta | None = None,
    ) -> Table:
        """Rows given as tuples or dicts, to look up in. Timestamps without a zone, and timestamps given as text, are in the job's time zone."""

    def redis(
        self,
        url: str,
        schema: Any,
        *,
        key: str | Sequence[str],
        prefix: str = "",
        value: str = "json",
        user: str | None = None,
        password: Secret | None = None,
        ca: str | None = None,
        name: str | None = None,
        constant: bool = False,
        cache: str | timedelta | None = None,
        cache_keys: int | None = None,
        batch: int | None = None,
        in_flight: int | None = None,
        retry: str | timedelta | None = None,
    ) -> Table:
        """Rows stored under keys of Redis: `prefix` and the values of the `key` columns, as `.write.redis` writes them."""

    # A connector of another package.
    def __getattr__(self, connector: str) -> Callable[..., Table]: ...

lookup: Tables

def table_of(given: Any) -> Table: ...
