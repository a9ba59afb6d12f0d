"""Arguments of columns that have to be strings."""

from __future__ import annotations

from typing import Any

from headrace.errors import PlanError, here
from headrace.expr.pyspark_column import refuse_pyspark


def text_argument(value: Any, expected: str, example: str) -> str:
    """Returns an argument that has to be a string."""
    refuse_pyspark(value)
    if not isinstance(value, str):
        raise PlanError("BAD_COLUMN", f"{expected}, got {value!r}", hint=f"write {example}", site=here())
    return value


def alias_text(name: Any) -> str:
    """Returns the name that an expression is given."""
    return text_argument(name, "alias expects a name", 'hr.f.sum("amount").alias("spent")')
