"""Tables of databases to look up rows in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import headrace.ports as ports
from headrace.connectors.jdbc import connect
from headrace.connectors.jdbc.address import address_of, table_of
from headrace.connectors.jdbc.kinds import NEEDS, dialect_of
from headrace.ports import option
from headrace.ports.secrets import Secret
from headrace.schema import Struct


class Lookup(ports.Options, ports.Lookup):
    """Looks up rows in a table or query of PostgreSQL, MariaDB or SQLite.

    A request is one statement for many keys: create an index on the key columns. Rows of a database may change, so sinks downstream are at
    least once, unless the table is `constant`. Keys of one epoch may be read from different states of the table. A row whose key the
    database cannot accept becomes a dead letter. A broken connection is reopened for as long as `retry`; then the epoch fails
    (`LOOKUP_FAILED`).

    Examples:
        >>> import headrace as hr
        >>> hr.lookup.jdbc("postgresql://db/shop", "customers", "id bigint, name string", user="app", password=hr.secret("DB_PASSWORD"))
        <Table customers: id, name>
    """

    connector: ClassVar[str] = "jdbc"

    url: str = option.option("the address of the database, without a password", connect.url_of, takes=str, kw_only=False)
    table: str = option.option("a table, or a query that begins with `SELECT` or `WITH`", connect.rows_of, takes=str, kw_only=False)
    schema: Struct = option.schema("the columns to return, with the types to return them in", kw_only=False)
    user: str | None = option.plain("the user name, unless the address contains it", default=None)
    password: Secret | None = option.secret('a secret, given by name: `hr.secret("DB_PASSWORD")`', default=None)
    driver_options: dict[str, str] = option.option(
        "options of the JDBC driver", connect.driver_options, takes=Mapping[str, Any], alias="options", default=None, empty=dict
    )

    def __post_init__(self) -> None:
        self.address = address_of(self.verb, self.url)
        self.query = connect.is_query(self.table)
        self.place = () if self.query else table_of(self.verb, self.table)
        self.user = self.user or self.address.user

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=False, why="rows of a database may change at any time")

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return "query" if self.query else self.place[-1]

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
