"""now and watermark: how far time is while a row or a timer is handled."""

from __future__ import annotations

from headrace.expr import Column
from headrace.program.recording import NOW, WATERMARK, recording


def now() -> Column:
    """The processing time, as timestamp: the time at which the epoch began, the same for all its rows, also when it is repeated.

    A result that it goes into depends on when the rows came. Event time is in the rows: `e.ts`.
    """
    return recording("hr.now").value(NOW, NOW)


def watermark() -> Column:
    """The watermark of the epoch, as timestamp; null as long as there is none.

    A result that it goes into depends on how the rows were cut into epochs.
    """
    return recording("hr.watermark").value(WATERMARK, WATERMARK)
