"""Numbers of Python that a declared type would cut."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from headrace.errors import PlanError, here

_WHOLE = ("tinyint", "smallint", "int", "bigint")


def refuse_fraction(what: str, type: str, value: Any) -> None:
    """Refuse a number with digits behind the point where whole numbers are kept. Columns are for Spark to look at.

    >>> refuse_fraction("the cell `n`", "int", 2.0), refuse_fraction("the cell `n`", "double", 2.5)
    (None, None)
    """
    if type in _WHOLE and isinstance(value, float | Decimal) and math.isfinite(value) and value != math.trunc(value):
        raise PlanError(
            "WRONG_TYPE",
            f"{what} holds {type}, and {value} would be cut to {math.trunc(value)}",
            hint=f"give a whole number, or the type that holds it: double, or decimal(10,2) instead of {type}",
            site=here(),
        )
