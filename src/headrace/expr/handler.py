"""What columns know of the handler of a state program in which they are used."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.expr.column import Column

in_handler: ContextVar[bool] = ContextVar("headrace_in_handler", default=False)
"""True while a handler is traced: `str` of a column would then be called once, for all rows."""

shown_as: ContextVar[Callable[[Column], str | None] | None] = ContextVar("headrace_shown_as", default=None)
"""Gives the value of a column where it has one: in a handler that is run once more for one row."""


def equal_to(column: Column) -> str:
    """Returns the end of a column's text with its value; empty if it has none."""
    show = shown_as.get()
    value = None if show is None else show(column)
    return "" if value is None else f" = {value}"
