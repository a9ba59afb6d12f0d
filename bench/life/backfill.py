"""A deploy adds the 22 views of TPC-H to a job that has read the tables, against Spark batch, which answers the queries once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyarrow import parquet

import headrace as hr
from bench.state.measure import Goal, Result, progress
from bench.tpch.batch import Batch
from bench.tpch.data import tables
from bench.tpch.queries import QUERIES
from bench.tpch.tables import SCHEMAS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT = 3.0
"""How much longer than Spark batch a backfill may take."""
BATCH, BACKFILL, DELIVERY = "Spark batch, 22 queries", "deploy that adds the 22 views", "the run that fills their sinks"


def backfill(spark: SparkSession, folder: Path, scale: float) -> Result:
    """Return the seconds of Spark batch, and of a deploy that adds the views."""
    live = tables(scale)
    for name, table in live.items():
        (folder / "tables" / name).mkdir(parents=True)
        parquet.write_table(table, folder / "tables" / name / "1.parquet", row_group_size=200_000)
    batch = Batch(spark, folder / "batch")
    batch.hold(live)
    seconds: dict[str, list[float]] = {BATCH: [batch.milliseconds() / 1000 for _ in range(2)][1:]}
    job(folder, views=False).run(checkpoint=folder / "checkpoint", partitions=2, progress=False, flush=False)
    version = job(folder, views=True)
    for name, work in (
        (BACKFILL, lambda: version.deploy(checkpoint=folder / "checkpoint")),
        (DELIVERY, lambda: version.run(checkpoint=folder / "checkpoint", progress=False, flush=False)),
    ):
        began = time.perf_counter()
        work()
        seconds[name] = [time.perf_counter() - began]
        progress(f"{name}: {seconds[name][0]:,.1f} s")
    ratio = (seconds[BACKFILL][0] + seconds[DELIVERY][0]) / seconds[BATCH][0]
    rows = sum(table.num_rows for table in live.values())
    title = f"backfill of the 22 views of TPC-H, scale factor {scale:g}, {rows:,} rows"
    return Result(title, "s", seconds, [Goal("of Spark batch", ratio, LIMIT)], ["each step once; Spark batch the second time"])


def job(
    folder: Path, *, views: bool, follow: bool = False, also: Callable[[Mapping[str, hr.Stream]], Sequence[hr.Sink]] = lambda read: ()
) -> hr.Job:
    read = {
        name: hr.read.files(folder / "tables" / name, format="parquet", schema=schema, name=name, follow=follow)
        for name, schema in SCHEMAS.items()
    }

    def written(stream: hr.Stream, name: str) -> hr.Sink:
        return stream.write.files(folder / "views" / name, format="parquet", mode="changes", name=f"{name}_out")

    sinks = [
        written(hr.sql(f"SELECT count(*) AS n FROM {name}", **{name: table}).named(f"{name}_rows"), name) for name, table in read.items()
    ]
    with warnings.catch_warnings():
        # the queries of the specification end with an ORDER BY, which a table that is kept up to date lacks
        warnings.simplefilter("ignore", UserWarning)
        for query in QUERIES if views else ():
            sinks.append(written(hr.sql(query.text, **{name: read[name] for name in query.tables}).named(query.name), query.name))
    return hr.job("tpch", *sinks, *also(read))
