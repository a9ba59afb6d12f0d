"""Rows of this process: lists to read from, write to and look up rows in."""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.codes import Code, register
from headrace.connectors import beginnings, files
from headrace.errors import ConnectorError
from headrace.jvm.frames import java_session, python_frame
from headrace.jvm.session import jvm
from headrace.ports import option, weights
from headrace.ports.options import wrong
from headrace.schema import Struct, schema_of
from headrace.schema.values import rows_from_internal, rows_to_internal, zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PORTS = 1

register(
    {
        "ROWS_GONE": Code("ConnectorError", "user", "rows of a memory source in another process"),
    }
)

_SLICE = 20_000
_filling = threading.Lock()


class Source(ports.Source):
    """Reads rows of this Python process, given as tuples or dicts.

    Rows that do not fit are refused at once. Timestamps without a zone, also those given as strings, are in the job's time zone. The source
    is bounded and replayable: a script that runs again with the same rows resumes its checkpoint. A stored plan does not contain the rows:
    in another process it fails with `ROWS_GONE`.

    Args:
        rows: A list of tuples or dicts.
        schema: The columns, in Spark's DDL or as a pyspark type.

    Examples:
        >>> import headrace as hr
        >>> hr.read.memory([("a", 1, "2026-01-01 00:00:00")], "card string, amount int, ts timestamp", name="charges")
        <Stream charges: card, amount, ts>
    """

    connector: ClassVar[str] = "memory"
    feeds: ClassVar[bool] = True
    schema: Struct

    def __init__(self, rows: Iterable[Any], schema: Any) -> None:
        self.schema = schema_of(schema)
        if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
            raise wrong(f"read.memory: the rows cannot be {rows!r}", 'they are a list of tuples or dicts: [("a", 1), ("b", 2)]')
        # In UTC for now: invalid rows raise here, at the user's line; the job's time zone is known only when it runs.
        self._rows: list[Any] | None = list(rows)
        checked = rows_to_internal(self._rows, self.schema, UTC)
        self._digest = hashlib.sha256(repr((self.schema.ddl, checked)).encode()).hexdigest()
        self._count = len(checked)

    @property
    def traits(self) -> ports.SourceTraits:
        return ports.SourceTraits(bounded=True, replayable=True, why="the rows stay in this process")

    def options(self) -> dict[str, Any]:
        return {"rows": self._count, "digest": self._digest}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Source:
        source = cls.__new__(cls)
        source.schema = schema
        source._rows = None
        source._digest = options["digest"]
        source._count = options["rows"]
        return source

    def describe(self) -> str:
        return f"memory ({self._count} row{'' if self._count == 1 else 's'})"

    def check(self) -> None:
        if self._rows is None:
            raise _gone("a memory source")

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        self.check()
        kernel = jvm(session).headrace.source
        name = context.name
        # The same rows under the same name share a board, so a job that starts again in this process continues.
        board = f"{name}-{self._digest[:16]}-{hashlib.sha256(context.time_zone.encode()).hexdigest()[:4]}"
        with _filling:
            # Boards live as long as the JVM, longer than a session. One that is not filled was left by a failed attempt.
            if not kernel.Board.filled(board):
                kernel.Board.drop(board)
                kernel.Board.create(board)
                rows = rows_to_internal(self._rows or (), self.schema, zone(context.time_zone), name)
                for at in range(0, len(rows), _SLICE):
                    # Spark's unpickler reads protocol 2 fastest and most reliably.
                    kernel.Board.append(board, name, bytearray(pickle.dumps(rows[at : at + _SLICE], 2)), self.schema.ddl)
                kernel.Board.publish(board)
        frame = kernel.Memory.frame(java_session(session), board, name, self.schema.ddl)
        return python_frame(session, frame), {"kind": "columns"}

    def beginning(self, session: SparkSession, place: ports.Elsewhere, rows: int, epochs: int) -> files.Source:
        self.check()
        own = zone(str(session.conf.get("spark.sql.session.timeZone")))
        internal_rows = rows_to_internal((self._rows or [])[:rows], self.schema, own)
        beginnings.of_rows(session, rows_from_internal(internal_rows, self.schema, UTC), self.schema, place.folder, epochs)
        return files.Source(str(place.folder), format="parquet", schema=self.schema, files_per_epoch=1)


class Sink(ports.Options, ports.Sink):
    """Keeps rows in this Python process, for tests and notebooks.

    A row is a tuple. The sink has these methods:

    * `.rows()`: a list of the current rows; with a `key`, the newest row of each key.
    * `.changes()`: a list of `(epoch, "+" or "-", row)`, retractions first.
    * `.epochs()`: a list of `(epoch, rows)` with the rows that each epoch added.

    The sink is exactly once as long as the process lives. The checkpoint outlives the process: a later one resumes, and its sink has only
    the rows of its own runs.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> kept = charges.write.memory()
        >>> summary = hr.job("copy", kept).run(progress=False)
        >>> kept.rows()
        [('a', 1)]
    """

    connector: ClassVar[str] = "memory"
    on_refused = None
    shows: ClassVar[tuple[str, ...]] = ("rows", "epochs", "changes")

    key: tuple[str, ...] = option.columns("a unique key: a row replaces the row with the same key", default=None)

    def __post_init__(self) -> None:
        self._epochs: dict[int, list[tuple[tuple[Any, ...], int]]] = {}
        self._context: ports.SinkContext | None = None

    @property
    def traits(self) -> ports.SinkTraits:
        why = "an epoch that is written again replaces its rows, as long as the process runs"
        return ports.SinkTraits("idempotent", why, ("append", "changes", "upsert"), lasting=bool(self._epochs), in_process=True, swaps=True)

    def open(self, context: ports.SinkContext) -> None:
        if context.fresh or (self._context is not None and self._context.checkpoint_id != context.checkpoint_id):
            self._epochs.clear()
        self._context = context

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        context = self._context
        if staged.whole:
            self._epochs.clear()
        if context is not None and staged.count:
            self._epochs[epoch] = weights.changes_of(staged, context)
        else:
            self._epochs.pop(epoch, None)

    def rows(self) -> list[tuple[Any, ...]]:
        """All current rows, in the order of their epochs."""
        if self.key and self._context is not None:
            names = [name.lower() for name in self._context.schema.names]
            places = [names.index(name.lower()) for name in self.key]
            return weights.by_key(((row, 1 if sign == "+" else -1) for _, sign, row in self.changes()), places)
        return [
            row
            for row, weight in weights.net(change for _, changes in sorted(self._epochs.items()) for change in changes)
            for _ in range(weight)
        ]

    def epochs(self) -> list[tuple[int, list[tuple[Any, ...]]]]:
        """The rows that each epoch added, for epochs that added some."""
        added = [(epoch, [row for row, weight in changes for _ in range(weight)]) for epoch, changes in sorted(self._epochs.items())]
        return [(epoch, rows) for epoch, rows in added if rows]

    def changes(self) -> list[tuple[int, str, tuple[Any, ...]]]:
        """The changes of each epoch: its number, "+" or "-", and the row; retractions come first."""
        return [
            (epoch, "+" if weight > 0 else "-", row)
            for epoch, changes in sorted(self._epochs.items())
            for row, weight in sorted(changes, key=lambda change: change[1] > 0)
            for _ in range(abs(weight))
        ]


class Lookup(ports.Lookup):
    """Looks up rows of this Python process, given as tuples or dicts, which each executor keeps in memory.

    Timestamps without a zone, also those given as strings, are in the job's time zone. The rows do not change, so sinks downstream keep
    their guarantee. A stored plan does not contain the rows: in another process it fails with `ROWS_GONE`.

    Args:
        rows: A list of tuples or dicts.
        schema: The columns, in Spark's DDL or as a pyspark type.

    Examples:
        >>> import headrace as hr
        >>> orders = hr.read.memory([("a", 7), ("x", 1)], "customer string, amount int", name="orders")
        >>> customers = hr.lookup.memory([("a", "SE"), ("b", "DK")], "customer string, country string", name="customers")
        >>> sorted(hr.collect(orders.lookup(customers, on="customer")).rows())
        [('a', 7, 'SE'), ('x', 1, None)]
    """

    connector: ClassVar[str] = "memory"

    def __init__(self, rows: Iterable[Any], schema: Any) -> None:
        self.schema = schema_of(schema)
        if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
            raise wrong(f"lookup.memory: the rows cannot be {rows!r}", 'they are a list of tuples or dicts: [("a", 1), ("b", 2)]')
        self._rows: list[Any] | None = list(rows)
        checked = rows_to_internal(self._rows, self.schema, UTC)
        self._digest = hashlib.sha256(repr(sorted(map(repr, checked))).encode()).hexdigest()
        self._count = len(checked)

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=True, why="the rows stay in this process", whole=True)

    def options(self) -> dict[str, Any]:
        return {"rows": self._count}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Lookup:
        lookup = cls.__new__(cls)
        lookup.schema = schema
        lookup._rows = None
        lookup._digest = ""
        lookup._count = options["rows"]
        return lookup

    def describe(self) -> str:
        return f"memory ({self._count} row{'' if self._count == 1 else 's'})"

    @property
    def digest(self) -> str:
        return self._digest

    def check(self) -> None:
        if self._rows is None:
            raise _gone("a memory table")

    def load(self, session: SparkSession, context: ports.LookupContext) -> DataFrame:
        kernel = jvm(session).headrace.source
        rows = rows_to_internal(self._rows or (), self.schema, zone(context.time_zone), context.name)
        table = kernel.Board.table(java_session(session), bytearray(pickle.dumps(rows, 2)), self.schema.ddl)
        return python_frame(session, table)


def _gone(what: str) -> ConnectorError:
    return ConnectorError(
        "ROWS_GONE",
        f"the rows of {what} exist only in the process that built the job; a stored plan has only their number",
        hint="run the Python file that builds the job, or put the rows into files",
    )
