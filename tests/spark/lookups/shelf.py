"""A table outside that a test fills, breaks and watches: `scala/Shelf.scala`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import SparkSession

import headrace as hr
from headrace import ports
from headrace.jvm import compile, java
from headrace.ops.tables import Table
from headrace.schema import Struct, parse_schema


class ShelfLookup(ports.Lookup):
    connector: ClassVar[str] = "shelf"

    def __init__(self, schema: str = "k string, v string", **options: str) -> None:
        self.schema = parse_schema(schema)
        self._options = options

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=False, why="the shelf is filled anew")

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

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        jar = folder / "shelf.jar"
        said = compile.scalac(java.find(), Path(__file__).parent / "scala", jar, compile.kernel_jar())
        assert said is None, said
        jvm: Any = spark._jvm
        spark.sparkContext._jsc.addJar(str(jar))  # type: ignore[attr-defined]  # the Java context is there
        jvm.java.lang.Thread.currentThread().getContextClassLoader().addURL(jvm.java.io.File(str(jar)).toURI().toURL())
        self.jvm = jvm
        self.object = jvm.shelf.Shelf

    def table(self, constant: bool = False, **options: str) -> Table:
        return Table(ShelfLookup(**options), "shelf", constant)

    def put(self, **values: str | list[str]) -> None:
        for key, value in values.items():
            self.object.put(key, self.jvm.java.util.ArrayList([value] if isinstance(value, str) else value))

    @property
    def asked(self) -> list[list[str]]:
        return [question.split() for question in self.object.asked()]


def looked_up(stream: hr.Stream, table: Table, **options: Any) -> hr.Stream:
    return stream.lookup(table, on="k", **options)
