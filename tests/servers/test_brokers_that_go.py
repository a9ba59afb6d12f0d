"""Brokers that go away in the middle of an epoch, and come back: the job waits, or says so, and each row counts once."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.kafka import Sink
from tests.servers.kafka import Broker, Record
from tests.servers.problems import lines, problem
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

READ, WRITE = "Kafka sources", "Kafka sinks"
FULL = pytest.mark.full

# Kafka's clients are patient; a test is not.
IMPATIENT = {"default.api.timeout.ms": "3000", "request.timeout.ms": "2000"}
HASTY = {"max.block.ms": "3000", "request.timeout.ms": "2000", "delivery.timeout.ms": "4000"}


def ids(broker: Broker, topic: str) -> Counter[int]:
    return Counter(json.loads(record.value)["id"] for record in broker.consume(topic) if record.value is not None)


@problem(
    READ,
    "the brokers restart within a minute",
    "",
    "the job waits and continues: each record is in the result once",
)
@FULL
def test_a_broker_that_is_restarted(other_broker: Broker, tmp_path: Path) -> None:
    topic = other_broker.create_topic("away", 2)
    other_broker.produce(topic, [Record(json.dumps({"id": n}), partition=n % 2) for n in range(100)])
    read = hr.read.kafka(topic, servers=other_broker.servers, schema="id int", rows_per_epoch=30, name="away")
    run = hr.job("away", read.write.files(tmp_path / "out", format="json", name="out")).start(checkpoint=tmp_path / "ck")
    try:
        while not (tmp_path / "out").exists() or len(lines(tmp_path / "out")) < 30:
            assert not run.wait(0.05)
        other_broker.stop()
        other_broker.start()
        other_broker.produce(topic, [Record(json.dumps({"id": n}), partition=n % 2) for n in range(100, 200)])
        while len(lines(tmp_path / "out")) < 200:
            assert not run.wait(0.05)
    finally:
        run.stop()
    assert Counter(row["id"] for row in lines(tmp_path / "out")) == ids(other_broker, topic) == Counter(range(200))


@problem(
    READ,
    "the brokers stay unavailable",
    """
    KAFKA_UNREACHABLE: away: Timed out waiting for a node assignment
      hint: once the brokers answer again, the next start continues after the last committed epoch
      more: headrace error KAFKA_UNREACHABLE
    """,
    "the run ends after a minute; the next start reads the records that were not read",
)
@FULL
def test_a_broker_that_stays_away(other_broker: Broker, tmp_path: Path, says: str) -> None:
    topic = other_broker.create_topic("away")
    other_broker.produce(topic, [json.dumps({"id": n}) for n in range(50)])

    def job(end: str | None) -> hr.Job:
        read = hr.read.kafka(topic, servers=other_broker.servers, schema="id int", end=end, options=IMPATIENT, name="away")
        return hr.job("away", read.write.files(tmp_path / "out", format="json", name="out"))

    run = job(None).start(checkpoint=tmp_path / "ck")
    try:
        while not (tmp_path / "out").exists() or len(lines(tmp_path / "out")) < 50:
            assert not run.wait(0.05)
        other_broker.stop()
    except BaseException:
        run.stop()
        raise
    with pytest.raises(hr.HeadraceError) as raised:
        run.wait(300)
    check_error(says, raised.value)
    other_broker.start()
    other_broker.produce(topic, [json.dumps({"id": n}) for n in range(50, 60)])
    job("latest").run(checkpoint=tmp_path / "ck", progress=False)
    assert Counter(row["id"] for row in lines(tmp_path / "out")) == Counter(range(60))


@pytest.mark.full
@problem(
    WRITE,
    "the brokers restart within two minutes, in the middle of an epoch",
    "",
    "the job waits and continues: each row is written once",
)
def test_a_broker_that_goes_and_comes_back(other_broker: Broker, tmp_path: Path) -> None:
    topic = other_broker.create_topic("away", 2, flush_messages=1)
    rows = hr.read.memory([(n, "x" * 100) for n in range(60_000)], "id int, pad string", name="rows")
    running = hr.job("away", rows.write.kafka(topic, servers=other_broker.servers, name="out")).start(checkpoint=tmp_path / "ck")
    while not other_broker.consume(topic, read_committed=False):
        time.sleep(0.01)
    other_broker.kill()
    other_broker.start()
    running.wait()
    counts = ids(other_broker, topic)
    assert (min(counts), max(counts), len(counts), counts.total()) == (0, 59_999, 60_000, 60_000)


@problem(
    WRITE,
    "the brokers stay unavailable",
    """
    KAFKA_UNREACHABLE: out: away: <what Kafka's client waited for>
      hint: once the brokers answer again, the next start writes the epoch again; no row is lost or duplicated.
      more: headrace error KAFKA_UNREACHABLE
    """,
    "the run ends after two minutes; the next start writes the epoch exactly once",
)
@FULL
def test_a_broker_that_stays_away_from_a_writer(other_broker: Broker, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = other_broker.create_topic("away", 2, flush_messages=1)
    (tmp_path / "in").mkdir()
    for n in range(4):
        (tmp_path / "in" / f"{n}.json").write_text(json.dumps({"id": n}) + "\n")
    rows = hr.read.files(tmp_path / "in", format="json", schema="id int", files_per_epoch=1, name="rows")
    job = hr.job("away", rows.write.kafka(topic, servers=other_broker.servers, options=HASTY, name="out"))
    commit = Sink.commit

    def killed(self: Sink, epoch: int, staged: Any) -> None:
        commit(self, epoch, staged)
        if epoch == 1:
            other_broker.kill()

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "commit", killed)
        with pytest.raises(hr.HeadraceError) as raised:
            job.run(checkpoint=tmp_path / "ck", progress=False)
    check_error(says, re.sub(r"(?m)^(\S+: out: away: ).*", r"\1<what Kafka's client waited for>", str(raised.value)))
    other_broker.start()
    assert ids(other_broker, topic) == Counter(range(2))
    job.run(checkpoint=tmp_path / "ck", progress=False)
    assert ids(other_broker, topic) == Counter(range(4))


@FULL
def test_a_broker_that_is_away_when_an_epoch_is_committed(other_broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are in the topic: whether it is still the same can be asked after the next epoch."""
    topic = other_broker.create_topic("away", 2, flush_messages=1)
    (tmp_path / "in").mkdir()
    for n in range(3):
        (tmp_path / "in" / f"{n}.json").write_text(json.dumps({"id": n}) + "\n")
    rows = hr.read.files(tmp_path / "in", format="json", schema="id int", files_per_epoch=1, name="rows")
    hasty = {"default.api.timeout.ms": "2000", "request.timeout.ms": "2000"}
    job = hr.job("away", rows.write.kafka(topic, servers=other_broker.servers, options=hasty, name="out"))
    commit = Sink.commit

    def away(self: Sink, epoch: int, staged: Any) -> None:
        if epoch == 1:
            other_broker.stop()
        commit(self, epoch, staged)
        if epoch == 1:
            other_broker.start()

    monkeypatch.setattr(Sink, "commit", away)
    job.run(checkpoint=tmp_path / "ck", progress=False)
    assert ids(other_broker, topic) == Counter(range(3))
