"""The kinds of databases."""

from __future__ import annotations

from pathlib import Path

from headrace.connectors.jdbc.address import Address
from headrace.connectors.jdbc.dialect import Dialect
from headrace.connectors.jdbc.mariadb import MariaDb
from headrace.connectors.jdbc.postgresql import PostgreSql
from headrace.connectors.jdbc.sqlite import Sqlite
from headrace.ports import Packages

DIALECTS: dict[str, Dialect] = {"postgresql": PostgreSql(), "mariadb": MariaDb(), "sqlite": Sqlite()}

NEEDS = Packages(jars=tuple(dialect.jar for dialect in DIALECTS.values()), scala=Path(__file__).parent / "scala", name="jdbc")
"""All drivers, since this connector's Scala is compiled once for all of them."""
PACKAGES = (NEEDS,)


def dialect_of(address: Address) -> Dialect:
    """The dialect of the database at an address."""
    return DIALECTS[address.kind]
