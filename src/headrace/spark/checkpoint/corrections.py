"""The corrections of sinks: rows with which a deploy makes a sink equal to the new version, delivered by the first epoch after it, alone.

corrections/QUERY/epoch.json      the epoch that delivers them; place, columns and mode of each sink; whether they replace its rows
corrections/QUERY/SINK/*.parquet  the rows of a sink; `_weight` says how often a row is added, or retracted if negative

They are a scan of their own, whose files the deploy has logged with the epoch: the sink gets them once, as it gets the rows of any epoch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.durable import atomic
from headrace.durable.marks import Mark
from headrace.durable.sums import read, text_of
from headrace.ports import paths
from headrace.ports.weights import WEIGHT
from headrace.schema import Struct
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.offsets import offset_name
from headrace.spark.compile.identity import correction_scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = "corrections"
_EPOCH = "epoch.json"


@dataclass(frozen=True)
class Target:
    """What the rows of a correction are for: the place, the columns and the mode of a sink. `filled`: the place has no rows so far.
    `whole`: they replace all rows that it has.
    """

    place: str
    columns: str
    mode: str
    filled: bool = False
    whole: bool = False

    def is_met(self, place: str, columns: str, mode: str, mark: Callable[[], Mark | None]) -> bool:
        """Return whether a sink is as the correction needs it. Its rows may have been moved; `mark` tells what its place has now."""
        if (columns, mode) != (self.columns, self.mode):
            return False
        if place == self.place or self.whole:
            return True
        held = mark()
        return (held is None or held.epoch < 0) if self.filled else (held is not None and held.epoch >= 0)


def place(corrections: Path, query: str, sink: str) -> Path:
    """Return the folder of a sink's rows below the corrections of a checkpoint."""
    return corrections / query / offset_name(sink)


def neutral(schema: Struct) -> str:
    """Return the columns of a correction: those of a sink, without names that may mean something else in a scan.

    >>> from headrace.schema import parse_schema
    >>> neutral(parse_schema("card string, _position int"))
    'c0 string, c1 int'
    """
    return ", ".join(f"c{place} {field.type}" for place, field in enumerate(schema.fields))


def scan(session: SparkSession, corrections: Path, query: str, sink: str, ddl: str, *, weighted: bool) -> tuple[DataFrame, dict[str, Any]]:
    """Return the DataFrame of the rows of a sink with these columns, and how the kernel reads it."""
    options = {
        "path": paths.literal(place(corrections, query, sink)),
        "reader": "parquet",
        "ddl": f"{ddl}, {WEIGHT} bigint" if weighted else ddl,
        "by": "name",
        "moves": "true",
        "pending": "true",
    }
    return session.readStream.format("headrace.source.Files").options(**options).load(), {"kind": "columns", "schema": ddl}


def log(corrections: Path, query: str, folder: Path, epoch: int, sinks: Mapping[str, Target]) -> Mapping[str, str]:
    """Log the files of a query's sinks, by name, as those of an epoch, in Spark's `folder` of the query. Returns the
    offsets of their scans.
    """
    offsets = {}
    for sink in sinks:
        name = offset_name(correction_scan(sink))
        entries = [
            {"path": file.as_uri(), "batchId": 0, "length": file.stat().st_size}
            for file in sorted(place(corrections, query, sink).glob("*.parquet"))
        ]
        (folder / "sources" / name).mkdir(parents=True)
        atomic.replace(folder / "sources" / name / "0", "\n".join(["v3", *map(json.dumps, entries), ""]))
        offsets[name] = json.dumps({"logOffset": 0}, separators=(",", ":"))
    atomic.replace(corrections / query / _EPOCH, text_of({"epoch": epoch, "sinks": {sink: _json(one) for sink, one in sinks.items()}}))
    return offsets


def _json(target: Target) -> dict[str, Any]:
    """Return a target as JSON. Versions that cannot replace rows do not know `whole`, and must not."""
    return {name: value for name, value in asdict(target).items() if name != "whole" or value}


def undelivered(corrections: Path, query: str, folder: Path) -> dict[str, Target]:
    """Return the sinks of a query that did not get their corrections, and what these are for. `folder`: Spark's folder of the query."""
    entry = read(corrections / query / _EPOCH)
    if entry is None or logged(folder, "commits") >= int(entry["epoch"]):
        return {}
    return {sink: Target(**one) for sink, one in entry["sinks"].items()}


def epoch(corrections: Path, query: str) -> int | None:
    """Return the epoch that delivers the corrections of a query; None if there are none."""
    entry = read(corrections / query / _EPOCH)
    return None if entry is None else int(entry["epoch"])


def forget(corrections: Path, query: str) -> None:
    """Remove the corrections of a query, which its sinks have got."""
    if (corrections / query).is_dir():
        shutil.rmtree(corrections / query)
