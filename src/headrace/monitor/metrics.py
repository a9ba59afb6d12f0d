"""The metrics of a run. Their names and labels are stored by those who scrape them, and never change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from headrace.spark.run.snapshot import Snapshot

STATUSES = ("running", "flushing", "stopping", "stopped", "finished", "failed")

Values = Iterable[tuple[tuple[str, ...], float]]
"""The values of a metric, each with the texts of its labels."""


@dataclass(frozen=True)
class Metric:
    """A metric. `counts`: over which time a counter counts, the life of the `checkpoint` or this `run`; `now` for a gauge.

    Each value also has the label `job`. `read` takes the values from a snapshot; it returns none for what is unknown.
    """

    name: str
    kind: str
    counts: str
    labels: tuple[str, ...]
    help: str
    read: Callable[[Snapshot], Values]


def _counter(name: str, labels: str, help: str, read: Callable[[Snapshot], Values], counts: str = "checkpoint") -> Metric:
    return Metric(f"headrace_{name}", "counter", counts, tuple(labels.split()), help, read)


def _gauge(name: str, labels: str, help: str, read: Callable[[Snapshot], Values]) -> Metric:
    return Metric(f"headrace_{name}", "gauge", "now", tuple(labels.split()), help, read)


def _one(value: float | None) -> Values:
    return () if value is None else (((), value),)


def _of_sources(field: str) -> Callable[[Snapshot], Values]:
    return lambda now: (((now.shown(one.name),), getattr(one, field)) for one in now.summary.sources)


def _of_inputs(field: str) -> Callable[[Snapshot], Values]:
    return lambda now: (((now.shown(one.program), one.input), getattr(one, field)) for one in now.summary.inputs)


def _of_lookups(field: str) -> Callable[[Snapshot], Values]:
    return lambda now: (((now.shown(one.name),), getattr(one, field)) for one in now.summary.lookups)


def _of_expectations(field: str) -> Callable[[Snapshot], Values]:
    return lambda now: (((now.shown(one.stream), one.name), getattr(one, field)) for one in now.summary.expectations)


def _letters(now: Snapshot) -> Values:
    """Return the dead letters by the folder's place in the checkpoint, such as `dead_letters/main`."""
    return ((("/".join(Path(folder).parts[-2:]),), n) for folder, n in now.summary.dead_letters.items())


METRICS = (
    _counter("source_read_rows_total", "source", "Rows that a source has read.", _of_sources("read")),
    _counter("source_malformed_rows_total", "source", "Rows that a source could not parse.", _of_sources("malformed")),
    _counter("source_broken_files_total", "source", "Files that a source could not read, or that changed later.", _of_sources("broken")),
    _counter("input_rows_total", "operator input", "Rows that an operator has received.", _of_inputs("rows_in")),
    _counter("input_late_rows_total", "operator input", "Rows that came behind the watermark.", _of_inputs("late")),
    _counter("input_dead_rows_total", "operator input", "Rows that failed in an operator.", _of_inputs("dead")),
    _gauge("input_held_rows", "operator input", "Rows that wait for the watermark.", _of_inputs("held")),
    _gauge(
        "state_keys",
        "operator",
        "Keys with state.",
        lambda now: (((now.shown(name),), keys) for name, keys in now.state_keys.items()),
    ),
    _counter("lookup_hits_total", "lookup", "Rows whose answer was in the cache.", _of_lookups("hits")),
    _counter("lookup_keys_total", "lookup", "Keys that were requested.", _of_lookups("asked")),
    _counter("lookup_requests_total", "lookup", "Requests, retries included.", _of_lookups("requests")),
    _counter("lookup_request_seconds_total", "lookup", "Seconds that requests have taken.", _of_lookups("seconds")),
    _counter("lookup_missed_rows_total", "lookup", "Rows without a match.", _of_lookups("missed")),
    _gauge("expectation_passed_rows", "stream expectation", "Current rows that meet an expectation.", _of_expectations("passed")),
    _gauge("expectation_violated_rows", "stream expectation", "Current rows that violate an expectation.", _of_expectations("violated")),
    _counter(
        "sink_written_rows_total",
        "sink",
        "Rows that a sink has committed.",
        lambda now: (((now.shown(name),), rows) for name, rows in now.summary.sinks.items()),
    ),
    _counter("dead_letters_total", "folder", "Dead letters that no stream reads, by their folder in the checkpoint.", _letters),
    _counter("epochs_total", "", "Committed epochs.", lambda now: _one(now.progress.epochs), counts="run"),
    _gauge("last_epoch_duration_seconds", "", "The duration of the last epoch.", lambda now: _one(now.progress.epoch_ms / 1000)),
    _gauge(
        "watermark_timestamp_seconds",
        "",
        "The least watermark of the job, in Unix time.",
        lambda now: _one(None if now.progress.watermark is None else now.progress.watermark.timestamp()),
    ),
    _gauge("watermark_lag_seconds", "", "The clock minus the watermark of unbounded input.", lambda now: _one(now.progress.lag)),
    _gauge("outstanding_files", "", "Files found and not yet read.", lambda now: _one(now.progress.outstanding)),
    _gauge("run_duration_seconds", "", "The time since the run began.", lambda now: _one(now.progress.seconds)),
    _gauge(
        "run_status",
        "status",
        f"1 for the status of the run, 0 for the others: {', '.join(STATUSES)}.",
        lambda now: (((status,), float(now.status == status)) for status in STATUSES),
    ),
    _gauge("run_failed", "", "1 if the run has failed, else 0.", lambda now: _one(float(now.status == "failed" or now.error is not None))),
)
