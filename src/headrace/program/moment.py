"""now and watermark: the times that a handler can read."""

from __future__ import annotations

from headrace.expr import Column
from headrace.program.recording import NOW, WATERMARK, recording


def now() -> Column:
    """Returns the processing time as timestamp: the start of the epoch. It is the same for all rows of the epoch, and when the epoch is
    repeated.

    Results that use it depend on when rows arrive. Event time is in the rows: `e.ts`.

    Raises:
        ProgramError: `OUTSIDE_HANDLER` outside a handler.

    Examples:
        >>> import headrace as hr
        >>> class Delay(hr.Program):
        ...     def on_event(self, e):
        ...         hr.emit(card=self.key.card, old=hr.now() > e.ts + hr.days(1))
        >>> charges = hr.read.memory([("a", "2026-01-01 10:00:00")], "card string, ts timestamp", name="charges")
        >>> hr.collect(charges.key_by("card").process(Delay)).rows()
        [('a', True)]
    """
    return recording("hr.now").value(NOW, NOW)


def watermark() -> Column:
    """Returns the watermark of the epoch as timestamp, null while there is none.

    Results that use it depend on how the input is split into epochs.

    Raises:
        ProgramError: `OUTSIDE_HANDLER` outside a handler.

    Examples:
        >>> import headrace as hr
        >>> class Ahead(hr.Program):
        ...     def on_event(self, e):
        ...         hr.emit(card=self.key.card, ts=e.ts, watermark=hr.watermark())
        >>> charges = hr.read.memory([("a", "2026-01-01 10:00:00")], "card string, ts timestamp", name="charges")
        >>> charges = charges.watermark("ts", "1 minute")
        >>> hr.collect(charges.key_by("card").process(Ahead, order="arrival").select("card", none="watermark IS NULL")).rows()
        [('a', True)]
    """
    return recording("hr.watermark").value(WATERMARK, WATERMARK)
