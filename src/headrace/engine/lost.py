"""Rows that failed in a run on a temporary checkpoint."""

from __future__ import annotations

from pathlib import Path

from headrace.engine.letters import Letters
from headrace.engine.table import Table
from headrace.spark.run.summary import Summary


def lost(summary: Summary, checkpoint: Path) -> Table:
    """Read the dead letters of a run, before its checkpoint is deleted."""
    return Letters(checkpoint).table() if sum(summary.dead_letters.values()) else Table((), Table.letters)


def loss_text(letters: Table, where: str) -> str:
    """Describe how many rows are missing, why the first one failed, and `where` all of them are."""
    first = letters.to_json()[0]
    missing = "1 row failed and is missing" if len(letters) == 1 else f"{len(letters):,} rows failed and are missing"
    return f"{missing}; the first at {first['node']}: {first['reason']} ({where})"
