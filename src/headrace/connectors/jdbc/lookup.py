"""Rows of tables of databases, to be looked up in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import headrace.ports as ports
from headrace.connectors.jdbc.address import address_of, table_of
from headrace.connectors.jdbc.connect import driver_options
from headrace.connectors.jdbc.kinds import NEEDS, dialect_of
from headrace.ports.secrets import Secret, secret_of
from headrace.schema import Struct, schema_of

VERB = "lookup.jdbc"


class Lookup(ports.Lookup):
    """Rows of a table of PostgreSQL, MariaDB or SQLite, or of a query that begins with SELECT or WITH.

    `schema` names the columns that are wanted, and their types; those that rows are looked up by should have an index. A request asks for
    many keys at once, `WHERE id IN (?, ...)`. What the database cannot compare with its column makes the row that asked a dead letter.

    >>> import headrace as hr
    >>> hr.lookup.jdbc("postgresql://db/shop", "customers", "id bigint, name string", user="app", password=hr.secret("DB_PASSWORD"))
    <Table customers: id, name>
    """

    connector: ClassVar[str] = "jdbc"

    def __init__(
        self,
        url: str,
        table: str,
        schema: Any,
        *,
        user: str | None = None,
        password: Secret | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.url = url
        self.address = address_of(VERB, url)
        self.table = table
        self.query = isinstance(table, str) and re.match(r"\s*(select|with)\s", table, re.IGNORECASE) is not None
        self.place = () if self.query else table_of(VERB, table)
        self.schema = schema_of(schema)
        self.user = user or self.address.user
        self.password = secret_of(VERB, "password", password)
        self.driver_options = driver_options(VERB, options)

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=False, why="rows of a database may change at any time")

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return "query" if self.query else self.place[-1]

    def options(self) -> dict[str, Any]:
        given = {
            "url": self.url,
            "table": self.table,
            "user": self.user,
            "password": self.password and self.password.to_json(),
            "options": dict(sorted(self.driver_options.items())),
        }
        return {name: value for name, value in given.items() if value not in (None, {})}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Lookup:
        return cls(schema=schema, **options)

    def describe(self) -> str:
        what = "query" if self.query else f"table {'.'.join(self.place)}"
        return f"{what} of {self.address}"

    def ask(self, context: ports.LookupContext) -> dict[str, Any]:
        dialect = dialect_of(self.address)
        password = self.password.read() if self.password is not None else None
        properties = {**dialect.properties(self.user, password, 30), **self.driver_options}
        options = {
            "driver": dialect.driver,
            "url": self.address.jdbc,
            "from": f"({self.table.rstrip().rstrip(';')}) {dialect.quote('q')}" if self.query else dialect.quote(*self.place),
            "quote": dialect.ticks,
            "zoned": str(dialect.zoned).lower(),
            **{f"property.{name}": value for name, value in properties.items()},
        }
        return {"class": "headrace.jdbc.JdbcLookup", "options": options}
