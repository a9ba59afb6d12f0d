"""Errors as the command line tells them: what is an argument in Python is an option here."""

from __future__ import annotations

import re

from headrace.errors import HeadraceError

_OPTIONS = {
    r"--again \(again=True\)": "--again",
    r"\bfresh=True": "--fresh",
    r"\bstandby=True": "--standby",
    r"\bflush=False": "--no-flush",
    r"\bflush=True": "--flush",
    r"\b(checkpoint|every|partitions)=(?=[\w/<])": r"--\1 ",
    r"\b(checkpoint|every|partitions)=": r"--\1",
}


def in_options(error: HeadraceError) -> HeadraceError:
    """The same error, with options in place of arguments in what it says itself; a line of the user's stays as it is."""
    for argument, option in _OPTIONS.items():
        error.message = re.sub(argument, option, error.message)
        error.hint = error.hint and re.sub(argument, option, error.hint)
    error.args = (error.code, error.message)
    for other in error.also:
        in_options(other)
    return error
