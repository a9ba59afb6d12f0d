"""Forks of a job that writes to Kafka: not to its topic, whatever the servers are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.servers.kafka import Broker

pytestmark = pytest.mark.usefixtures("spark")


def job(folder: Path, name: str, topic: str, servers: str) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="n int", name="rows")
    return hr.job(name, rows.write.kafka(topic, servers=servers, name="out"))


def put(folder: Path, n: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{n}.json").write_text(json.dumps({"n": n}) + "\n")


@pytest.mark.full
def test_topics_of_the_parent(broker: Broker, tmp_path: Path) -> None:
    topic, own = (broker.create_topic(name, 1) for name in ("fork-parent", "fork-own"))
    first, second = tmp_path / "first", tmp_path / "second"
    alias = broker.servers.replace("127.0.0.1", "localhost")
    put(tmp_path, 0)
    job(tmp_path, "first", topic, broker.servers).run(checkpoint=first, progress=False, partitions=1)
    for servers in (broker.servers, alias):
        with pytest.raises(HeadraceError, match="SINK_OF_PARENT") as refused:
            hr.fork(first, job(tmp_path, "second", topic, servers), checkpoint=second)
        assert refused.value.message == f"out would write to kafka {topic} at {servers}, where out of the job first writes"
    hr.fork(first, job(tmp_path, "second", own, broker.servers), checkpoint=second)
    put(tmp_path, 1)
    with pytest.raises(HeadraceError, match="SINK_OF_PARENT"):
        job(tmp_path, "second", topic, alias).run(checkpoint=second, progress=False)
    job(tmp_path, "second", own, broker.servers).run(checkpoint=second, progress=False)
    assert [[json.loads(record.value or b"") for record in broker.consume(name)] for name in (topic, own)] == [[{"n": 0}], [{"n": 1}]]
