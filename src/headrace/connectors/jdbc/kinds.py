"""The kinds of databases."""

from __future__ import annotations

from headrace.connectors.jdbc.address import Address
from headrace.connectors.jdbc.dialect import Dialect
from headrace.connectors.jdbc.mariadb import MariaDb
from headrace.connectors.jdbc.postgresql import PostgreSql
from headrace.connectors.jdbc.sqlite import Sqlite

DIALECTS: dict[str, Dialect] = {"postgresql": PostgreSql(), "mariadb": MariaDb(), "sqlite": Sqlite()}


def dialect_of(address: Address) -> Dialect:
    """How to speak to the database at an address."""
    return DIALECTS[address.kind]
