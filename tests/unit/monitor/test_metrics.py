"""The metrics in Prometheus's format, their names, and their table in the documentation."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

from headrace import masking
from headrace.monitor.exposition import Exposition
from headrace.monitor.metrics import METRICS, STATUSES, Metric
from headrace.spark.run.progress import Progress
from tests.unit.monitor.snapshots import PROGRESS, SUMMARY, snapshot

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "monitoring.md"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(text: str) -> Samples:
    """The values by name and labels, without the label of the job, which all have."""
    values: Samples = {}
    for family in parser.text_string_to_metric_families(text):
        for one in family.samples:
            assert one.labels["job"] == "fraud"
            values[one.name, tuple(sorted((label, value) for label, value in one.labels.items() if label != "job"))] = one.value
    return values


def scraped(**others: object) -> Samples:
    return samples(Exposition(lambda: snapshot(**others)).text("")[0].decode())


ALERTS = (("input", "event"), ("operator", "alerts"))
SMALL = (("expectation", "small"), ("stream", "charges"))
VALUES: Samples = {
    ("headrace_source_read_rows_total", (("source", "charges"),)): 3600,
    ("headrace_source_malformed_rows_total", (("source", "charges"),)): 5,
    ("headrace_source_broken_files_total", (("source", "charges"),)): 3,
    ("headrace_input_rows_total", ALERTS): 3500,
    ("headrace_input_late_rows_total", ALERTS): 60,
    ("headrace_input_dead_rows_total", ALERTS): 30,
    ("headrace_input_held_rows", ALERTS): 10,
    ("headrace_state_keys", (("operator", "alerts"),)): 7,
    ("headrace_lookup_hits_total", (("lookup", "cards"),)): 100,
    ("headrace_lookup_keys_total", (("lookup", "cards"),)): 20,
    ("headrace_lookup_requests_total", (("lookup", "cards"),)): 3,
    ("headrace_lookup_request_seconds_total", (("lookup", "cards"),)): 1.25,
    ("headrace_lookup_missed_rows_total", (("lookup", "cards"),)): 6,
    ("headrace_expectation_passed_rows", SMALL): 3000,
    ("headrace_expectation_violated_rows", SMALL): 500,
    ("headrace_sink_written_rows_total", (("sink", "out"),)): 41,
    ("headrace_dead_letters_total", (("folder", "dead_letters/main"),)): 5,
    ("headrace_dead_letters_total", (("folder", "refused/out"),)): 2,
    ("headrace_epochs_total", ()): 12,
    ("headrace_last_epoch_duration_seconds", ()): 2.5,
    ("headrace_watermark_timestamp_seconds", ()): 1772452800,
    ("headrace_watermark_lag_seconds", ()): 90.5,
    ("headrace_outstanding_files", ()): 4,
    ("headrace_run_duration_seconds", ()): 30,
    **{("headrace_run_status", (("status", status),)): float(status == "running") for status in STATUSES},
    ("headrace_run_failed", ()): 0,
}
"""What everyone who has a dashboard relies on: never change a line, only add some."""


def test_all_values() -> None:
    assert scraped() == VALUES


def test_every_metric_has_a_value_here() -> None:
    assert {name for name, _ in VALUES} == {metric.name for metric in METRICS}


def test_what_is_unknown_has_no_value() -> None:
    values = scraped(progress=dataclasses.replace(PROGRESS, outstanding=None, lag=None, watermark=None))
    unknown = {"headrace_outstanding_files", "headrace_watermark_lag_seconds", "headrace_watermark_timestamp_seconds"}
    assert values == {key: value for key, value in VALUES.items() if key[0] not in unknown}


def test_a_run_that_has_begun_nothing_has_counts() -> None:
    empty = dataclasses.replace(SUMMARY, sources=(), inputs=(), sinks={}, dead_letters={}, expectations=(), lookups=())
    names = {name for name, _ in scraped(summary=empty, progress=Progress(), state_keys={})}
    assert {"headrace_epochs_total", "headrace_run_status", "headrace_run_failed"} <= names


def test_a_run_that_fails() -> None:
    values = scraped(status="failed")
    assert (values["headrace_run_status", (("status", "failed"),)], values["headrace_run_failed", ()]) == (1, 1)
    assert sum(value for (name, _), value in values.items() if name == "headrace_run_status") == 1


def test_counts_are_read_when_they_are_scraped() -> None:
    now = snapshot()
    exposition = Exposition(lambda: now)
    assert samples(exposition.text("")[0].decode()) == VALUES
    now = snapshot(progress=dataclasses.replace(PROGRESS, epochs=13))
    assert samples(exposition.text("")[0].decode())["headrace_epochs_total", ()] == 13


def test_secrets_in_labels_are_masked() -> None:
    masking.hide("hunter2hunter2")
    sinks = {"out hunter2hunter2": 1}
    assert ("headrace_sink_written_rows_total", (("sink", "out ***"),)) in scraped(summary=dataclasses.replace(SUMMARY, sinks=sinks))


def test_two_runs_in_one_process_are_apart() -> None:
    other = Exposition(lambda: snapshot(summary=dataclasses.replace(SUMMARY, sinks={"other": 1})))
    assert 'sink="other"' in other.text("")[0].decode() and scraped() == VALUES


@pytest.mark.parametrize("accept", ["", "*/*", "text/html"])
def test_the_format(accept: str) -> None:
    text, kind = Exposition(snapshot).text(accept)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    assert text.decode().startswith(
        "# HELP headrace_source_read_rows_total Rows that a source has read.\n# TYPE headrace_source_read_rows_total counter\n"
    )


def test_the_format_of_openmetrics() -> None:
    text, kind = Exposition(snapshot).text("application/openmetrics-text; version=1.0.0")
    families = list(openmetrics.text_string_to_metric_families(text.decode()))  # type: ignore[no-untyped-call]
    assert kind.startswith("application/openmetrics-text; version=1.0.0") and len(families) == len(METRICS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_follow_the_rules_of_prometheus(metric: Metric) -> None:
    assert re.fullmatch(r"headrace_[a-z]+(_[a-z]+)*", metric.name)
    assert (metric.kind == "counter") == metric.name.endswith("_total")
    assert (metric.kind == "gauge") == (metric.counts == "now") and metric.counts in ("checkpoint", "run", "now")
    assert metric.help.endswith(".") and "job" not in metric.labels


def test_the_table_of_the_documentation() -> None:
    since = {"checkpoint": "the checkpoint", "run": "the run", "now": ""}
    cells = [(f"`{one.name}`", ", ".join(f"`{label}`" for label in one.labels), since[one.counts], one.help) for one in METRICS]
    rows = [f"| {' | '.join(row)} |".replace("|  |", "| |").replace("|  |", "| |") for row in cells]
    table = (
        PAGE.read_text(encoding="utf-8")
        .partition("| metric | labels | counts since | meaning |\n|---|---|---|---|\n")[2]
        .partition("\n\n")[0]
    )
    assert table.splitlines() == rows
