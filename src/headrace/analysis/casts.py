"""Warnings about strings that Spark casts implicitly: each row whose string does not parse fails."""

from __future__ import annotations

import warnings
from typing import Any

from headrace.analysis.schemas import Schemas
from headrace.plan import DisplayNames, Plan

# Shared by all jobs, so that a line used by several of them warns once.
_reported: dict[Any, Any] = {}


def warn_of_casts(plan: Plan, schemas: Schemas) -> None:
    """Warn at the lines whose strings Spark casts."""
    shown = DisplayNames.of(plan)
    for cast in schemas.casts:
        file, line = (cast.site.file, cast.site.line) if cast.site else ("headrace", 0)
        warnings.warn_explicit(f"{shown(cast.node)}: {cast.message}", UserWarning, file, line, registry=_reported)
