"""Ctrl-C and SIGTERM during a run: the first asks for a stop between two epochs, the second stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from headrace.interrupts import SIGNALS, interruption


class Signals:
    """Counts the requests to stop during the block; restores the old handlers after it.

    Handlers belong to the main thread. In another thread, as in a server, this does nothing, and the caller that started the run stops it.
    """

    def __init__(self) -> None:
        self.stop_requests = 0
        self.watched = False
        self._before: dict[signal.Signals, Any] = {}

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.stop_requests += 1
        # A watched run handles the first two itself; the third, for a run that hangs, is an ordinary interrupt. Before that the second is.
        if self.stop_requests > (2 if self.watched else 1):
            raise interruption(number)

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # None: the handler was not set from Python and could not be restored
                if signal.getsignal(number) is not None:
                    self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
