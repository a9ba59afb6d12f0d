"""A fresh start that Kafka refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.servers.kafka import USER, Broker
from tests.spark.engine.jobs import files, lines
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")


def run(broker: Broker, folder: Path, *, fresh: bool = False, **options: Any) -> None:
    rows = hr.read.memory([(1,), (2,)], "id int", name="rows")
    topic = rows.write.kafka("fresh", name="topic", **{"servers": broker.servers, **options})
    job = hr.job("fresh", rows.write.files(folder / "kept", format="json", name="kept"), topic)
    job.run(checkpoint=folder / "ck", fresh=fresh, progress=False)


def test_nothing_is_emptied(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the checkpoint nor another sink, whatever keeps the topic from being opened."""
    broker.create_topic("fresh", 1)
    run(broker, tmp_path)

    def touched() -> tuple[Any, ...]:
        return files(tmp_path / "ck"), files(tmp_path / "kept")

    before, hide = touched(), {broker.servers: "<server>", broker.secured: "<server>"}
    monkeypatch.setenv("KAFKA_PASSWORD", "wrong")
    security = {"protocol": "SASL_PLAINTEXT", "user": USER, "password": hr.secret("KAFKA_PASSWORD")}
    check_error(
        """
        KAFKA_DENIED: Kafka at <server> denies access to the user reader: Authentication failed: Invalid username or password
          at test_kafka_fresh.py:*: topic = rows.write.kafka("fresh", name="topic", **{"servers": broker.servers, **options})
          hint: check the user and the password; each start reads the password again
          more: headrace error KAFKA_DENIED
        """,
        lambda: run(broker, tmp_path, fresh=True, servers=broker.secured, security=security),
        hide=hide,
    )
    assert touched() == before and len(broker.consume("fresh")) == 2
    broker.delete_topic("fresh")
    check_error(
        """
        TOPIC_MISSING: topic: the topic fresh at <server> no longer exists
          at test_kafka_fresh.py:*: topic = rows.write.kafka("fresh", name="topic", **{"servers": broker.servers, **options})
          hint: create the topic and start over with fresh=True, which writes all rows again; to continue without the rows that were lost, also delete <note>
          more: headrace error TOPIC_MISSING
        """,
        lambda: run(broker, tmp_path),
        hide={**hide, str(tmp_path / "ck" / "kafka" / "topic.json"): "<note>"},
    )
    check_error(
        """
        TOPIC_MISSING: there is no topic fresh at <server>
          at test_kafka_fresh.py:*: topic = rows.write.kafka("fresh", name="topic", **{"servers": broker.servers, **options})
          hint: create it, or let headrace create it: create={"partitions": 4}
          more: headrace error TOPIC_MISSING
        """,
        lambda: run(broker, tmp_path, fresh=True),
        hide=hide,
    )
    assert touched() == before and "fresh" not in broker.topics()
    run(broker, tmp_path, fresh=True, create={"partitions": 1})
    assert len(lines(tmp_path / "kept")) == len(broker.consume("fresh")) == 2
