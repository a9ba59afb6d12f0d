"""`python -m headrace` is the command `headrace`."""

from __future__ import annotations

import os
import signal
import sys

from headrace.interrupts import EXIT_CODE, SIGNALS, held, interrupted, interruptible


def main() -> int:
    """The command, which Ctrl-C and SIGTERM end quietly from its first import on."""
    try:
        with interruptible():
            with held():
                # here, not above: it takes half a second
                from headrace.cli import main as command

            return command()
    except BaseException:
        if interrupted():
            return EXIT_CODE
        raise
    finally:
        # what Python does at its end is not interrupted with a traceback either
        for number in SIGNALS:
            signal.signal(number, lambda *_: os._exit(EXIT_CODE))


if __name__ == "__main__":
    sys.exit(main())
