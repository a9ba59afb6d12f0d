"""Numbers on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

MOST = 2**31 - 1


def whole(least: int = 0, most: int = MOST) -> Callable[[str], int]:
    """Return a parser of whole numbers within these bounds.

    >>> whole(1)("7")
    7
    >>> whole(1)("0")
    Traceback (most recent call last):
    ...
    argparse.ArgumentTypeError: 0 is not a whole number of at least 1
    """
    bounds = f"of at least {least:,}" if most == MOST else f"from {least:,} to {most:,}"

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20 else least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text} is not a whole number {bounds}")
        return number

    return read
