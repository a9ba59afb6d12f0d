"""The rows that the sinks of a job hold at a moment between two epochs, copied to the candidate of its checkpoint.

A sink in which rows replace each other cannot be read later as of that moment, so the rows themselves are copied, as net rows with weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from headrace.ports import paths
from headrace.ports.sink import frame_in
from headrace.spark.checkpoint import candidate
from headrace.spark.checkpoint.copying import CANDIDATE
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.correction import Form, net, under
from headrace.spark.run.outlets import at


def copy_rows(job: SparkJob, folder: Path, sinks: Collection[str]) -> None:
    """Copy the rows of some sinks of a job, and its positions. All queries of its checkpoint `folder` are between two epochs."""
    candidate.cut(folder)
    with under(job.settings) as spark:
        for sink in (sink for query in job.queries for sink in query.sinks if str(sink.name) in sinks):
            schema = job.schemas.of[str(sink.name)]
            form = Form(sink, schema)
            with at(sink):
                rows = form.weighed(frame_in(sink.connect(), spark, schema, sink.mode))
                to = rows_of(folder / CANDIDATE, str(sink.name))
                net(rows, form.columns).write.mode("overwrite").parquet(paths.literal(to))


def rows_of(place: Path, sink: str) -> Path:
    """Return the folder of a sink's rows in a candidate."""
    # names may have characters that a folder cannot
    return place / candidate.HELD / hashlib.sha256(sink.encode()).hexdigest()
