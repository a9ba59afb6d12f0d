"""Rows that are part of the plan: VALUES and literal tables of queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.jvm.frames import java_session, python_frame
from headrace.jvm.session import jvm
from headrace.schema import Struct, parse_schema
from headrace.syntax import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PORTS = 1


class Source(ports.Source):
    """Reads constant rows that are part of the plan.

    The source is bounded and replayable. A stored plan has the rows, so it runs in any process.

    Args:
        columns: Pairs of a name and a type.
        rows: Lists of Spark SQL texts, one text for each column.

    Examples:
        >>> import headrace as hr
        >>> hr.read.values([("card", "string"), ("limit", "int")], [["'a'", "100"], ["'b'", "2 * 100"]], name="limits")
        <Stream limits: card, limit>
    """

    connector: ClassVar[str] = "values"
    schema: Struct

    def __init__(self, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> None:
        self._columns = [(str(name), str(kind)) for name, kind in columns]
        self._rows = [[str(text) for text in row] for row in rows]
        self.schema = parse_schema(", ".join(f"{quote(name)} {kind}" for name, kind in self._columns))
        self._digest = hashlib.sha256(json.dumps([self._columns, self._rows]).encode()).hexdigest()[:16]

    @property
    def traits(self) -> ports.SourceTraits:
        return ports.SourceTraits(bounded=True, replayable=True, why="the rows are part of the plan")

    def options(self) -> dict[str, Any]:
        return {"columns": [list(column) for column in self._columns], "rows": self._rows}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Source:
        return cls(**options)

    @property
    def default_name(self) -> str:
        return f"values-{self._digest[:8]}"

    def describe(self) -> str:
        return f"values ({len(self._rows)} row{'' if len(self._rows) == 1 else 's'})"

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        kernel = jvm(session).headrace.source
        # The same name in every process, because offsets in a checkpoint refer to this board.
        board = f"values-{self._digest}-{hashlib.sha256(context.time_zone.encode()).hexdigest()[:4]}"
        texts = json.dumps(self._rows)
        kernel.Board.fill(java_session(session), board, context.name, self.schema.ddl, texts, context.time_zone)
        frame = kernel.Memory.frame(java_session(session), board, context.name, self.schema.ddl)
        return python_frame(session, frame), {"kind": "columns"}

    def unread(self, session: SparkSession, context: ports.SourceContext) -> int | None:
        return 0
