"""Columns of PySpark where columns of headrace are meant, recognised without importing PySpark."""

from __future__ import annotations

import sys
from typing import Any

from headrace.errors import PlanError, here

_CURE = 'write hr.col("amount"), or a SQL string such as "amount > 3"; call a Spark function as hr.f.sum("amount")'


def is_of_pyspark(value: Any) -> bool:
    """Whether a value is a Column of PySpark. Its attributes say nothing: it has every name, as a field."""
    return any(kind.__name__ == "Column" and kind.__module__.partition(".")[0] == "pyspark" for kind in type(value).__mro__)


def refuse_pyspark(value: Any) -> None:
    """Refuse a Column of PySpark."""
    if is_of_pyspark(value):
        raise PlanError("BAD_COLUMN", f"{value!r} is a PySpark column, not a headrace column", hint=_CURE, site=here())


def refuse_mixing(shown: str) -> None:
    """Refuse to be an operand of PySpark, `F.col("amount") > hr.col("floor")`: Py4J takes what has items for a list, and loops over it."""
    if sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] == "py4j":
        message = f"`{shown}` is a headrace column, but the other operand is a PySpark column"
        raise PlanError("BAD_COLUMN", message, hint=_CURE, site=here())
