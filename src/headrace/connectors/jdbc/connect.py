"""What the source and the sink share: options of a driver, and what a refusal becomes for a user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headrace.connectors.jdbc.address import Address, is_secret
from headrace.connectors.jdbc.database import Problem
from headrace.connectors.jdbc.kinds import dialect_of
from headrace.errors import ConnectorError, HeadraceError
from headrace.ports.options import texts, wrong


def driver_options(verb: str, options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options for a driver, as texts."""
    given = texts(verb, "options", options or {})
    for name in given:
        if is_secret(name) or re.fullmatch(r"user(name)?", name, re.IGNORECASE):
            raise wrong(f"{verb}: `{name}` cannot be among the options", 'user= and password=hr.secret("DB_PASSWORD") say who connects')
    return given


def told(problem: Problem, address: Address) -> HeadraceError:
    """What a database refused, where nothing was being written."""
    return dialect_of(address).why(problem, address) or ConnectorError(
        "DATABASE_REFUSED",
        f"{address} refuses: {problem.message}",
        hint="the statement is headrace's own, about the table or query that was named",
    )
