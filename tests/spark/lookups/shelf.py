"""A table outside that a test fills, breaks and watches: `scala/Shelf.scala`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import SparkSession

from headrace import ports
from headrace.jvm.packages import attach
from headrace.ops.tables import Table
from headrace.schema import Struct, parse_schema

PACKAGES = ports.Packages(name="shelf", scala=Path(__file__).parent / "scala")


class ShelfLookup(ports.Lookup):
    connector: ClassVar[str] = "shelf"

    def __init__(self, schema: str = "k string, v string", **options: str) -> None:
        self.schema = parse_schema(schema)
        self._options = options

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=False, why="the shelf is filled anew")

    @property
    def needs(self) -> ports.Packages:
        return PACKAGES

    @property
    def key(self) -> tuple[str, ...]:
        return ("k",)

    def options(self) -> dict[str, Any]:
        return dict(self._options)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> ShelfLookup:
        return cls(schema.ddl, **options)

    def ask(self, context: ports.LookupContext) -> dict[str, Any]:
        return {"class": "shelf.Shelf", "options": self._options}


class Shelf:
    """The shelf as a test holds it."""

    def __init__(self, spark: SparkSession) -> None:
        attach(spark, [PACKAGES])
        self.jvm: Any = spark._jvm
        self.object = self.jvm.shelf.Shelf

    def table(self, constant: bool = False, **options: str) -> Table:
        return Table(ShelfLookup(**options), "shelf", constant)

    def put(self, **values: str | list[str]) -> None:
        for key, value in values.items():
            self.object.put(key, self.jvm.java.util.ArrayList([value] if isinstance(value, str) else value))

    @property
    def questions(self) -> list[list[str]]:
        return [question.split() for question in self.object.questions()]
