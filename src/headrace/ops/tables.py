"""hr.lookup: external tables by the names of their connectors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NoReturn

from headrace.errors import PlanError, here
from headrace.ops.asking import UNSAID, Asking, asking, checked
from headrace.ops.signatures import described, names
from headrace.ops.source import clean
from headrace.plan.naming import valid_name
from headrace.ports import Lookup, lookup_class
from headrace.ports.options import build, flag
from headrace.ports.registry import names_with, unnamed


class Table:
    """An external table, to look rows up in: `stream.lookup(table, on="customer")`.

    >>> import headrace as hr
    >>> hr.lookup.files("customers.csv", format="csv", schema="customer string, country string")
    <Table customers: customer, country>
    """

    __slots__ = ("asking", "connected", "constant", "name")

    def __init__(self, connected: Lookup, name: str, constant: bool = False, asking: Asking = UNSAID) -> None:
        self.connected = connected
        self.name = name
        self.constant = constant
        self.asking = checked(name, connected, asking)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {', '.join(self.columns)}>"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.connected.schema.names


class Tables:
    """The external tables, by connector: `hr.lookup.<connector>(…)` returns a table. `dir(hr.lookup)` lists the connectors.

    `name` names the table in plans and metrics. `constant=True` declares that the table never changes: a repeated epoch then finds the same
    rows, so sinks downstream keep their guarantee. headrace does not verify this.

    `cache`, `cache_keys`, `batch`, `in_flight` and `retry` are the defaults of [`Stream.lookup`](streams.md#Stream.lookup) for a table that
    is read by key: `http`, `jdbc` and `redis`. `delta`, `files` and `memory` are loaded as a whole: `cache` raises `BAD_LOOKUP`, `retry` is
    how long a failed load is repeated, and the others have no effect.

    Examples:
        >>> import headrace as hr
        >>> hr.lookup.memory([("a", "SE")], "customer string, country string", name="customers")
        <Table customers: customer, country>
    """

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return list(names_with("Lookup"))

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise unnamed("Lookup")

    def __getattr__(self, connector: str) -> Callable[..., Table]:
        if connector.startswith("_"):
            raise AttributeError(connector)
        cls = lookup_class(connector)

        def table(
            *arguments: Any,
            name: str | None = None,
            constant: bool = False,
            cache: str | timedelta | None = None,
            cache_keys: int | None = None,
            batch: int | None = None,
            in_flight: int | None = None,
            retry: str | timedelta | None = None,
            **options: Any,
        ) -> Table:
            connected = build(cls, f"lookup.{connector}", arguments, options, names(cls, "Lookup"))
            called = name if name is not None else clean(connected.default_name)
            settings = asking(cache, cache_keys, batch, in_flight, retry)
            return Table(connected, valid_name(called), flag(f"lookup.{connector}", "constant", constant), settings)

        described(table, connector, cls, "Lookup", Table)
        return table


lookup = Tables()


def table_of(table: Any) -> Table:
    """The argument of a verb, if it is a table."""
    if isinstance(table, Table):
        return table
    hint = 'orders.lookup(hr.lookup.redis("redis://localhost", ...), on="customer"); to combine two streams use join or join_asof'
    raise PlanError("BAD_INPUT", f"lookup expects a table of hr.lookup, got {table!r}", hint=hint, site=here())
