"""hr.show: the rows of a stream, printed."""

from __future__ import annotations

import sys

from headrace.client import screen
from headrace.engine.collect import collected
from headrace.engine.live import endless
from headrace.engine.loading import refuse_while_loading
from headrace.ops.stream import Stream


def show(stream: Stream, n: int = 20, *, epochs: int | None = None) -> None:
    """Print the first `n` rows of a stream of bounded input.

    One without an end is shown as it runs, in a terminal or under the cell of a notebook: until Ctrl-C or an interrupt, or until so many
    `epochs` are there.
    """
    refuse_while_loading("hr.show")
    if not endless(stream):
        print(collected(stream).shown(n))
        return
    if "IPython" in sys.modules:
        from headrace.client import notebook

        if notebook.running():
            notebook.watch(stream, n, epochs)
            return
    screen.watch(stream, epochs)
