"""Ctrl-C and SIGTERM while no run watches for them: a KeyboardInterrupt, which ends a program with exit code 130 and no traceback."""

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
    """What a signal raises. At a prompt of Python that is a plain KeyboardInterrupt, since the prompt is not to end."""
    return KeyboardInterrupt() if interactive() else Interrupted(number)


def terminated(stop: KeyboardInterrupt) -> bool:
    """Whether SIGTERM raised it, which ends a prompt of ours, too."""
    return isinstance(stop, Interrupted) and stop.number == signal.SIGTERM


def interactive() -> bool:
    """Whether a person types statements into this process, at a prompt of Python or into a notebook."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGINT and SIGTERM raise an interruption while the block runs. A handler of the program's own stays, an ignored signal is ignored.

    Handlers belong to the main thread. In another thread this does nothing.
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
    """An interruption that comes while the block runs is raised at its end. In an import Python would make another error of it."""
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
    """Whether an interruption was raised in this process: whatever error a command ends with after that may come of it."""
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
