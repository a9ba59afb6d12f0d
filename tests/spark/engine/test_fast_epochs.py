"""More than a hundred epochs between two rounds of Spark's maintenance: state stays in bounds, and a checkpoint in which it did not is freed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.jvm.packages import attach
from headrace.jvm.session import jvm
from headrace.packages import Packages
from tests.spark.engine.jobs import Count, lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def unmaintained(spark: SparkSession) -> Iterator[Any]:
    """The session, while Spark itself uploads no snapshot."""
    interval = "spark.sql.streaming.stateStore.maintenanceInterval"
    state = jvm(spark).org.apache.spark.sql.execution.streaming.state
    attach(spark, [Packages(scala=Path(__file__).parent / "scala", name="engine")])
    state.StateStore.stopMaintenanceTask()
    spark.conf.set(interval, "1h")
    yield spark
    spark.conf.unset(interval)
    state.StateStore.stopMaintenanceTask()


def put(folder: Path, numbers: range) -> None:
    """A file a number, which is an epoch each."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        (folder / f"{number:05}.json").write_text(json.dumps({"card": f"card {number % 7}"}) + "\n")


def job(folder: Path) -> hr.Job:
    cards = hr.read.files(folder / "in", format="json", schema="card string", files_per_epoch=1, name="cards")
    return hr.job("fast", cards.key_by("card").process(Count).write.files(folder / "out", format="json"))


@pytest.mark.full
def test_a_hundred_epochs_upload_a_snapshot_and_a_long_lineage_is_freed(unmaintained: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", range(125))
    job(tmp_path).run(checkpoint=tmp_path / "state", flush=False, partitions=2, progress=False)
    query = tmp_path / "state/queries/main"
    uploaded = [{int(file.name.partition("_")[0]) for file in (query / "state/0" / part).glob("*.zip")} for part in "01"]
    assert [max(versions) >= 100 for versions in uploaded] == [True, True]

    aged = jvm(unmaintained).org.apache.spark.sql.execution.streaming.state.headrace.Ageing
    assert aged.age(unmaintained._jsparkSession, str(query)) == 2
    put(tmp_path / "in", range(125, 130))
    job(tmp_path).run(checkpoint=tmp_path / "state", progress=False)
    assert lines(tmp_path / "out") == [{"card": f"card {number % 7}", "n": number // 7 + 1} for number in range(130)]
