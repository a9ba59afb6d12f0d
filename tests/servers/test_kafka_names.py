"""Sinks with names that could be taken for a task of another sink."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import headrace as hr
from tests.servers.kafka import Broker
from tests.servers.test_kafka_sink import values

pytestmark = pytest.mark.usefixtures("spark")

NAMES = ("out", "out-1", "out-1.", "out-start")


@pytest.mark.full
def test_each_has_its_own_transactions(broker: Broker, tmp_path: Path) -> None:
    """All write to one topic, so that they also have their markers at one place. At the end of an epoch the driver of each writes, too."""
    topic = broker.create_topic("names", 2)
    (tmp_path / "in").mkdir()
    for number in range(3):
        lines = (json.dumps({"n": 100 * number + n}) for n in range(20))
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines) + "\n")
        rows = hr.read.files(tmp_path / "in", format="json", schema="n int", name="rows")
        sinks = [
            rows.select("n", f"'{name}' AS sink").write.kafka(topic, servers=broker.servers, end_markers=True, name=name) for name in NAMES
        ]
        hr.job("names", *sinks).run(checkpoint=tmp_path / "state", partitions=3, progress=False)
    wanted = Counter((name, 100 * number + n) for name in NAMES for number in range(3) for n in range(20))
    assert Counter((row["sink"], row["n"]) for row in values(broker.consume(topic)) if row) == wanted
