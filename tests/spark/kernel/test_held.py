"""A process that was replaced on its checkpoint logs no epoch, and of one that is logged begins no task."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.kernel.queries import Query, route, source

ROW = "v int"


@pytest.mark.parametrize(
    ("answers", "logged"),
    [pytest.param(["replaced"], 1, id="before it is logged"), pytest.param([None, "replaced"], 2, id="before its tasks")],
)
def test_one_that_was_replaced(spark: SparkSession, tmp_path: Path, answers: list[str | None], logged: int) -> None:
    query = Query(spark, tmp_path, [source("s", ROW, route(1, ROW), delay_ms=None)], [], {1: ROW}, clock="none")
    try:
        query.commit(s=[(1,)])
        query.out.answers = list(answers)
        with pytest.raises(Exception, match="replaced"):
            query.commit(s=[(2,)])
    finally:
        query.stop()
    assert query.out.rows == {1: [(1,)]}
    log = Path(query.checkpoint) / "offsets"
    assert len([file for file in log.iterdir() if file.name.isdigit()]) == logged
