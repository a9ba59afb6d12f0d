"""The call that starts a query in the JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.jvm.callbacks import listen
from headrace.jvm.frames import java_frames, java_session
from headrace.jvm.session import jvm
from headrace.spark.run.epochs import Committer
from headrace.spark.run.failures import of_java
from headrace.spark.run.loader import Loader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def start_query(
    spark: SparkSession,
    document: Mapping[str, Any],
    scans: Mapping[str, DataFrame],
    committer: Committer,
    checkpoint: Path,
    *,
    every: int,
    manual_clock: bool,
    log: Path,
    loader: Loader,
    held: bool = False,
) -> Any:
    """Start the query of a document. Returns the kernel's `Run`. `held`: it only repeats the epoch that was logged last, and then waits."""
    listen(spark)
    try:
        return jvm(spark).headrace.run.Kernel.start(
            java_session(spark),
            json.dumps(document),
            java_frames(spark, scans),
            committer,
            str(checkpoint),
            str(every),
            manual_clock,
            loader,
            held,
        )
    except Exception as problem:
        error = of_java(problem, log)
        if error is None:
            raise
        raise error from None
