"""The Redis sink, checked by headrace's own suite for connectors."""

from __future__ import annotations

import pytest

from headrace import ports
from headrace.connectors.redis.sink import Sink
from headrace.ports.secrets import Secret
from headrace.testing.conformance import check_sink
from tests.servers.redis import VARIABLE, Redis


@pytest.mark.full
def test_the_sink_conforms(spark: object, redis: Redis) -> None:
    def make(place: ports.Elsewhere, key: tuple[str, ...]) -> Sink:
        return Sink(redis.url, prefix=f"{place.name}:", key=key or ("id",), password=Secret(env=VARIABLE))

    report = check_sink(make, rows=1_000_000, points=("before sink commit", "in sink commit", "before the commit log"))
    print(report)
    assert {line.outcome for line in report.lines} == {"passed"}, report
