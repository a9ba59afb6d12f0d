"""Why a row is in a result that comes from a topic: partitions and offsets, a key that is replaced, and records that are gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace as hr
from tests.servers.kafka import Broker, Record

pytestmark = pytest.mark.usefixtures("spark")


def records(*rows: tuple[str, int, int]) -> list[Record]:
    return [Record(json.dumps({"card": card, "amount": amount}), key=card, partition=partition) for card, amount, partition in rows]


def job(broker: Broker, topic: str) -> hr.Job:
    schema = "card string, amount int"
    charges = hr.read.kafka(topic, servers=broker.servers, schema=schema, end="latest", name="charges")
    limits = hr.read.kafka(topic, servers=broker.servers, schema=schema, change_format="upsert", key="card", end="latest", name="limits")
    return hr.job(
        "spending",
        charges.group_by("card").agg(spent="sum(amount)").write.files("spent", format="json", mode="changes", name="spent"),
        limits.write.files("limits", format="json", mode="changes", name="last"),
    )


def places(why: hr.Why) -> list[tuple[str | None, int | None, int]]:
    return sorted((one.file, one.position, one.row["amount"]) for source in why.sources for one in source.rows)


def test_partitions_and_offsets(broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("why", 2)
    broker.produce("why", records(("a", 3, 0), ("b", 5, 1), ("a", 4, 0), ("b", 6, 1)))
    state = tmp_path / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        job(broker, "why").run(checkpoint=state, progress=False)
        broker.produce("why", records(("a", 900, 0)))  # not read yet
        assert places(hr.why(state, "spent", {"card": "a"})) == [("why-0", 0, 3), ("why-0", 1, 4)]
        assert places(hr.why(state, "last", {"card": "b"})) == [("why-1", 1, 6)]
        broker.delete_records("why", 0, 1)
        with pytest.raises(hr.CheckpointError, match="HISTORY_GONE"):
            hr.why(state, "spent", {"card": "a"})
        assert not (state / "candidate").exists()
