"""A connector as a package of somebody else has it: a source, a sink and a lookup of JSON lines in a folder, and no more than they need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.schema import Struct, parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PORTS = 1


class Source(ports.Source):
    connector: ClassVar[str] = "tray"

    def __init__(self, folder: str, schema: str | Struct) -> None:
        self.folder = folder
        self.schema: Struct = parse_schema(schema) if isinstance(schema, str) else schema

    @property
    def traits(self) -> ports.SourceTraits:
        return ports.SourceTraits(bounded=True, replayable=True, why="files stay as they are")

    def options(self) -> dict[str, Any]:
        return {"folder": self.folder}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Source:
        return cls(schema=schema, **options)

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        return session.readStream.schema(self.schema.ddl).json(self.folder), {"kind": "columns"}


class Sink(ports.Sink):
    connector: ClassVar[str] = "tray"

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits("idempotent", "an epoch has a file of its own")

    def options(self) -> dict[str, Any]:
        return {"folder": str(self.folder)}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Sink:
        return cls(**options)

    def open(self, context: ports.SinkContext) -> None:
        self.names = context.schema.names
        self.folder.mkdir(parents=True, exist_ok=True)

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        lines = [json.dumps(dict(zip(self.names, row, strict=True)), default=str) for row in staged.rows()]
        (self.folder / f"{epoch}.json").write_text("\n".join(lines))


class Lookup(ports.Lookup):
    connector: ClassVar[str] = "tray"

    def __init__(self, folder: str, schema: str | Struct) -> None:
        self.folder = folder
        self.schema = parse_schema(schema) if isinstance(schema, str) else schema

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=True, why="files stay as they are", whole=True)

    def options(self) -> dict[str, Any]:
        return {"folder": self.folder}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Lookup:
        return cls(schema=schema, **options)

    def load(self, session: SparkSession, context: ports.LookupContext) -> DataFrame:
        return session.read.schema(self.schema.ddl).json(self.folder)
