"""Casts of texts that nobody wrote: they are Spark's answer, and worth a word, as each row with another text fails."""

from __future__ import annotations

import warnings
from typing import Any

from headrace.analysis.schemas import Schemas
from headrace.plan import DisplayNames, Plan

# Several jobs may have a line in common, which warns once, as with any warning.
_told: dict[Any, Any] = {}


def warn_of_casts(plan: Plan, schemas: Schemas) -> None:
    """Warn at the lines whose texts Spark casts."""
    shown = DisplayNames.of(plan)
    for cast in schemas.casts:
        file, line = (cast.site.file, cast.site.line) if cast.site else ("headrace", 0)
        warnings.warn_explicit(f"{shown(cast.node)}: {cast.message}", UserWarning, file, line, registry=_told)
