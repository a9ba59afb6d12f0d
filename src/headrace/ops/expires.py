"""After how long without rows an operator of a query forgets a group, as users say it."""

from __future__ import annotations

from datetime import timedelta

from headrace.errors import PlanError, here
from headrace.schema import milliseconds, shown

Duration = str | timedelta | None


def expiry(expires: Duration, verb: str) -> int | None:
    """The duration that a verb was given, in milliseconds."""
    if expires is None:
        return None
    after = milliseconds(expires, f"the time of {verb}")
    if after == 0:
        hint = 'say after how long: expires="7 days"; without it, state is kept'
        raise PlanError("BAD_EXPIRY", f"{verb} would forget everything at once", hint=hint, site=here())
    return after


def expiring(expires_ms: int | None) -> str:
    """How an operator's line in explain ends."""
    return "" if expires_ms is None else f", expires after {shown(expires_ms)}"
