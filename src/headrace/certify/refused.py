"""Jobs that cannot be certified."""

from __future__ import annotations

from headrace.errors import HeadraceError


def refused(why: str, hint: str) -> HeadraceError:
    """No copy of the job can be run, or none can be compared with another."""
    return HeadraceError("CANNOT_CERTIFY", f"the job cannot be certified: {why}", hint=hint)
