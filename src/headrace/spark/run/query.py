"""One query of a job while it runs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.ops import Source
from headrace.spark.checkpoint.record import Totals
from headrace.spark.compile.identity import QueryIdentity
from headrace.spark.compile.levels import Query
from headrace.spark.run.epochs import Committer
from headrace.spark.run.progress import END_MILLIS

# The entry of the control map that makes it tell all entries again.
AGAIN = "#again"


@dataclass
class RunningQuery:
    """One query of the job while it runs; `handle` is the kernel's `Run`."""

    query: Query
    identity: QueryIdentity
    handle: Any
    committer: Committer
    began: Totals
    """What was counted before this run."""
    unfinished: int | None = None
    """The epoch that was cut off before this run, and comes again."""

    @property
    def again(self) -> bool:
        """Whether it has not come beyond an epoch that was cut off before."""
        return self.unfinished is not None and self.committer.begun <= self.unfinished and self.totals.epoch <= self.unfinished

    @property
    def totals(self) -> Totals:
        return self.committer.record.totals

    @property
    def timed(self) -> tuple[Source, ...]:
        return tuple(source for source in self.query.sources if source.watermark is not None)

    def read(self) -> dict[str, int]:
        """Rows read in this run, by source."""
        totals, names = self.totals, [str(source.name) for source in self.query.sources]
        return {name: totals.of_source(name, "read") - self.began.of_source(name, "read") for name in names}

    def programs(self) -> dict[int, tuple[str, dict[int, str]]]:
        """Number -> name and inputs by side, of each operator and lookup."""
        live = self.identity.live()
        entries = [live[str(node.name)] for node in (*self.query.operators, *self.query.looked_up)]
        return {entry.op: (entry.shape.name, dict(enumerate(entry.shape.inputs))) for entry in entries}

    def lookups(self) -> dict[int, str]:
        """Number -> name, of each lookup."""
        live = self.identity.live()
        return {live[str(node.name)].op: str(node.name) for node in self.query.looked_up}

    def state_keys(self) -> int:
        """How many keys have state."""
        return self.totals.of_operators({entry.op for entry in self.identity.live().values()}, "keys")

    def publish(self, times: Mapping[str, int]) -> None:
        """Move the event time of sources forward (micros)."""
        if times:
            self.handle.publish(json.dumps(times))

    def restore(self) -> None:
        """Spark forgets over a restart which source stood where; the record knows. Of a single source the watermark tells enough."""
        if len(self.timed) < 2:
            return
        known = self.totals.times()
        times = {str(source.name): known[str(source.name)] for source in self.timed if str(source.name) in known}
        if times:
            self.publish(_again(times))

    def end_of_time(self) -> dict[str, int]:
        """The control times that end a bounded input: they bring every watermark of the query to the same place beyond the calendar.

        The milliseconds above `END_MILLIS` say what the last event time was, so that timers set during the flush know where it ends.
        """
        last = max((-(-micros // 1000) for micros in self.totals.times().values()), default=0)
        end = END_MILLIS + max(last, 0)
        return {str(source.name): (end + source.watermark.delay_ms) * 1000 for source in self.timed if source.watermark is not None}

    def flush(self) -> None:
        """Let the time that the query goes by come to its end."""
        if self.query.clock == "processing":
            self.handle.flush()
        elif self.query.clock == "event":
            # A flush that was cut short may have logged them, and Spark does by itself no epoch that a start finds due.
            self.publish(_again(self.end_of_time()))

    def advance_idle(self, started: float) -> None:
        """Let sources that have been silent for longer than they may hold up the others follow them."""
        now = self.committer.clock()
        known = self.totals.times()
        silent = {
            str(source.name): source.watermark
            for source in self.timed
            if source.watermark is not None
            and source.watermark.idle_ms is not None
            and (now - self.committer.last_rows.get(str(source.name), started)) * 1000 >= source.watermark.idle_ms
        }
        active = [
            known[str(source.name)] - source.watermark.delay_ms * 1000
            for source in self.timed
            if source.watermark is not None and str(source.name) not in silent and str(source.name) in known
        ]
        if silent and active:
            self.publish({name: min(active) + mark.delay_ms * 1000 for name, mark in silent.items()})


def _again(times: Mapping[str, int]) -> dict[str, int]:
    """Times that the query may have logged before this start, told so that they are news to it."""
    return {**times, AGAIN: time.time_ns() // 1000}
