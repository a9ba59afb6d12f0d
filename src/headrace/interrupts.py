"""Ctrl-C and SIGTERM outside a run: a KeyboardInterrupt that ends a program with exit code 130 and no traceback."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

EXIT_CODE = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM)

_held = 0
_waiting: int | None = None
_raised = False


class Interrupted(KeyboardInterrupt, SystemExit):
    """Ctrl-C or SIGTERM. `except KeyboardInterrupt` catches it. Uncaught, it ends the program with exit code 130 and no traceback.

    >>> Interrupted(signal.SIGTERM).code
    130
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.code = EXIT_CODE


def interruption(number: int = signal.SIGINT) -> KeyboardInterrupt:
    """Return the exception of a signal. At a Python prompt it is a plain KeyboardInterrupt, which does not end the prompt."""
    return KeyboardInterrupt() if interactive() else Interrupted(number)


def terminated(stop: KeyboardInterrupt) -> bool:
    """Return whether SIGTERM raised an exception; SIGTERM also ends the prompt of `headrace sql`."""
    return isinstance(stop, Interrupted) and stop.number == signal.SIGTERM


def interactive() -> bool:
    """Return whether a person types statements into this process, at a Python prompt or in a notebook."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise an interruption for SIGINT and SIGTERM while the block runs. The program's own handlers and ignored signals stay.

    Signal handlers belong to the main thread; in another thread this does nothing.
    """
    before: dict[signal.Signals, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number, default in zip(SIGNALS, (signal.default_int_handler, signal.SIG_DFL), strict=True):
                if signal.getsignal(number) is default:
                    before[number] = signal.signal(number, _interrupt)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Delay an interruption to the end of the block. During an import, Python would turn it into another error."""
    global _held, _waiting
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        if _waiting is not None and not _held:
            number, _waiting = _waiting, None
            _raise(number)


def interrupted() -> bool:
    """Return whether an interruption was raised in this process: it may be the cause of any later error."""
    return _raised


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _waiting
    if _held:
        _waiting = number
    else:
        _raise(number)


def _raise(number: int) -> NoReturn:
    global _raised
    _raised = True
    raise interruption(number)
