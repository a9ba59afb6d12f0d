"""Rewrites messages for the command line: arguments of Python become options."""

from __future__ import annotations

import re

from headrace.errors import HeadraceError

_OPTIONS = {
    r"--again \(again=True\)": "--again",
    r"\bfresh=True": "--fresh",
    r"\bstandby=True": "--standby",
    r"\bflush=False": "--no-flush",
    r"\bflush=True": "--flush",
    r"\b(checkpoint|every|partitions)=(?=[\w/<~]|\.+/)": r"--\1 ",
    r"\b(checkpoint|every|partitions)=": r"--\1",
    r"`(checkpoint|every|partitions)`(?= cannot be)": r"--\1",
    r"`metrics_port`(?= cannot be)": "--metrics-port",
}


def as_options(text: str) -> str:
    """Return a text with options in place of arguments.

    >>> as_options("start over with fresh=True, or go on with checkpoint=state")
    'start over with --fresh, or go on with --checkpoint state'
    """
    for argument, option in _OPTIONS.items():
        text = re.sub(argument, option, text)
    return text


def in_options(error: HeadraceError) -> HeadraceError:
    """Put options in place of arguments in an error's message and hint, and return it; the user's line stays unchanged."""
    error.message = as_options(error.message)
    error.hint = error.hint and as_options(error.hint)
    error.args = (error.code, error.message)
    for other in error.also:
        in_options(other)
    return error
