"""The source of a harness: rows that the test adds to a board, one epoch at a time."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.jvm.frames import java_session, python_frame
from headrace.jvm.session import jvm
from headrace.ports.weights import WEIGHT
from headrace.schema import Struct
from headrace.schema.values import rows_to_internal, zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class BoardSource(ports.Source):
    """One source of a harness. All sources share the board `board`, so that a commit is one epoch of all of them."""

    connector: ClassVar[str] = "memory"
    schema: Struct

    def __init__(self, board: str, name: str, schema: Struct, *, changes: bool = False, checked: bool = False) -> None:
        self.board = board
        self.name = name
        self.schema = schema
        self.changes = changes
        self.checked = checked

    @property
    def traits(self) -> ports.SourceTraits:
        kind = "changes" if self.changes else "append"
        return ports.SourceTraits(bounded=True, replayable=True, why="the rows stay in this process", changes=kind, checked=self.checked)

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> BoardSource:
        raise TypeError("the source of a harness exists in its test only")

    @property
    def default_name(self) -> str:
        return self.name

    def describe(self) -> str:
        return "harness"

    def converted(self, rows: list[Any], time_zone: str) -> list[tuple[Any, ...]]:
        """Returns rows as `pin` takes them, and refuses values that do not fit."""
        return rows_to_internal(rows, self.schema, zone(time_zone), self.name)

    def pin(self, spark: SparkSession, rows: list[tuple[Any, ...]], weights: list[int]) -> None:
        """Adds rows to the next epoch. Only a source of changes uses their weights."""
        if self.changes:
            rows = [(*row, weight) for row, weight in zip(rows, weights, strict=True)]
        # the JVM's unpickler reads protocol 2 best
        jvm(spark).headrace.source.Board.append(self.board, self.name, bytearray(pickle.dumps(rows, 2)), self._pinned)

    @property
    def _pinned(self) -> str:
        return f"{self.schema.ddl}, {WEIGHT} bigint" if self.changes else self.schema.ddl

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        frame = jvm(session).headrace.source.Memory.frame(java_session(session), self.board, self.name, self._pinned)
        return python_frame(session, frame), {"kind": "columns"}
