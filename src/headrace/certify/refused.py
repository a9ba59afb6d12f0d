"""Jobs that cannot be certified."""

from __future__ import annotations

from headrace.errors import HeadraceError


def refused(why: str, hint: str) -> HeadraceError:
    """Return the error for a job of which no copy can run, or whose runs cannot be compared."""
    return HeadraceError("CANNOT_CERTIFY", f"the job cannot be certified: {why}", hint=hint)
