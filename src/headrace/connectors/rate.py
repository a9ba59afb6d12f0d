"""Rows made by the clock, for trying things out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.ports import option
from headrace.schema import parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PORTS = 1


class Source(ports.Options, ports.Source):
    """Generates rows at a fixed rate by the clock, without end, to try things out.

    A row has the columns `timestamp` and `value`, which counts from 0. The source is replayable: a second always has the same rows.

    Examples:
        >>> import headrace as hr
        >>> hr.read.rate(100)
        <Stream rate: timestamp, value>
    """

    connector: ClassVar[str] = "rate"
    schema = parse_schema("timestamp timestamp, value bigint")

    rows_per_second: int = option.number("rows per second", kw_only=False)

    @property
    def traits(self) -> ports.SourceTraits:
        return ports.SourceTraits(bounded=False, replayable=True, why="a second always has the same rows", ordered="time")

    def describe(self) -> str:
        return f"rate ({self.rows_per_second} rows per second)"

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        reader = session.readStream.format("rate").option("rowsPerSecond", str(self.rows_per_second))
        return reader.load(), {"kind": "columns"}
