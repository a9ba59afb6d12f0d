"""hr.show: prints the rows of a stream."""

from __future__ import annotations

import sys

from headrace.client import screen
from headrace.engine.collect import collected, refuse_no_stream
from headrace.engine.live import endless
from headrace.engine.loading import refuse_while_loading
from headrace.ops.stream import Stream


def show(stream: Stream, n: int = 20, *, epochs: int | None = None) -> None:
    """Prints the first rows of a stream of bounded input. An unbounded stream is shown as it runs.

    An unbounded stream runs until Ctrl-C, `q` or an interrupt of the notebook. A terminal shows as many rows as fit. Rows that fail are
    left out, with a warning.

    Args:
        stream: The stream to run.
        n: The number of rows.
        epochs: The number of epochs after which an unbounded stream ends. Default: no limit.

    Raises:
        PlanError: `BAD_INPUT` for an argument that is not a stream.
        ConfigError: `RUN_WHILE_LOADING` while `hr.load` loads the file.
        HeadraceError: As for `hr.job` and `Job.run`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("b", 900)], "card string, amount int", name="charges")
        >>> hr.show(charges.filter("amount > 500"))
        card  amount
        ----  ------
        b     900
        (1 row)
    """
    refuse_while_loading("hr.show")
    refuse_no_stream(stream, "hr.show")
    if not endless(stream):
        print(collected(stream).shown(n))
        return
    if "IPython" in sys.modules:
        from headrace.client import notebook

        if notebook.running():
            notebook.watch(stream, n, epochs)
            return
    screen.watch(stream, epochs)
