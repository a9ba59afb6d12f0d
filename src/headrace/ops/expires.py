"""After how long without rows an operator of a query forgets a group, as users say it."""

from __future__ import annotations

from datetime import timedelta

from headrace.errors import PlanError, here
from headrace.schema import milliseconds, shown

Duration = str | timedelta | None


def expiry(expires: Duration, what: str) -> int | None:
    """The duration that a user gave, in milliseconds; `what` names it in an error."""
    if expires is None:
        return None
    after = milliseconds(expires, what)
    if after == 0:
        hint = 'say after how long: expires="7 days"; without it, state is kept'
        raise PlanError("BAD_EXPIRY", f"{what} is no time at all, so everything would be forgotten at once", hint=hint, site=here())
    return after


def expiring(expires_ms: int | None) -> str:
    """How an operator's line in explain ends."""
    return "" if expires_ms is None else f", expires after {shown(expires_ms)}"
