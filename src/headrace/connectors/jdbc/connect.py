"""Common parts of the source, the sink and the lookup: their connection options, and the error for a refusal."""

from __future__ import annotations

import re
from typing import Any

from headrace.connectors.jdbc.address import Address, address_of, is_secret, table_of
from headrace.connectors.jdbc.database import Problem
from headrace.connectors.jdbc.kinds import dialect_of
from headrace.errors import ConnectorError, HeadraceError
from headrace.ports.options import texts, wrong


def is_query(table: str) -> bool:
    """Whether a table option is a query."""
    return re.match(r"\s*(select|with)\s", table, re.IGNORECASE) is not None


def url_of(verb: str, _: str, url: Any) -> str:
    """The address of a database, as the user spells it."""
    address_of(verb, url)
    return str(url)


def rows_of(verb: str, _: str, table: Any) -> str:
    """A table or a query, as the user spells it."""
    if not isinstance(table, str) or not is_query(table):
        table_of(verb, table)
    return str(table)


def driver_options(verb: str, _: str, options: Any) -> dict[str, str]:
    """Options for a driver, as texts."""
    properties = texts(verb, "options", options or {})
    for name in properties:
        if is_secret(name) or re.fullmatch(r"user(name)?", name, re.IGNORECASE):
            raise wrong(f"{verb}: `{name}` cannot be set in options", 'use user= and password=hr.secret("DB_PASSWORD")')
    return properties


def refusal(problem: Problem, address: Address) -> HeadraceError:
    """The error for a refusal by the database, outside of writing."""
    return dialect_of(address).why(problem, address) or ConnectorError(
        "DATABASE_REFUSED",
        f"{address} rejected the request: {problem.message}",
        hint="check the table or query: headrace created the statement from it",
    )
