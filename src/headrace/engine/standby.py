"""What a standby prints while it waits for the checkpoint."""

from __future__ import annotations

import sys
from collections.abc import Callable

from headrace.interrupts import interruption


def standing_by(job: str, stopped: Callable[[], bool]) -> Callable[[str], None]:
    """Return the callback of a waiting standby: it prints each reason to wait once, and raises an interruption when `stopped`."""
    shown: set[str] = set()

    def waits(text: str) -> None:
        if stopped():
            raise interruption()
        if text not in shown:
            shown.add(text)
            print(f"{job}: {text}", file=sys.stderr, flush=True)

    return waits
