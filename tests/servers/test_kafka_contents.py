"""What a topic is said to hold: rows whose commit Kafka has answered are there, also where a partition has not heard of it yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from headrace.connectors.kafka import contents
from headrace.connectors.kafka.cluster import Cluster
from headrace.schema import parse_schema
from tests.servers.kafka import Broker, Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def begun(broker: Broker) -> Any:
    """A producer in a transaction."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": "contents", "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    return producer


def contained(spark: SparkSession, broker: Broker, topic: str) -> list[tuple[Any, ...]]:
    frame = contents.records(
        spark, Cluster.of("test", broker.servers, None, None), topic, parse_schema("id int"), parsed=True, newest=False
    )
    rows = [tuple(row) for row in frame.collect()]
    return sorted(rows)


def after(looks: int, action: Callable[[], object]) -> Callable[..., Any]:
    """`look` as it is, with something that happens behind some of its answers."""
    look, seen = contents.look, []

    def looked(*arguments: Any) -> Any:
        answer = look(*arguments)
        seen.append(answer)
        if len(seen) == looks:
            action()
        return answer

    return looked


def test_a_commit_that_no_partition_knows_of_yet(spark: SparkSession, broker: Broker, begun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("contents-late")
    broker.produce(topic, [Record('{"id": 1}')])
    begun.produce(topic, b'{"id": 2}')
    begun.flush(30)
    monkeypatch.setattr(contents, "look", after(2, lambda: begun.commit_transaction(30)))
    assert contained(spark, broker, topic) == [(1,), (2,)]


def test_a_transaction_that_stays_open(spark: SparkSession, broker: Broker, begun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("contents-open")
    broker.produce(topic, [Record('{"id": 1}')])
    begun.produce(topic, b'{"id": 2}')
    begun.flush(30)
    monkeypatch.setattr(contents, "_PATIENCE", 0.2)
    assert contained(spark, broker, topic) == [(1,)]
    begun.abort_transaction(30)
