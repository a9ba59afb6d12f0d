"""The 22 views as one job over folders of changes, fed one epoch at a time."""

from __future__ import annotations

import json
import shutil
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headrace as hr
from bench.tpch.changing import Epoch
from bench.tpch.queries import QUERIES
from bench.tpch.tables import SCHEMAS

if TYPE_CHECKING:
    import pyarrow as pa

PATIENCE = 1800
OPERATION = "_op"


class Views:
    """A running job; `feed` gives it an epoch and returns the milliseconds of that.

    It looks for files only once a second, so that a waiting job takes no processor time from the one that works.
    """

    def __init__(self, folder: Path, *, partitions: int = 2) -> None:
        self._folder = folder
        self._files = 0
        self._batch = -1
        for name in SCHEMAS:
            (folder / name).mkdir(parents=True)
        tables = {name: self._table(name, schema) for name, schema in SCHEMAS.items()}
        with warnings.catch_warnings():
            # The specification's queries end with an ORDER BY, which a table that is kept up to date lacks.
            warnings.simplefilter("ignore", UserWarning)
            views = [hr.sql(query.text, **{name: tables[name] for name in query.tables}).named(query.name) for query in QUERIES]
        self._sinks = [view.write.memory(name=f"{query.name}_kept") for query, view in zip(QUERIES, views, strict=True)]
        self.job = hr.job("tpch", *self._sinks)
        self._run = self.job.start(checkpoint=str(folder / "checkpoint"), partitions=partitions, every="1 second")

    def _table(self, name: str, schema: str) -> hr.Stream:
        # a database's own log of changes needs no validation
        columns = f"{schema}, {OPERATION} string"
        path = self._folder / name
        return hr.read.files(path, format="parquet", schema=columns, follow=True, change_column=OPERATION, trusted=True, name=name)

    def feed(self, epoch: Epoch) -> float:
        """Put all files in place together; if an epoch begins between two of them, the time of both epochs counts."""
        self._files += 1
        hidden = [(self._written(name, taken_and_added(change.taken, change.added)), change.rows) for name, change in epoch.items()]
        for file, _ in hidden:
            file.rename(file.with_name(file.name.removeprefix(".")))
        return self._spent(sum(rows for _, rows in hidden))

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the current rows of each view."""
        return {query.name: sink.rows() for query, sink in zip(QUERIES, self._sinks, strict=True)}

    def stop(self) -> None:
        self._run.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _written(self, name: str, changes: pa.Table) -> Path:
        """Write the changes under a name that readers skip, so that none sees half a file."""
        from pyarrow import parquet

        file = self._folder / name / f".{self._files:06}.parquet"
        parquet.write_table(changes, file)
        return file

    def _spent(self, rows: int) -> float:
        end = time.monotonic() + PATIENCE
        spent, left = 0.0, rows
        while left > 0:
            report = self._last()
            if report.get("numInputRows") and report["batchId"] > self._batch:
                self._batch = report["batchId"]
                spent += float(report["durationMs"]["triggerExecution"])
                left -= report["numInputRows"]
            if self._run.error is not None:
                raise self._run.error
            if time.monotonic() > end:
                raise TimeoutError(f"no epoch within {PATIENCE} s")
            time.sleep(0.005)
        return spent

    def _last(self) -> dict[str, Any]:
        """Return Spark's report of the last epoch, which has more than the run's own progress."""
        (query,) = self._run._queries
        report: dict[str, Any] = json.loads(query.handle.lastProgress() or "{}")
        return report


def taken_and_added(taken: pa.Table, added: pa.Table) -> pa.Table:
    import pyarrow as pa

    def marked(table: pa.Table, operation: str) -> pa.Table:
        return table.append_column(OPERATION, pa.array([operation] * table.num_rows, pa.string()))

    return pa.concat_tables([marked(taken, "delete"), marked(added, "insert")])
