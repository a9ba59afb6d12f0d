"""Corrections of sinks on real servers, read by their own clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.servers.kafka import Broker
from tests.servers.redis import VARIABLE
from tests.servers.tables import Served
from tests.spark.engine import corrected

pytestmark = [pytest.mark.usefixtures("spark")]


@pytest.mark.full
def test_postgresql(pg: Served, tmp_path: Path) -> None:
    corrected.check(tmp_path, lambda rows, place: rows.write.jdbc(pg.url, place, key="k", name="sums", **pg.options), 3)


@pytest.mark.full
def test_postgresql_while_the_job_runs(pg: Served, tmp_path: Path) -> None:
    corrected.check_running(tmp_path, lambda rows, place: rows.write.jdbc(pg.url, f"r_{place}", key="k", name="sums", **pg.options))


@pytest.mark.full
def test_kafka(broker: Broker, tmp_path: Path) -> None:
    """A topic may have records of others. The tasks that write the correction are more than before."""

    def write(rows: hr.Stream, place: str) -> Any:
        return rows.write.kafka(f"sums-{place}", servers=broker.servers, key="k", create={"partitions": 3}, name="sums")

    with pytest.raises(hr.CheckpointError, match=r"CANNOT_REBUILD: sums gets other rows than before, and .* may have rows of others"):
        corrected.check(tmp_path / "unasked", write)
    with pytest.raises(
        hr.CheckpointError, match="CANNOT_REBUILD: the rows of sums cannot be replaced: records of Kafka cannot be withdrawn"
    ):
        corrected.check(tmp_path / "replaced", lambda rows, place: write(rows, f"{place}-replaced"), on_change={"sums": "replace"})
    corrected.check(tmp_path / "asked", lambda rows, place: write(rows, f"{place}-asked"), 3, on_change={"sums": "retract"})


@pytest.mark.full
def test_redis(redis: Any, tmp_path: Path) -> None:
    secret = hr.secret(VARIABLE)
    corrected.check(
        tmp_path, lambda rows, place: rows.write.redis(redis.url, prefix=f"sums-{place}:", key="k", name="sums", password=secret)
    )


@pytest.mark.full
def test_kafka_while_the_job_runs(broker: Broker, tmp_path: Path) -> None:
    def write(rows: hr.Stream, place: str) -> Any:
        return rows.write.kafka(f"running-{place}", servers=broker.servers, key="k", create={"partitions": 3}, name="sums")

    corrected.check_running(tmp_path, write, {"sums": "retract"})


@pytest.mark.full
def test_redis_while_the_job_runs(redis: Any, tmp_path: Path) -> None:
    secret = hr.secret(VARIABLE)
    corrected.check_running(
        tmp_path, lambda rows, place: rows.write.redis(redis.url, prefix=f"running-{place}:", key="k", name="sums", password=secret)
    )
