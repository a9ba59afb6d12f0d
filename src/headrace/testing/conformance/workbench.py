"""A job upstream of a sink to be checked: the engine reads rows from files, one file per epoch."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace import ports
from headrace.jvm.session import session
from headrace.ops.read import read
from headrace.ops.sink import sink as sink_of
from headrace.ops.stream import Stream
from headrace.plan import Node, Plan
from headrace.plan.meaning import meaning
from headrace.schema import Struct, parse_schema
from headrace.spark.checkpoint.folder import stored_in
from headrace.spark.checkpoint.record import Record
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.run.failures import failure
from headrace.spark.run.start import begin, start
from headrace.testing.conformance.samples import Row

PARTITIONS = 2
CHANGE = "_does"
QUERY = "main"
SINK = "out"


@dataclass
class Workbench:
    """Rows for one sink. `make` returns a new instance of the sink, as a new process would; with `changes` rows are inserts or deletes."""

    folder: Path
    make: Callable[[], ports.Sink]
    ddl: str
    mode: str | None = None
    changes: bool = False
    files: int = 0

    @property
    def schema(self) -> Struct:
        return parse_schema(self.ddl)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def input(self) -> Path:
        return self.folder / "in"

    def feed(self, rows: Sequence[Row], *, gone: Sequence[Row] = ()) -> None:
        """Add an epoch that inserts rows and deletes the `gone` ones."""
        ddl = f"{self.ddl}, {CHANGE} string" if self.changes else self.ddl
        changes = [(*row, "delete") for row in gone] + [(*row, "insert") for row in rows] if self.changes else list(rows)
        memory: Any = ports.source_class("memory")
        laid = self.folder / "laid"
        memory(changes, ddl).beginning(session(), ports.Elsewhere("rows", laid), max(len(changes), 1), 1)
        self.input.mkdir(parents=True, exist_ok=True)
        next(laid.glob("*.parquet")).rename(self.input / f"{self.files:05}.parquet")
        shutil.rmtree(laid)
        self.files += 1

    def plan(self, sink: ports.Sink, shape: Callable[[Stream], Stream] = lambda rows: rows) -> Plan:
        """Return the plan that writes the rows, transformed by `shape`, to the sink."""
        ddl = f"{self.ddl}, {CHANGE} string" if self.changes else self.ddl
        column = CHANGE if self.changes else None
        rows = read.files(self.input, format="parquet", schema=ddl, files_per_epoch=1, name="rows", change_column=column)
        end: Node = sink_of(shape(rows)._node, sink, self.mode, SINK)
        return Plan.of("conformance", [end], meaning())

    def run(self, sink: ports.Sink | None = None, shape: Callable[[Stream], Stream] = lambda rows: rows) -> None:
        """Write the unread rows, by default to a new instance of the sink; raise the error of a failed run."""
        job = compile(self.plan(sink or self.make(), shape))
        start(job, self.checkpoint, partitions=PARTITIONS, flush=False).wait()

    def mark(self) -> ports.Mark | None:
        """Return the mark that the next start reads from the sink."""
        return self.make().mark(self._next(term=1))

    def rewind(self, mark: ports.Mark) -> ports.Rewind:
        """Return the work that takes the sink back to an earlier epoch."""
        return self.make().rewind(self._next(term=1000), mark)

    def _next(self, term: int) -> ports.SinkContext:
        stored = stored_in(self.checkpoint)
        assert stored is not None, "it has not run yet"
        return ports.SinkContext(
            job=stored.job,
            name=SINK,
            schema=self.schema,
            session=session(),
            checkpoint=self.checkpoint,
            checkpoint_id=stored.id,
            query=QUERY,
            mode=self.mode or "append",
            partitions=stored.partitions,
            term=term,
        )

    def written(self) -> ports.Mark:
        """Return the last epoch that the checkpoint has written to the sink."""
        return Record(self.checkpoint / "record", QUERY, 0).totals.written[SINK].mark


def read_all(job: SparkJob, checkpoint: Path, partitions: int = PARTITIONS) -> None:
    """Read all available input, even of an unbounded source; raise the error of a failed query."""
    begun = begin(job, checkpoint, partitions=partitions)
    try:
        for query in begun.queries:
            query.handle.processAllAvailable()
            if report := query.handle.exception():
                raise failure(report, None, query.committer.failed, query.committer.failed_sink)
    finally:
        for query in begun.queries:
            query.handle.stop()
        begun.close()


def forget_last(checkpoint: Path) -> None:
    """Remove the last epoch from Spark's commit log, so that the next run repeats it."""
    commits = checkpoint / "queries" / QUERY / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
