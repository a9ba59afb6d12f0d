"""A job kept running on a folder, fed one row at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import headrace as hr

PATIENCE = 120


class Followed:
    """A running job over a folder; `feed` adds one row there and returns the milliseconds of the epoch that read it.

    It looks for rows only once a second, so that a waiting job takes no processor time from the one that works.
    """

    def __init__(self, job: hr.Job, events: Path, checkpoint: Path) -> None:
        self._events = events
        self._files = 0
        self._batch = -1
        self._run = job.start(checkpoint=str(checkpoint), partitions=2, every="1 second")

    def feed(self, row: Mapping[str, Any]) -> float:
        self._files += 1
        # readers skip this name, so that none sees half a row
        hidden = self._events / f".{self._files:06}.json"
        hidden.write_text(json.dumps(row) + "\n")
        hidden.rename(self._events / f"{self._files:06}.json")
        end = time.monotonic() + PATIENCE
        while True:
            report = self._last()
            # an idle query also reports, with the number of the next batch
            if report.get("numInputRows") and report["batchId"] > self._batch:
                self._batch = report["batchId"]
                return float(report["durationMs"]["triggerExecution"])
            if self._run.error is not None:
                raise self._run.error
            if time.monotonic() > end:
                raise TimeoutError(f"no epoch within {PATIENCE} s")
            time.sleep(0.005)

    def _last(self) -> dict[str, Any]:
        """Return Spark's report of the last epoch, which has more than the run's own progress."""
        (query,) = self._run._queries
        report: dict[str, Any] = json.loads(query.handle.lastProgress() or "{}")
        return report

    def stop(self) -> None:
        self._run.stop()
