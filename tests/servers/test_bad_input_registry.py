"""Records with a schema registry that cannot be read, and a registry that does not do as it should."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.servers.kafka import Broker
from tests.servers.problems import letters, lines, problem
from tests.servers.registry import Registry
from tests.servers.test_kafka_registry import avro
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

WHERE = "Schema registry"
DEAD = "all other records are read"
FULL = pytest.mark.full
SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]}
WIDER = {**SCHEMA, "fields": [*SCHEMA["fields"], {"name": "more", "type": "int"}]}
GOOD = avro(1, SCHEMA, {"id": 7, "name": "seven"})

# The schemas 1 (Avro) and 2 (JSON) are there.
BAD = [
    pytest.param(
        GOOD[:9], id="short",
        marks=problem(WHERE, "a truncated Avro record", "schema 1: the record ends too early", DEAD),
    ),
    pytest.param(
        GOOD + b"x", id="long",
        marks=[FULL, problem(WHERE, "an Avro record with trailing bytes", "schema 1: there are bytes after the record", DEAD)],
    ),
    pytest.param(
        b'{"id": 7}', id="none",
        marks=[FULL, problem(
            WHERE, "a record without a schema id",
            "not in the wire format of a schema registry: it does not begin with a zero byte and a schema id", DEAD,
        )],
    ),
    pytest.param(
        b"\0\0\0\0\x4d" + GOOD[5:], id="unknown",
        marks=problem(WHERE, "an unknown schema id", "the registry has no schema with the id 77", DEAD),
    ),
    pytest.param(
        b"\0\0\0\0\x02{}", id="kind",
        marks=[FULL, problem(WHERE, "a schema id of another format", "schema 2 is JSON, not AVRO", DEAD)],
    ),
]  # fmt: skip


def job(broker: Broker, topic: str, place: Path, registry: Any, *, end: str | None = "latest") -> hr.Job:
    read = hr.read.kafka(topic, servers=broker.servers, value="avro", registry=registry, end=end, name="orders")
    return hr.job("bad", read.write.files(place / "out", format="json", name="out"))


@pytest.mark.parametrize("record", BAD)
def test_a_record_that_cannot_be_read(
    broker: Broker, registry: Registry, tmp_path: Path, says: str, request: pytest.FixtureRequest, record: bytes
) -> None:
    topic = broker.create_topic(f"bad-registry-{request.node.callspec.id}")
    assert (registry.register(f"{topic}-value", SCHEMA), registry.register("other", {"type": "object"}, "JSON")) == (1, 2)
    broker.produce(topic, [avro(1, SCHEMA, {"id": 0, "name": "a"}), record, avro(1, SCHEMA, {"id": 1, "name": "b"})])

    def run() -> hr.Summary:
        return job(broker, topic, tmp_path, registry.url).run(checkpoint=tmp_path / "ck", progress=False, flush=False)

    run()
    broker.produce(topic, [avro(1, SCHEMA, {"id": 2, "name": "c"})])
    assert (run().sources[0].read, run().sources[0].malformed) == (4, 1)
    assert sorted(row["id"] for row in lines(tmp_path / "out")) == [0, 1, 2]
    raw = "base64:" + base64.b64encode(record).decode()
    assert letters(tmp_path / "ck") == [("orders", says, f"{topic}-0", 1, raw)]


def stopped(broker: Broker, registry: Registry, topic: str, place: Path, settings: Any, spoil: Any, mend: Any, says: str) -> None:
    """The registry is spoilt while a job runs, which then needs a schema that it does not know; mended, the job goes on."""
    number = registry.register(f"{topic}-value", SCHEMA)
    broker.produce(topic, [avro(number, SCHEMA, {"id": 0, "name": "a"})])
    run = job(broker, topic, place, settings, end=None).start(checkpoint=place / "ck")
    try:
        while not lines(place / "out") if (place / "out").exists() else True:
            assert not run.wait(0.05)
        other = registry.register("elsewhere", WIDER)
        spoil()
        broker.produce(topic, [avro(other, WIDER, {"id": 1, "name": "b", "more": 1}), avro(number, SCHEMA, {"id": 2, "name": "c"})])
    except BaseException:
        run.stop()
        raise
    with pytest.raises(hr.HeadraceError) as raised:
        run.wait(300)
    check_error(says, raised.value, hide={registry.url: "<registry>"})
    mend()
    job(broker, topic, place, settings).run(checkpoint=place / "ck", progress=False)
    assert sorted((row["id"], row["name"]) for row in lines(place / "out")) == [(0, "a"), (1, "b"), (2, "c")]


@problem(
    WHERE,
    "the registry fails while a job runs",
    """
    REGISTRY_UNREACHABLE: the registry <registry> cannot be used: it returned HTTP 500
      hint: check the log of the registry; the next start continues after the last committed epoch
      more: headrace error REGISTRY_UNREACHABLE
    """,
    "the run ends, because the records may be valid; the next start reads them",
)
def test_a_registry_that_fails(broker: Broker, registry: Registry, tmp_path: Path, says: str) -> None:
    def broken(is_so: bool) -> None:
        registry.broken = is_so

    topic = broker.create_topic("bad-registry-fails")
    stopped(broker, registry, topic, tmp_path, registry.url, lambda: broken(True), lambda: broken(False), says)


@problem(
    WHERE,
    "a proxy answers instead of the registry while a job runs",
    """
    REGISTRY_UNREACHABLE: the registry <registry> cannot be used: its response is not JSON
      hint: check that the address is that of the registry, not of a proxy; the next start continues after the last committed epoch
      more: headrace error REGISTRY_UNREACHABLE
    """,
    "the run ends, because the records may be valid; the next start reads them",
)
def test_a_proxy_in_its_place(broker: Broker, registry: Registry, tmp_path: Path, says: str) -> None:
    def answers(what: bytes | None) -> None:
        registry.answers = what

    topic = broker.create_topic("bad-registry-proxy")
    stopped(broker, registry, topic, tmp_path, registry.url, lambda: answers(b"<html>Sign in</html>"), lambda: answers(None), says)
    assert letters(tmp_path / "ck") == []


@problem(
    WHERE,
    "the registry's password is changed while a job runs",
    """
    REGISTRY_UNREACHABLE: the registry <registry> cannot be used: it returned HTTP 401
      hint: check its user and password; the next start continues after the last committed epoch
      more: headrace error REGISTRY_UNREACHABLE
    """,
    "the run ends; the next start reads the password again, then the records",
)
@FULL
def test_a_password_that_is_changed(broker: Broker, registry: Registry, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "falsch")
    settings = {"url": registry.url, "user": "me", "password": hr.secret("REGISTRY_PASSWORD")}

    def lock() -> None:
        registry.locked = True

    topic = broker.create_topic("bad-registry-locked")
    stopped(broker, registry, topic, tmp_path, settings, lock, lambda: monkeypatch.setenv("REGISTRY_PASSWORD", "geheim"), says)


@problem(
    WHERE,
    "a wrong password",
    """
    REGISTRY_UNREACHABLE: the registry <registry> cannot be used: it returned HTTP 401 Unauthorized
      at test_bad_input_registry.py:*: read = hr.read.kafka(topic, servers=broker.servers, value="avro", registry=registry, end=end, name="orders")
      hint: check its user and password
      more: headrace error REGISTRY_UNREACHABLE
    """,
    "nothing was read or written; each start reads the password again",
)
@FULL
def test_a_wrong_password(broker: Broker, registry: Registry, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("bad-registry-password")
    registry.locked = True
    broker.produce(topic, [avro(registry.register(f"{topic}-value", SCHEMA), SCHEMA, {"id": 0, "name": "a"})])
    settings = {"url": registry.url, "user": "me", "password": hr.secret("REGISTRY_PASSWORD")}
    monkeypatch.setenv("REGISTRY_PASSWORD", "falsch")
    check_error(
        says,
        lambda: job(broker, topic, tmp_path, settings).run(checkpoint=tmp_path / "ck", progress=False),
        hide={registry.url: "<registry>"},
    )
    monkeypatch.setenv("REGISTRY_PASSWORD", "geheim")
    job(broker, topic, tmp_path, settings).run(checkpoint=tmp_path / "ck", progress=False)
    assert lines(tmp_path / "out") == [{"id": 0, "name": "a"}]
