"""A run at one moment, without a run."""

from __future__ import annotations

import datetime as dt
from typing import Any

import headrace as hr
from headrace.plan import Explanation, Plan, explain
from headrace.spark.run.progress import Progress
from headrace.spark.run.snapshot import Snapshot
from headrace.spark.run.summary import ExpectationCounts, InputCounts, LookupCounts, SourceCounts, Summary

PROGRESS = Progress(
    rows=3600,
    rows_per_second=120.0,
    outstanding=4,
    lag=90.5,
    watermark=dt.datetime(2026, 3, 2, 12, 0, tzinfo=dt.UTC),
    state_keys=7,
    epochs=12,
    epoch_ms=2500,
    seconds=30.0,
)
SUMMARY = Summary(
    job="fraud",
    sources=(SourceCounts("charges", read=3600, malformed=5, skipped=1, tombstones=2, broken=3),),
    inputs=(InputCounts("alerts__9f", "event", rows_in=3500, handled=3400, late=60, dead=30, held=10),),
    sinks={"out": 41},
    dead_letters={"/srv/fraud/dead_letters/main": 5, "/srv/fraud/refused/out": 2},
    rows=3600,
    epochs=12,
    seconds=30.0,
    sealed=False,
    stopped=False,
    expectations=(ExpectationCounts("charges", "small", "dead_letter", passed=3000, violated=500),),
    lookups=(LookupCounts("cards", hits=100, asked=20, requests=3, missed=6, seconds=1.25),),
    names={"alerts__9f": "alerts"},
)


def snapshot(**others: Any) -> Snapshot:
    values: dict[str, Any] = {"status": "running", "error": None, "progress": PROGRESS, "summary": SUMMARY, "state_keys": {"alerts__9f": 7}}
    return Snapshot(**{**values, **others})


def plan(condition: str = "amount > 500") -> Explanation:
    charges = hr.read.memory([], "card string, amount int", name="charges")
    return explain(Plan.of("fraud", [charges.filter(condition).write.console(name="out")._use()]), only=())
