"""The pages of connectors that need a server, run with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.test_examples import ROOT, run
from tests.servers.kafka import Broker, Record
from tests.servers.tables import Served

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_kafka(broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    broker.create_topic("orders", 2)
    orders = [("north", "10.50", 0), ("south", "7.00", 1), ("north", "2.00", 0)]
    broker.produce(
        "orders",
        [Record(json.dumps({"id": n, "shop": shop, "amount": amount}), partition=at) for n, (shop, amount, at) in enumerate(orders)],
    )
    run(ROOT / "docs" / "connectors" / "kafka.md", {"localhost:9092": broker.servers})


def test_year(broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tutorial: a year of files and a live topic as one source."""
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / "guides" / "year.md", {"localhost:9092": broker.servers})


@pytest.mark.full
def test_correct(pg: Served, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tutorial: a mistake in a query is mended, and what was wrong in PostgreSQL with it."""
    monkeypatch.chdir(tmp_path)
    password = pg.server.variable
    place = pg.url.removeprefix("postgresql://")
    run(
        ROOT / "docs" / "guides" / "correct.md",
        {"postgresql://app@db/shop": f"postgresql://app@{place}", "postgresql://db/shop": pg.url, "DB_PASSWORD": password},
    )
