"""The time without rows after which a query operator forgets a group, as users give it."""

from __future__ import annotations

from datetime import timedelta

from headrace.errors import PlanError, here
from headrace.schema import milliseconds, shown

Duration = str | timedelta | None


def expiry(expires: Duration, what: str) -> int | None:
    """Return a user's duration in milliseconds; `what` names it in an error."""
    if expires is None:
        return None
    after = milliseconds(expires, what)
    if after == 0:
        hint = 'set a duration: expires="7 days"; without it, state is kept'
        raise PlanError("BAD_EXPIRY", f"{what} is zero, so everything would be forgotten at once", hint=hint, site=here())
    return after


def expiring(expires_ms: int | None) -> str:
    """Return the end of an operator's line in explain."""
    return "" if expires_ms is None else f", expires after {shown(expires_ms)}"
