"""`python -m headrace` is the command `headrace`."""

from __future__ import annotations

import os
import signal
import sys

from headrace.interrupts import EXIT_CODE, SIGNALS, held, interrupted, interruptible


def main() -> int:
    """Run the command. Ctrl-C and SIGTERM end it without a traceback, even during its imports."""
    try:
        with interruptible():
            with held():
                # imported here, because it takes half a second
                from headrace.cli import main as command

            return command()
    except BaseException:
        if interrupted():
            return EXIT_CODE
        raise
    finally:
        # no traceback from an interruption of Python's shutdown either
        for number in SIGNALS:
            signal.signal(number, lambda *_: os._exit(EXIT_CODE))


if __name__ == "__main__":
    sys.exit(main())
