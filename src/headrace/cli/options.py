"""What the command line tells: what is an argument in Python is an option here."""

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
}


def told(text: str) -> str:
    """A text with options in place of arguments.

    >>> told("start over with fresh=True, or go on with checkpoint=state")
    'start over with --fresh, or go on with --checkpoint state'
    """
    for argument, option in _OPTIONS.items():
        text = re.sub(argument, option, text)
    return text


def in_options(error: HeadraceError) -> HeadraceError:
    """The same error, with options in place of arguments in what it says itself; a line of the user's stays as it is."""
    error.message = told(error.message)
    error.hint = error.hint and told(error.hint)
    error.args = (error.code, error.message)
    for other in error.also:
        in_options(other)
    return error
