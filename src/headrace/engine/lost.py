"""Rows that failed in a run whose checkpoint is thrown away."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.spark.summary import Summary


def lost(summary: Summary) -> str:
    """What went to dead letters that nobody will see, as their folder is thrown away."""
    dead = sum(summary.dead_letters.values())
    first = ""
    for file in (file for folder in summary.dead_letters for file in sorted(Path(folder).glob("*.json"))):
        lines = file.read_text(encoding="utf-8").splitlines()
        if lines and not first:
            letter = json.loads(lines[0])
            first = f"; the first at {letter.get('node')}: {letter.get('reason')}"
    return f'{dead:,} row{"" if dead == 1 else "s"} failed and are missing{first} (.output("dead_letter") has them)'
