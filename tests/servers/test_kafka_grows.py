"""Topics that get more partitions: all are read, and the records of a key stay in the partition where its older ones are."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.servers.kafka import Broker, Record
from tests.servers.test_kafka_sink import murmur2, values
from tests.spark.engine.pairs import held

pytestmark = pytest.mark.usefixtures("spark")

KEYS = [f"k{n}" for n in range(12)]


class Growing:
    """A job whose sinks write to topics that get more partitions."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.broker, self.folder = broker, folder
        self.topics = {kind: broker.create_topic(f"grows-{kind}", 2) for kind in ("upsert", "changes", "debezium", "by", "none")}
        (folder / "in").mkdir()

    def run(self, number: int, **options: Any) -> tuple[str, ...]:
        """Run over another file, which changes each key. Return the notices of the start."""
        lines = (json.dumps({"k": key, "v": number}) for key in KEYS)
        (self.folder / "in" / f"{number}.json").write_text("\n".join(lines) + "\n")
        rows = hr.read.files(self.folder / "in", format="json", schema="k string, v int", name="rows")
        newest = rows.group_by("k").agg(v="max(v)")
        at = {"servers": self.broker.servers}
        job = hr.job(
            "grows",
            newest.write.kafka(self.topics["upsert"], **at, key="k", name="upsert"),
            newest.write.kafka(self.topics["changes"], **at, key="k", mode="changes", name="changes"),
            newest.write.kafka(self.topics["debezium"], **at, key="k", value="debezium", name="debezium"),
            rows.write.kafka(self.topics["by"], **at, partition_by="k", name="by"),
            rows.write.kafka(self.topics["none"], **at, name="none"),
        )
        run = job.start(checkpoint=self.folder / "ck", progress=False, **options)
        run.wait()
        return run.notices

    def grow(self, partitions: int) -> None:
        for topic in self.topics.values():
            self.broker.add_partitions(topic, partitions)

    def places(self) -> dict[str, dict[str, set[int]]]:
        """The partitions with records of each key, in each topic."""
        places: dict[str, dict[str, set[int]]] = {}
        for kind in ("upsert", "changes", "debezium", "by"):
            of = defaultdict(set)
            for record in self.broker.consume(self.topics[kind]):
                key = json.loads(record.value or b"")["k"] if kind == "by" else (record.key or b"").decode()
                of[key].add(record.partition or 0)
            places[kind] = dict(of)
        return places


def among(partitions: int) -> dict[str, dict[str, set[int]]]:
    return {kind: {key: {murmur2(key.encode()) % partitions} for key in KEYS} for kind in ("upsert", "changes", "debezium", "by")}


@pytest.mark.full
def test_sinks(broker: Broker, tmp_path: Path) -> None:
    one = Growing(broker, tmp_path)
    assert one.run(0, partitions=2) == ()
    one.grow(5)
    line = "has 5 partitions now: rows with a key stay in the first 2, where earlier rows of the key are, until a start with fresh=True"
    assert sorted(one.run(1)) == [f"{sink} {line}" for sink in ("by", "changes", "debezium", "upsert")]
    assert one.run(2) == ()
    assert one.places() == among(2)
    # a consumer that replaces rows by key in each partition sees the newest, and one that follows changes sees them in order
    records = broker.consume(one.topics["upsert"])
    newest = {record.key: value for record, value in zip(records, values(records), strict=True)}
    assert Counter(value["v"] for value in newest.values()) == {2: len(KEYS)}
    assert one.run(3, fresh=True) == ()
    places = {kind: {key: among(2)[kind][key] | among(5)[kind][key] for key in KEYS} for kind in among(5)}
    assert one.places() == places


def test_settings_of_the_producer(broker: Broker, tmp_path: Path) -> None:
    """They still decide where keys go."""
    topic = broker.create_topic("grows-itself", 3)
    own = {"partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"}
    rows = hr.read.memory([("a",)] * 12, "k string", name="rows")
    hr.job("itself", rows.write.kafka(topic, servers=broker.servers, key="k", options=own, name="out")).run(
        checkpoint=tmp_path / "ck", progress=False, partitions=1
    )
    assert {record.partition for record in broker.consume(topic)} == {0, 1, 2}


def test_sources(broker: Broker, tmp_path: Path) -> None:
    """New partitions are read from their beginning: by a rescaled job, a fork of a savepoint before they were there, and a rebuild."""
    topic = broker.create_topic("grows-source")
    numbers = count()

    def produce(*partitions: int) -> None:
        rows = [(one, n) for one in partitions for n in islice(numbers, 10)]
        broker.produce(topic, [Record(json.dumps({"k": KEYS[n % 7], "n": n}), partition=one) for one, n in rows])

    def job(name: str, more: bool = False) -> hr.Job:
        # the first two records of the first partition are not read, and those of all others are
        rows = hr.read.kafka(topic, servers=broker.servers, schema="k string, n int", start={0: 2}, end="latest", name="rows")
        also = {"least": "min(n)"} if more else {}
        sums = rows.group_by("k").agg(count="count(*)", sum="sum(n)", **also)
        return hr.job(name, sums.write.files(tmp_path / name / "sums", format="json", mode="changes", name="sums"))

    def run(of: hr.Job) -> None:
        of.run(checkpoint=tmp_path / of.name / "state", progress=False, flush=False)

    def check(name: str, more: bool = False) -> None:
        """Compare what the changes in the sink make with what is in the topic."""
        of: dict[str, list[int]] = defaultdict(list)
        for record in broker.consume(topic):
            row = json.loads(record.value or b"")
            if row["n"] > 1:
                of[row["k"]].append(row["n"])
        rows = ({"k": key, "count": len(all), "sum": sum(all)} | ({"least": min(all)} if more else {}) for key, all in of.items())
        assert held(tmp_path / name / "sums") == {json.dumps(row, sort_keys=True): 1 for row in rows}

    produce(0)
    job("grown").run(checkpoint=tmp_path / "grown" / "state", progress=False, flush=False, partitions=2)
    job("grown").savepoint("before", checkpoint=tmp_path / "grown" / "state")
    broker.add_partitions(topic, 3)
    produce(1, 2)
    assert job("grown").deploy(checkpoint=tmp_path / "grown" / "state", partitions=3).partitions == 3
    run(job("grown"))
    check("grown")
    broker.add_partitions(topic, 4)
    produce(0, 3)
    hr.fork(tmp_path / "grown" / "state", job("forked"), checkpoint=tmp_path / "forked" / "state", at="before")
    run(job("forked"))
    check("forked")
    run(job("grown"))
    check("grown")
    broker.add_partitions(topic, 5)
    produce(4)
    job("grown", more=True).deploy(checkpoint=tmp_path / "grown" / "state")
    run(job("grown", more=True))
    check("grown", more=True)
