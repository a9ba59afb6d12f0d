"""Jobs with Kafka sinks in another number of partitions: each record once, and those of a key in their order."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.connectors.kafka import Sink
from headrace.errors import HeadraceError
from tests.faults.test_standby import until
from tests.servers.kafka import Broker
from tests.servers.kafka_child import job
from tests.servers.test_kafka_markers import Tasks, code, unfinished
from tests.servers.test_kafka_sink import ROWS as FILE_ROWS
from tests.servers.test_kafka_sink import check_once, end, start, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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

    def job(self, *, follow: bool = False) -> hr.Job:
        schema = "id bigint, k string, v int"
        rows = hr.read.files(self.folder / "in", format="json", schema=schema, files_per_epoch=1, follow=follow, name="rows")
        sums = rows.group_by("k").agg(v="sum(v)").filter("v <> 0")
        at = {"servers": self.broker.servers}
        return hr.job(
            self.name,
            rows.write.kafka(self.topics["append"], **at, name="append"),
            sums.write.kafka(self.topics["upsert"], **at, key="k", name="upsert"),
            sums.write.kafka(self.topics["changes"], **at, key="k", mode="changes", name="changes"),
            sums.write.kafka(self.topics["debezium"], **at, key="k", value="debezium", name="debezium"),
        )

    def start(self, **options: Any) -> hr.Run:
        return self.job(follow=True).start(checkpoint=self.checkpoint, progress=False, **options)

    def run(self, **options: Any) -> None:
        self.job().run(checkpoint=self.checkpoint, progress=False, flush=False, **options)

    def rescale(self, partitions: int, *, follow: bool = False) -> None:
        assert self.job(follow=follow).deploy(checkpoint=self.checkpoint, partitions=partitions).partitions == partitions

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


@pytest.mark.full
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
        with pytest.raises(hr.CheckpointError, match=r"EPOCH_UNFINISHED: append, changes, debezium, upsert: epoch .* was interrupted"):
            one.rescale(4)
        one.run()
        control.run()
        assert one.records == control.records
        one.add(2 * number)
        one.run()
        control.run()
        assert one.records == control.records


@pytest.mark.full
def test_while_it_runs_and_from_a_portable_savepoint(broker: Broker, tmp_path: Path) -> None:
    one, control = Ledger(broker, tmp_path, "running"), Ledger(broker, tmp_path, "unmoved")
    one.add(0)
    run = one.start(partitions=2)
    try:
        until(lambda: run.progress.rows == ROWS, "the first file is read")
        for number, partitions in enumerate((4, 1), 1):
            one.rescale(partitions, follow=True)
            one.add(number)
            until(lambda number=number: run.progress.rows == (number + 1) * ROWS, "the next file is read")
    finally:
        run.stop()
    assert run.error is None
    control.run(partitions=2)
    assert one.records == control.records
    one.job().savepoint("moves", checkpoint=one.checkpoint)
    hr.export_savepoint(one.checkpoint, "moves", tmp_path / "portable")
    one.checkpoint = tmp_path / "imported"
    hr.import_savepoint(tmp_path / "portable", checkpoint=one.checkpoint, partitions=3)
    one.add(3)
    one.run()
    control.run()
    assert one.records == control.records


@pytest.mark.full
@pytest.mark.parametrize(
    "point", ["in a task@out#2", "in sink commit@out#1", "in sink commit@out#3", "after staging@out#2", "before sink commit@out#1"]
)
def test_killed_after_a_rescale(broker: Broker, tmp_path: Path, point: str) -> None:
    """In the first epoch in more partitions, and then in fewer: the tasks that have committed theirs are not the same."""
    topic = broker.create_topic("rescale-" + re.sub(r"\W+", "-", point), 3)
    (tmp_path / "in").mkdir()
    files = count()

    def add() -> None:
        for file in islice(files, 2):
            lines = (json.dumps({"id": n, "k": f"k{n % 11}"}) for n in range(file * FILE_ROWS, (file + 1) * FILE_ROWS))
            (tmp_path / "in" / f"{file}.json").write_text("\n".join(lines) + "\n")

    def run(at: str = "") -> int:
        child = start(tmp_path, broker, topic, at)
        try:
            return child.wait(300)
        finally:
            if child.poll() is None:
                end(child)

    add()
    assert run() == 0, (tmp_path / "log").read_text()[-3000:]
    for partitions in (5, 3):
        job(tmp_path, broker.servers, topic).deploy(checkpoint=tmp_path / "state", partitions=partitions)
        add()
        (tmp_path / "acted").unlink(missing_ok=True)
        assert run(f"{point}:kill") != 0
        with pytest.raises(hr.CheckpointError, match="EPOCH_UNFINISHED"):
            job(tmp_path, broker.servers, topic).deploy(checkpoint=tmp_path / "state", partitions=2)
        assert run() == 0, (tmp_path / "log").read_text()[-3000:]
    check_once(broker, topic, 6 * FILE_ROWS)


def test_tasks_of_a_start_with_more(broker: Broker, spark: SparkSession) -> None:
    """A start with fewer tasks takes over while they work. None of its tasks has one of their transactional ids."""
    topic = broker.create_topic("rescale-fenced")
    old = Tasks(spark, broker, topic, 1, tasks=4)
    ended, begun, late = (old.open(0, partition=partition) for partition in (1, 2, 3))
    ended.write(old.row(1))
    ended.finish()
    begun.write(old.row(2))
    new = Tasks(spark, broker, topic, 2, tasks=2)
    with pytest.raises(Exception, match=r"fence|epoch") as fenced:
        begun.finish()
    assert code(fenced) == "KAFKA_FENCED"
    begun.abort()
    with pytest.raises(Exception, match="start 2 of the job has taken over") as lost:
        late.write(old.row(3))
    assert code(lost) == "SINK_FENCED"
    late.abort()
    following = new.open(1, partition=1)
    following.write(new.row(4))
    following.finish()
    assert [value["id"] for value in values(broker.consume(topic))] == [1, 4]
    # To a checkpoint with one partition that is put back, the markers of both tasks count.
    kafka: Any = new.jvm.headrace.kafka
    found = json.loads(kafka.Target.look(topic, f"by-hand-{topic}", 1, kafka.Clients.of(new.client)))
    assert (found["epoch"], found["partitions"]) == (1, 1)
    old.close()
    new.close()


def test_a_task_that_takes_over_an_id_late(broker: Broker, spark: SparkSession) -> None:
    """It has seen no later start, and one comes before it has the id, which that start may have fenced off already."""
    topic = broker.create_topic("rescale-late")
    old = Tasks(spark, broker, topic, 1)
    threads = old.jvm.java.lang.management.ManagementFactory.getThreadMXBean()

    def waits() -> bool:
        return any("headrace.kafka.Owned.settle" in str(one) for one in threads.dumpAllThreads(False, False))

    with ThreadPoolExecutor(1) as other, unfinished(broker, topic, f"by-hand-{topic}-0"):
        task, row = old.open(0), old.row(1)
        writing = other.submit(task.write, row)
        until(lambda: writing.done() or waits(), "the task waits for its marker")
        new = Tasks(spark, broker, topic, 2)
    with pytest.raises(Exception, match="start 2 of the job has taken over") as lost:
        writing.result()
    assert code(lost) == "SINK_FENCED"
    task.abort()
    assert broker.consume(topic) == []
    old.close()
    new.close()
