"""hr.collect: the rows of a stream, by a run on a temporary checkpoint."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

from headrace.analysis.boundedness import sources
from headrace.engine.loading import refuse_while_loading
from headrace.engine.lost import loss_text, lost
from headrace.engine.table import Table
from headrace.errors import HeadraceError, here
from headrace.interrupts import interruptible, interruption
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
    """Runs a stream of bounded input to its end and returns its rows. The checkpoint is temporary.

    Rows that fail are left out, with a warning; they are in `dead_letters` of the table. For a stream of changes the rows are the net
    contents.

    Args:
        stream: The stream to run.

    Raises:
        PlanError: `UNBOUNDED` if a source has no end; `BAD_INPUT` for an argument that is not a stream.
        ConfigError: `RUN_WHILE_LOADING` while `hr.load` loads the file.
        HeadraceError: As for `hr.job` and `Job.run`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1), ("b", 600)], "card string, amount int", name="charges")
        >>> hr.collect(charges.filter("amount > 500")).rows()
        [('b', 600)]
    """
    refuse_while_loading("hr.collect")
    refuse_no_stream(stream, "hr.collect")
    return collected(stream)


def refuse_no_stream(stream: object, function: str) -> None:
    """Refuse an argument of `function` that is not a stream."""
    if not isinstance(stream, Stream):
        hint = f"pass a stream: {function}(hr.read.files(...))"
        raise HeadraceError("BAD_INPUT", f"{function} expects a stream, got {stream!r}", hint=hint, site=here())


def collected(stream: Stream) -> Table:
    """Collect the rows of a stream; a warning points at the caller's caller."""
    kept: Any = sink_class("memory")()
    endless = [label(source) for source in sources(stream._node) if not source.connect().traits.bounded]
    if endless:
        raise HeadraceError(
            "UNBOUNDED",
            f"{', '.join(endless)} is unbounded, so its rows cannot be collected",
            hint='hr.show(stream) shows rows as they arrive; or run a job with a sink: hr.job("name", stream.write.files(...)).run()',
            site=here(),
        )
    with interruptible():
        plan = Plan.of("collect", [sink(stream._node, kept, None, None)], meaning())
        compiled = compile(plan)
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder, Signals() as signals:
        checkpoint = Path(folder, "checkpoint")
        run = start(compiled, checkpoint)
        summary = run.watch(lambda: None, signals)
        if summary is None or summary.stopped:
            raise interruption()
        letters = lost(summary, checkpoint)
        if letters:
            warnings.warn(loss_text(letters, "hr.collect(...).dead_letters has them"), RuntimeWarning, stacklevel=3)
        return Table(kept.rows(), compiled.schemas.of[str(plan.sinks[0])], dead_letters=letters)
