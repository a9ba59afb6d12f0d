"""The place of a table, and the errors for a missing or unreadable one."""

from __future__ import annotations

from typing import Protocol

from headrace.errors import ConnectorError, here


class Place(Protocol):
    """A table by the path or name that a user gave."""

    @property
    def name(self) -> str: ...


def missing(message: str, hint: str = "a sink creates the table when its job starts; a source needs an existing one") -> ConnectorError:
    return ConnectorError("TABLE_MISSING", message, hint=hint, site=here())


def unreadable(place: Place, problem: Exception, hint: str) -> ConnectorError:
    first = str(problem).strip().splitlines() or [type(problem).__name__]
    return ConnectorError("TABLE_UNREADABLE", f"the table {place.name} cannot be opened: {first[0]}", hint=hint, site=here(), cause=problem)
