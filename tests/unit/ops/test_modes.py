"""In which mode each sink is written, and that a refusal names only what the sink has."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import headrace as hr
from headrace.ports.registry import names_with

charges = hr.read.memory([], "card string, amount int", name="charges")
STREAMS = {
    "added": charges,
    "changed": charges.group_by("card").agg(spent="sum(amount)").named("spent"),
    "changed, without a known key": charges.group_by("card").agg(spent="sum(amount)").select(card="spent").named("amounts"),
}

WRITE: Mapping[str, Callable[..., Any]] = {
    "console": lambda stream, **options: stream.write.console(**options),
    "delta": lambda stream, **options: stream.write.delta("out", **options),
    "files": lambda stream, **options: stream.write.files("out", format="json", **options),
    "foreach_batch": lambda stream, **options: stream.write.foreach_batch(print, **options),
    "http": lambda stream, **options: stream.write.http("http://host", **options),
    "iceberg": lambda stream, **options: stream.write.iceberg("a.b", catalog={"type": "hadoop", "warehouse": "w"}, **options),
    "jdbc": lambda stream, **options: stream.write.jdbc("postgresql://host/db", "spent", **options),
    "kafka": lambda stream, **options: stream.write.kafka("topic", servers="host:9092", **options),
    "kafka, as Debezium": lambda stream, **options: stream.write.kafka("topic", servers="host:9092", value="debezium", **options),
    "memory": lambda stream, **options: stream.write.memory(**options),
    "redis": lambda stream, **options: stream.write.redis("redis://host", prefix="p", **options),
}

OPTIONS: list[dict[str, Any]] = [
    {**mode, **key} for mode in ({}, *({"mode": one} for one in ("append", "upsert", "changes"))) for key in ({}, {"key": "card"})
]


@pytest.fixture(autouse=True)
def _unused():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*never passed to hr.job")
        yield


def test_all_sinks_are_here() -> None:
    assert {name.split(",")[0] for name in WRITE} == set(names_with("Sink"))


def cured(refused: dict[str, Any], cure: str) -> dict[str, Any]:
    """The options after what a hint says."""
    options = dict(refused)
    for option, word in re.findall(r'(\w+)="([^"]+)"', cure):
        options[option] = "card" if word == "..." else word
    for option in re.findall(r"leave (\w+) out|without (\w+)", cure):
        options.pop(option[0] or option[1])
    return options


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("sink", WRITE)
def test_what_a_refusal_names_can_be_written(sink: str, stream: str, options: dict[str, Any]) -> None:
    for cure in cures(sink, stream, options):
        assert cured(options, cure) != options, cure
        WRITE[sink](STREAMS[stream], **cured(options, cure))


def cures(sink: str, stream: str, options: dict[str, Any]) -> list[str]:
    """What a refusal offers, one by one; nothing where the sink is written, or has another set of options."""
    try:
        WRITE[sink](STREAMS[stream], **options)
    except hr.HeadraceError as error:
        return [] if re.search("has no option|missing a required", error.message) else str(error.hint).split(", or ")
    return []


def test_a_key_is_offered_wherever_there_is_one() -> None:
    for sink in ("delta", "iceberg", "jdbc", "kafka"):
        with pytest.raises(hr.PlanError, match="without a key can only append") as raised:
            WRITE[sink](STREAMS["changed"])
        assert raised.value.hint is not None
        assert raised.value.hint.startswith('replace rows by a key: key="card", or ')
