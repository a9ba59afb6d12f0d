"""Sinks that write nothing outside the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from headrace import ports
from headrace.durable import atomic
from headrace.durable.sums import read, text_of, unreadable
from headrace.ports import paths


class Capture(ports.Sink):
    """The rows of a sink, as Parquet files in a folder, with a list of them for each epoch."""

    connector = "capture"

    def __init__(self, sink: ports.Sink, folder: Path) -> None:
        self.sink = sink
        self.folder = folder

    @property
    def epochs(self) -> dict[int, list[str]]:
        """The files of each epoch, as patterns that Spark reads."""
        lists = {int(path.stem): (path, read(path)) for path in self.folder.glob("*.json")}
        epochs: dict[int, list[str]] = {}
        for epoch, (path, one) in sorted(lists.items()):
            if one is None:
                raise unreadable(path, "it is gone")
            epochs[epoch] = [paths.escaped(self.folder / file) for file in one["files"]]
        return epochs

    @property
    def traits(self) -> ports.SinkTraits:
        return replace(self.sink.traits, placed=False, batched=False, marks=False, rewinds=False)

    @property
    def key(self) -> tuple[str, ...]:
        return self.sink.key

    def options(self) -> dict[str, Any]:
        return self.sink.options()

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        raise NotImplementedError("no plan has this sink")

    def open(self, context: ports.SinkContext) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def stage(self) -> dict[str, Any]:
        return {"kind": "files", "format": "parquet", "options": {}, "partition_by": [], "folder": paths.literal(self.folder)}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        atomic.replace(self.folder / f"{epoch}.json", text_of({"files": [file["path"] for file in staged.files]}))


class Dropping(ports.Sink):
    """A sink that drops its rows, for an operator whose state alone is needed."""

    connector = "dropping"

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits("idempotent", "it keeps nothing", accepts=("append", "changes"), lasting=False)

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        raise NotImplementedError("no plan has this sink")

    def open(self, context: ports.SinkContext) -> None: ...

    def stage(self) -> dict[str, Any]:
        return {"kind": "none"}

    def commit(self, epoch: int, staged: ports.Staged) -> None: ...
