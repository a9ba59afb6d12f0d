"""hr.collect and hr.show: the rows of a stream, by a run that leaves nothing behind."""

from __future__ import annotations

import sys
import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from headrace.analysis.boundedness import sources
from headrace.engine.live import endless
from headrace.engine.loading import refuse_while_loading
from headrace.engine.lost import lost, told
from headrace.engine.table import Table
from headrace.errors import HeadraceError, here
from headrace.ops.columns import label
from headrace.ops.sink import sink
from headrace.ops.stream import Stream
from headrace.plan import Plan
from headrace.plan.meaning import meaning
from headrace.ports import sink_class
from headrace.spark.compile.job import compile
from headrace.spark.run.signals import Signals
from headrace.spark.run.start import start


def collect(stream: Stream) -> Table:
    """All rows of a stream of bounded input, run to its end on a checkpoint that is thrown away.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1), ("b", 600)], "card string, amount int", name="charges")
    >>> hr.collect(charges.filter("amount > 500")).rows()
    [('b', 600)]

    Rows that fail are left out with a warning; `.dead_letters` of the table has them.
    """
    refuse_while_loading("hr.collect")
    return _collected(stream)


def _collected(stream: Stream) -> Table:
    """The rows, for whoever calls the one that calls this."""
    kept: Any = sink_class("memory")()
    endless = [label(source) for source in sources(stream._node) if not source.connect().traits.bounded]
    if endless:
        raise HeadraceError(
            "UNBOUNDED",
            f"{', '.join(endless)} has no end, so its rows cannot be collected",
            hint='run a job with a sink instead: hr.job("name", stream.write.files(...)).run()',
            site=here(),
        )
    plan = Plan.of("collect", [sink(stream._node, kept, None, None)], meaning())
    made = compile(plan)
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder, Signals() as signals:
        checkpoint = Path(folder, "checkpoint")
        run = start(made, checkpoint)
        summary = run.watch(lambda: None, signals)
        if summary is None or summary.stopped:
            raise KeyboardInterrupt
        letters = lost(summary, checkpoint)
        if letters:
            warnings.warn(told(letters, "hr.collect(...).dead_letters has them"), RuntimeWarning, stacklevel=3)
        return Table(kept.rows(), made.schemas.of[str(plan.sinks[0])], dead_letters=letters)


def show(stream: Stream, n: int = 20, *, epochs: int | None = None) -> None:
    """Print the first `n` rows of a stream of bounded input.

    One without an end is shown as it runs, in a terminal or under the cell of a notebook: until Ctrl-C or an interrupt, or until so many
    `epochs` are there.
    """
    refuse_while_loading("hr.show")
    if not endless(stream):
        print(_collected(stream).shown(n))
        return
    # The client stands above this package; it is loaded by name when first asked for.
    shown = import_module("headrace.client.notebook") if "IPython" in sys.modules else None
    if shown is not None and shown.running():
        shown.watch(stream, n, epochs)
    else:
        import_module("headrace.client.screen").watch(stream, epochs)
