"""Refuses columns of PySpark, recognized without importing PySpark."""

from __future__ import annotations

import sys
from typing import Any

from headrace.errors import PlanError, here

_CURE = 'write hr.col("amount"), or a SQL string such as "amount > 3"; call a Spark function as hr.f.sum("amount")'


def is_of_pyspark(value: Any) -> bool:
    """Returns whether a value is a Column of PySpark, by its class: any attribute name is a field of it."""
    return any(kind.__name__ == "Column" and kind.__module__.partition(".")[0] == "pyspark" for kind in type(value).__mro__)


def refuse_pyspark(value: Any) -> None:
    """Refuses a Column of PySpark."""
    if is_of_pyspark(value):
        raise PlanError("BAD_COLUMN", f"{value!r} is a PySpark column, not a headrace column", hint=_CURE, site=here())


def refuse_mixing(shown: str) -> None:
    """Refuses to be an operand of PySpark, `F.col("amount") > hr.col("floor")`. Py4J would loop over the column, as it has items."""
    if sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] == "py4j":
        message = f"`{shown}` is a headrace column, but the other operand is a PySpark column"
        raise PlanError("BAD_COLUMN", message, hint=_CURE, site=here())
