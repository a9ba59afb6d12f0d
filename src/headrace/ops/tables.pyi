# Written by tools/stubs.py from the connectors that come with headrace; a test compares.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from headrace.ops.asking import Asking
from headrace.ports import Lookup
from headrace.ports.secrets import Secret

class Table:
    """An external table, to look rows up in: `stream.lookup(table, on="customer")`."""

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
    """The external tables, by connector: `hr.lookup.<connector>(…)` returns a table. `dir(hr.lookup)` lists the connectors."""

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
        """Looks up rows in a Delta table, which each executor keeps in memory."""

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
        """Looks up rows of a file, a folder or a pattern, which each executor keeps in memory."""

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
        """Looks up rows in an HTTP service that returns JSON: one object, or a list of objects."""

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
        """Looks up rows in a table or query of PostgreSQL, MariaDB or SQLite."""

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
        """Looks up rows of this Python process, given as tuples or dicts, which each executor keeps in memory."""

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
        """Looks up rows that are stored under keys of Redis, as `.write.redis` writes them."""

    # A connector of another package.
    def __getattr__(self, connector: str) -> Callable[..., Table]: ...

lookup: Tables

def table_of(given: Any) -> Table: ...
