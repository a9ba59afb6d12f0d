"""The broker of the tests does what the tests count on."""

from __future__ import annotations

import pytest

from tests.servers.kafka import Broker, Record


def test_what_is_produced_is_consumed(broker: Broker) -> None:
    topic = broker.create_topic("broker-plain", 2)
    broker.produce(topic, [Record("a", key="k", partition=1, timestamp=5, headers=(("h", b"x"),)), Record(None, partition=0)])
    assert broker.consume(topic) == [
        Record(None, None, 0, broker.consume(topic)[0].timestamp, (), 0),
        Record(b"a", b"k", 1, 5, (("h", b"x"),), 0),
    ]


def test_transactions_are_seen_when_they_are_committed(broker: Broker) -> None:
    topic = broker.create_topic("broker-transactions")
    broker.produce(topic, ["given up"], transaction="t", commit=False)
    broker.produce(topic, ["kept"], transaction="t")
    assert [record.value for record in broker.consume(topic)] == [b"kept"]
    assert [record.value for record in broker.consume(topic, read_committed=False)] == [b"given up", b"kept"]


@pytest.mark.full
def test_records_outlive_a_kill(other_broker: Broker) -> None:
    topic = other_broker.create_topic("broker-kill", 1, flush_messages=1)
    other_broker.produce(topic, ["1"])
    other_broker.kill()
    other_broker.start()
    other_broker.produce(topic, ["2"])
    other_broker.stop()
    other_broker.start()
    assert [record.value for record in other_broker.consume(topic)] == [b"1", b"2"]


def test_partitions_and_records_come_and_go(broker: Broker) -> None:
    topic = broker.create_topic("broker-more")
    broker.add_partitions(topic, 3)
    broker.produce(topic, [Record(str(n), partition=n % 3) for n in range(9)])
    broker.delete_records(topic, 1, 2)
    assert [(record.partition, record.offset) for record in broker.consume(topic)] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 2),
        (2, 0),
        (2, 1),
        (2, 2),
    ]
    broker.delete_topic(topic)
    assert topic not in broker._admin.list_topics(timeout=30).topics
