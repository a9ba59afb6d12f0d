"""The progress of a run: as a value, and as a line on a terminal."""

from __future__ import annotations

import datetime as dt
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from headrace.schema import shown
from headrace.spark.run.summary import many

# Watermarks from this one on (year 100000) mean that bounded input has ended; they are not shown.
END_MILLIS = 3093527980800000


@dataclass(frozen=True)
class Progress:
    """The state of a run. `rows` counts the rows read in this run; `lag` is in seconds, None if it is unknown.

    `outstanding` counts the files that sources know of and have not read yet, None if no source knows; `violated` the rows that failed an
    expectation, over the life of the checkpoint.
    """

    rows: int = 0
    rows_per_second: float = 0.0
    outstanding: int | None = None
    lag: float | None = None
    watermark: dt.datetime | None = None
    state_keys: int = 0
    epochs: int = 0
    epoch_ms: int = 0
    seconds: float = 0.0
    violated: int = 0

    def __str__(self) -> str:
        parts = [f"{many(self.rows, 'row')} in", f"{self.rows_per_second:,.0f} rows/s"]
        if self.outstanding is not None:
            parts.append(f"{many(self.outstanding, 'file')} to go")
        elif self.lag is not None:
            parts.append(f"lag {shown(int(self.lag) * 1000)}")
        if self.watermark is not None:
            parts.append(f"watermark {self.watermark:%Y-%m-%d %H:%M:%S}")
        if self.violated:
            parts.append(f"{many(self.violated, 'violation')}")
        parts += [f"{many(self.state_keys, 'key')} with state", many(self.epochs, "epoch"), f"last {self.epoch_ms:,} ms"]
        return " · ".join(parts)


def progress_of(
    reports: Iterable[str | None], *, rows: int, epochs: int, seconds: float, state_keys: int, live: bool, violated: int = 0
) -> Progress:
    """Make the progress from the last report of each query. `live`: the input is unbounded, so its lag is wall clock minus watermark."""
    read = [json.loads(report) for report in reports if report]
    watermarks = [mark for mark in (_watermark(report) for report in read) if mark is not None]
    watermark = min(watermarks, default=None)
    behind = [int(n) for report in read for source in report.get("sources", []) if (n := _outstanding(source)) is not None]
    now = dt.datetime.now(dt.UTC)
    return Progress(
        rows=rows,
        rows_per_second=rows / seconds if seconds > 0 else 0.0,
        outstanding=sum(behind) if behind else None,
        lag=max((now - watermark).total_seconds(), 0.0) if live and watermark is not None else None,
        watermark=watermark,
        state_keys=state_keys,
        epochs=epochs,
        epoch_ms=max((int(report.get("durationMs", {}).get("triggerExecution", 0)) for report in read), default=0),
        seconds=seconds,
        violated=violated,
    )


def _watermark(report: dict[str, Any]) -> dt.datetime | None:
    text = report.get("eventTime", {}).get("watermark", "")
    try:
        mark = dt.datetime.fromisoformat(text)
    except ValueError:
        # none yet, or the end of time, which is beyond Python's calendar
        return None
    return mark if mark.timestamp() > 0 else None


def _outstanding(source: dict[str, Any]) -> str | None:
    files: str | None = (source.get("metrics") or {}).get("filesOutstanding")
    return files


class Display:
    """Shows the progress of a run at intervals, on a terminal line or by a function; or not at all.

    `wanted`: None shows it if standard error is a terminal; True and False decide; a function gets every `Progress`.
    """

    def __init__(self, job: str, wanted: bool | Callable[[Progress], object] | None) -> None:
        self.job = job
        self._call = wanted if callable(wanted) else None
        self._shown = self._call is None and (sys.stderr.isatty() if wanted is None else bool(wanted))
        self._live: Any = None
        self._last = 0.0

    def __enter__(self) -> Display:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            # Other output appears above the line, unless it goes elsewhere.
            here = sys.stdout.isatty()
            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True, redirect_stdout=here)
            self._live.start()
            self._live.update(f"{self.job} starting")
        return self

    def show(self, progress: Callable[[], Progress], what: str = "") -> None:
        """Show the progress, at most four times a second (once in five seconds if each time prints a line)."""
        pause = 0.25 if self._live is not None or self._call is not None else 5.0
        if not (self._shown or self._call) or time.monotonic() - self._last < pause:
            return
        self._last = time.monotonic()
        now = progress()
        if self._call is not None:
            self._call(now)
        elif self._live is not None:
            from rich.text import Text

            self._live.update(Text.assemble((f"{self.job} ", "bold"), (f"{what} " if what else "", "cyan"), str(now)))
        else:
            print(f"{self.job}: {now}", file=sys.stderr, flush=True)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
