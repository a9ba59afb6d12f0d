"""The record of a query: what its epochs counted, added up and kept beside the checkpoint.

Spark replays an epoch whose end it did not see. The record knows the last epoch it has added, so a replayed one adds nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
TIME = "max_time"

# source name ("" behind the first level), op id, side, metric
Key = tuple[str, int, int, str]


@dataclass
class Totals:
    """Counts of a query up to and with `epoch`.

    >>> totals = Totals()
    >>> totals.add(0, [["charges", 0, 0, "read", 3], ["charges", 0, 0, "max_time", 70]], {"alerts": 1})
    True
    >>> totals.add(0, [["charges", 0, 0, "read", 3]], {"alerts": 1})      # the same epoch again
    False
    >>> totals.of_source("charges", "read"), totals.times(), totals.rows
    (3, {'charges': 70}, {'alerts': 1})
    """

    epoch: int = -1
    counts: dict[Key, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, epoch: int, counts: Iterable[list[Any]], rows: Mapping[str, int]) -> bool:
        if epoch <= self.epoch:
            return False
        self.epoch = epoch
        for source, op, side, metric, n in counts:
            key = (str(source or ""), int(op), int(side), str(metric))
            if metric == TIME:
                self.counts[key] = max(self.counts.get(key, int(n)), int(n))
            else:
                self.counts[key] = self.counts.get(key, 0) + int(n)
        for sink, n in rows.items():
            self.rows[sink] = self.rows.get(sink, 0) + n
        return True

    def of_source(self, source: str, metric: str) -> int:
        return sum(n for (name, _, _, kind), n in self.counts.items() if name == source and kind == metric)

    def of_input(self, op: int, side: int, metric: str) -> int:
        return sum(n for (_, number, at, kind), n in self.counts.items() if number == op and at == side and kind == metric)

    def times(self) -> dict[str, int]:
        """Source -> the latest event time it has brought, in micros."""
        return {name: n for (name, _, _, metric), n in self.counts.items() if metric == TIME}

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "epoch": self.epoch, "counts": [[*key, n] for key, n in sorted(self.counts.items())], "rows": self.rows}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Totals:
        counts = {(source, op, side, metric): n for source, op, side, metric, n in value["counts"]}
        return cls(value["epoch"], counts, dict(value["rows"]))


def replace(path: Path, text: str) -> None:
    """Write a small file so that a reader, or a crash, sees the old text or the new one and nothing between."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


class Record:
    """The totals of one query on disk, `<checkpoint>/record/<query>.json`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.totals = Totals()
        if path.exists():
            self.totals = Totals.from_json(json.loads(path.read_text(encoding="utf-8")))

    def add(self, epoch: int, counts: Iterable[list[Any]], rows: Mapping[str, int]) -> bool:
        """Add an epoch and store the sum; False if it was there already."""
        if not self.totals.add(epoch, counts, rows):
            return False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace(self.path, json.dumps(self.totals.to_json(), separators=(",", ":")))
        return True
