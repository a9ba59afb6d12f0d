"""Kafka, both ways, checked by headrace's own suite for connectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace import ports
from headrace.connectors.kafka.sink import Sink
from headrace.jvm.session import session
from headrace.schema import Struct
from headrace.testing.conformance import check_sink, check_source
from tests.servers.kafka import Broker, Record

# Spark writes milliseconds unless it is told otherwise.
WHOLE = """'timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", 'timestampNTZFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSS\""""


class Topic:
    """A topic of JSON with three partitions."""

    def __init__(self, place: ports.Elsewhere, schema: Struct, broker: Broker) -> None:
        self.schema = schema
        self.broker = broker
        self.topic = broker.create_topic(place.name, 3)
        self.count = 0

    def source(self) -> ports.Source:
        connector: Any = ports.source_class("kafka")
        return connector(self.topic, servers=self.broker.servers, schema=self.schema.ddl, end="latest", rows_per_epoch=7)  # type: ignore[no-any-return]

    def add(self, rows: Sequence[Any]) -> None:
        frame = session().createDataFrame(list(rows), self.schema.ddl)
        lines = [row.line for row in frame.selectExpr(f"to_json(struct(*), map({WHOLE})) AS line").collect()]
        self.broker.produce(self.topic, [Record(line, partition=(self.count + n) % 3) for n, line in enumerate(lines)])
        self.count += len(lines)

    def spoil(self) -> None:
        self.broker.produce(self.topic, ["{no json"])


@pytest.mark.full
def test_the_source_conforms(spark: object, broker: Broker) -> None:
    report = check_source(lambda place, schema: Topic(place, schema, broker))
    print(report)
    assert {line.outcome for line in report.lines} == {"passed"}, report


@pytest.mark.full
def test_the_sink_conforms(spark: object, broker: Broker) -> None:
    def make(place: ports.Elsewhere, key: tuple[str, ...]) -> ports.Sink:
        sink = Sink(place.name, servers=broker.servers, key=key or None, create={"partitions": 2})
        copy = sink.elsewhere(ports.Elsewhere(place.name, place.folder, broker.servers, place.mode))
        assert copy is not None
        return copy

    report = check_sink(make, rows=200_000, points=("in a task", "after staging", "before sink commit", "before the commit log"))
    print(report)
    assert {line.outcome for line in report.lines} == {"passed"}, report
