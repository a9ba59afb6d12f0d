"""Jobs with Kafka sinks in another number of partitions: each record once, and those of a key in their order."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.kafka import Sink
from headrace.errors import HeadraceError
from tests.servers.kafka import Broker
from tests.servers.test_kafka_sink import values

pytestmark = pytest.mark.usefixtures("spark")

KINDS = ("append", "upsert", "changes", "debezium")
KEYS, ROWS = 13, 60


class Ledger:
    """A job from files to a topic of each kind, and the records that are in the topics."""

    def __init__(self, broker: Broker, folder: Path, name: str) -> None:
        self.broker, self.folder, self.name = broker, folder, name
        self.checkpoint = folder / name
        self.topics = {kind: broker.create_topic(f"rescale-{name}-{kind}", 3) for kind in KINDS}
        (folder / "in").mkdir(exist_ok=True)

    def add(self, file: int) -> None:
        """Add an input file, an epoch of its own; later files change the sums of some keys."""
        lines = (json.dumps({"id": n, "k": f"k{n * n % (KEYS + file)}", "v": n % 7 - 3}) for n in range(file * ROWS, (file + 1) * ROWS))
        (self.folder / "in" / f"{file}.json").write_text("\n".join(lines) + "\n")

    @property
    def job(self) -> hr.Job:
        rows = hr.read.files(self.folder / "in", format="json", schema="id bigint, k string, v int", files_per_epoch=1, name="rows")
        sums = rows.group_by("k").agg(v="sum(v)").filter("v <> 0")
        at = {"servers": self.broker.servers}
        return hr.job(
            self.name,
            rows.write.kafka(self.topics["append"], **at, name="append"),
            sums.write.kafka(self.topics["upsert"], **at, key="k", name="upsert"),
            sums.write.kafka(self.topics["changes"], **at, key="k", mode="changes", name="changes"),
            sums.write.kafka(self.topics["debezium"], **at, key="k", value="debezium", name="debezium"),
        )

    def run(self, **options: Any) -> None:
        self.job.run(checkpoint=self.checkpoint, progress=False, flush=False, **options)

    def rescale(self, partitions: int) -> None:
        assert self.job.deploy(checkpoint=self.checkpoint, partitions=partitions).partitions == partitions

    @property
    def records(self) -> dict[str, Any]:
        """The rows of the first topic, and of each other the records of each key in their order."""
        content: dict[str, Any] = {}
        for kind, topic in self.topics.items():
            records = self.broker.consume(topic)
            if kind == "append":
                content[kind] = sorted(value["id"] for value in values(records))
                continue
            of = defaultdict(list)
            for record, value in zip(records, values(records), strict=True):
                of[record.key].append(value)
            content[kind] = dict(of)
        return content


def cut_off(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, sink: str) -> None:
    """Run an epoch whose tasks have written, and which a sink does not commit: the sinks before it have."""
    commit = Sink.commit

    def fails(self: Sink, epoch: int, staged: Any) -> None:
        if self._context.name == sink:
            raise OSError("the plug is out")
        commit(self, epoch, staged)

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "commit", fails)
        with pytest.raises(HeadraceError, match="the plug is out"):
            ledger.run()


def test_more_and_fewer_partitions(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, control = Ledger(broker, tmp_path, "one"), Ledger(broker, tmp_path, "control")
    one.add(0)
    control.run(partitions=2)
    one.run(partitions=2)
    assert one.records == control.records
    for number, (partitions, sink) in enumerate([(5, "append"), (3, "debezium")], 1):
        one.rescale(partitions)
        one.add(2 * number - 1)
        cut_off(one, monkeypatch, sink)
        with pytest.raises(hr.CheckpointError, match="EPOCH_UNFINISHED: append, changes, debezium, upsert: epoch .* was interrupted"):
            one.rescale(4)
        one.run()
        control.run()
        assert one.records == control.records
        one.add(2 * number)
        one.run()
        control.run()
        assert one.records == control.records
