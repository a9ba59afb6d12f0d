"""A job kept running on a folder, fed one row at a time."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import headrace as hr

PATIENCE = 120


class Followed:
    """A running job over a folder; `feed` puts one row there and gives the milliseconds of the epoch that took it in."""

    def __init__(self, job: hr.Job, events: Path, checkpoint: Path) -> None:
        self._events = events
        self._files = 0
        self._run = job.start(checkpoint=str(checkpoint), progress=False)

    def feed(self, row: Mapping[str, Any]) -> float:
        before = self._run.progress.epochs
        self._files += 1
        hidden = self._events / f".{self._files:06}.json"
        hidden.write_text(json.dumps(row) + "\n")
        os.rename(hidden, self._events / f"{self._files:06}.json")
        end = time.monotonic() + PATIENCE
        while self._run.progress.epochs == before:
            if self._run.error is not None:
                raise self._run.error
            if time.monotonic() > end:
                raise TimeoutError(f"no epoch within {PATIENCE} s")
            time.sleep(0.005)
        return float(self._run.progress.epoch_ms)

    def stop(self) -> None:
        self._run.stop()
