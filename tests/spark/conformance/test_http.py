"""The HTTP sink over a server that keeps idempotency keys passes the suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import from_json

from headrace import ports
from headrace.schema import Struct
from headrace.testing.conformance import check_sink
from tests.unit.connectors.receiver import Receiver

pytest.importorskip("urllib3")


@pytest.fixture
def receivers() -> Iterator[dict[str, Receiver]]:
    """Those of the places that were asked for, by name."""
    with ExitStack() as open_:
        yield Receivers(open_)


class Receivers(dict[str, Receiver]):
    def __init__(self, open_: ExitStack) -> None:
        self._open = open_

    def __missing__(self, name: str) -> Receiver:
        self[name] = self._open.enter_context(Receiver())
        return self[name]


@pytest.mark.full
def test_a_server_that_keeps_keys(spark: SparkSession, receivers: dict[str, Receiver]) -> None:
    def make(place: ports.Elsewhere, key: tuple[str, ...]) -> ports.Sink:
        return ports.sink_class("http").from_options({"url": receivers[place.name].url, "idempotent": True, "batch": 10_000})

    def read(sink: Any, schema: Struct) -> list[tuple[Any, ...]]:
        [server] = [one for one in receivers.values() if one.url == sink.url]
        frame = spark.createDataFrame([(line,) for body in server.kept.values() for line in body.splitlines()], "value string")
        rows = (
            frame.select(from_json("value", f"{schema.ddl}, _change string", {"mode": "FAILFAST"}).alias("row")).select("row.*").collect()
        )
        net: Counter[Any] = Counter()
        shown = {}
        for *row, change in map(tuple, rows):
            net[repr(row)] += -1 if change == "delete" else 1
            shown[repr(row)] = tuple(row)
        return [shown[text] for text, n in net.items() for _ in range(n)]

    check_sink(make, read, rows=20_000, points=("before sink commit", "in sink commit", "after sink commit", "before the record"))
