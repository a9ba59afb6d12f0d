"""One query of a running job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.ops import Source
from headrace.spark.checkpoint.offsets import again
from headrace.spark.checkpoint.record import Totals
from headrace.spark.compile.identity import QueryIdentity
from headrace.spark.compile.levels import Query
from headrace.spark.run.epochs import Committer
from headrace.spark.run.progress import END_MILLIS


@dataclass
class RunningQuery:
    """One query of a running job; `handle` is the kernel's `Run`."""

    query: Query
    identity: QueryIdentity
    handle: Any
    committer: Committer
    began: Totals
    """The counts before this run."""
    unfinished: int | None = None
    """The epoch that was interrupted before this run, and is replayed."""
    overdue: bool = False
    """Whether the job stopped after an epoch that moved the watermark, before the epoch that handles what became due."""

    @property
    def again(self) -> bool:
        """Whether it has not got past an epoch that was interrupted before."""
        return self.unfinished is not None and self.committer.begun <= self.unfinished and self.totals.epoch <= self.unfinished

    @property
    def totals(self) -> Totals:
        return self.committer.record.totals

    @property
    def timed(self) -> tuple[Source, ...]:
        return tuple(source for source in self.query.sources if source.watermark is not None)

    def read(self) -> dict[str, int]:
        """Return the rows read in this run, by source."""
        totals, names = self.totals, [str(source.name) for source in self.query.sources]
        return {name: totals.of_source(name, "read") - self.began.of_source(name, "read") for name in names}

    def programs(self) -> dict[int, tuple[str, dict[int, str]]]:
        """Return the name and the inputs by side of each operator and lookup, by number."""
        live = self.identity.live()
        entries = [live[str(node.name)] for node in (*self.query.operators, *self.query.looked_up)]
        return {entry.op: (entry.shape.name, dict(enumerate(entry.shape.inputs))) for entry in entries}

    def lookups(self) -> dict[int, str]:
        """Return the name of each lookup, by number."""
        live = self.identity.live()
        return {live[str(node.name)].op: str(node.name) for node in self.query.looked_up}

    def state_keys(self) -> int:
        """Return the number of keys with state."""
        return self.totals.of_operators({entry.op for entry in self.identity.live().values()}, "keys")

    def operator_keys(self) -> dict[str, int]:
        """Return the number of keys with state of each operator, by name."""
        live = self.identity.live()
        return {name: self.totals.of_operators({live[name].op}, "keys") for name in (str(node.name) for node in self.query.operators)}

    def publish(self, times: Mapping[str, int]) -> None:
        """Advance the event time of sources (microseconds)."""
        if times:
            self.handle.publish(json.dumps(times))

    def restore(self) -> None:
        """Restore the event times of sources from the record: Spark forgets them in a restart. For one source the watermark is enough,
        unless something is due: Spark then begins no epoch for it without input.
        """
        if len(self.timed) < 2 and not self.overdue:
            return
        known = self.totals.times()
        times = {str(source.name): known[str(source.name)] for source in self.timed if str(source.name) in known}
        if times:
            self.publish(again(times))

    def end_of_time(self) -> dict[str, int]:
        """Return the control times that end bounded input: they bring every watermark of the query to the same point beyond the calendar.

        The milliseconds above `END_MILLIS` are the last event time, so that timers set during the flush know where it ends.
        """
        last = max((-(-micros // 1000) for micros in self.totals.times().values()), default=0)
        end = END_MILLIS + max(last, 0)
        return {str(source.name): (end + source.watermark.delay_ms) * 1000 for source in self.timed if source.watermark is not None}

    def flush(self) -> None:
        """Bring the time of the query to its end."""
        if self.query.clock == "processing":
            self.handle.flush()
        elif self.query.clock == "event":
            # An interrupted flush may have logged these times, and Spark then begins no epoch for them on its own.
            self.publish(again(self.end_of_time()))

    def advance_idle(self, started: float) -> None:
        """Let sources that have been silent for longer than their limit follow the others, which they would hold up."""
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
