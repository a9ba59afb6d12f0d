"""The markers by which tasks of the Kafka sink know what they have written, with a real broker: kept, renewed, forgotten, taken over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.connectors.kafka import Sink
from headrace.connectors.kafka.needs import KAFKA
from headrace.errors import HeadraceError
from headrace.jvm.packages import attach
from headrace.spark.run.failures import of_java
from tests.faults.test_standby import until
from tests.servers.kafka import GUEST, PASSWORD, Broker
from tests.servers.test_kafka_sink import FILES, ROWS, check_once, lay_out, run, values
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks have written, and the epoch is not committed."""

    def commit(self: Sink, epoch: int, staged: Any) -> None:
        raise OSError("the plug is out")

    monkeypatch.setattr(Sink, "commit", commit)


def test_an_epoch_that_comes_again_is_not_written_again(
    broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = broker.create_topic("sink-again", 2)
    lay_out(tmp_path)
    rows = hr.read.files(tmp_path / "in", format="json", schema="id bigint, k string", name="rows")
    job = hr.job("j", rows.write.kafka(topic, servers=broker.servers, name="out"))
    with monkeypatch.context() as patched:
        failing(patched)
        with pytest.raises(HeadraceError, match="the plug is out"):
            run(job, tmp_path)
    assert len(broker.consume(topic)) == FILES * ROWS
    run(job, tmp_path)
    check_once(broker, topic)


def test_markers_that_are_gone(broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("sink-expired")
    rows = hr.read.memory([(1,)], "id int", name="rows")
    job = hr.job("j", rows.write.kafka(topic, servers=broker.servers, name="out"))
    with monkeypatch.context() as patched:
        failing(patched)
        with pytest.raises(HeadraceError, match="the plug is out"):
            run(job, tmp_path)
    id = json.loads((tmp_path / "ck" / "job.json").read_text())["id"]
    groups = [group.group_id for group in broker._admin.list_consumer_groups().result().valid if id in group.group_id]
    assert f"headrace-{id}-out" in groups and len(groups) == 3
    for deletion in broker._admin.delete_consumer_groups(groups).values():
        deletion.result()
    note = tmp_path / "ck" / "kafka" / "out.json"
    # A start that is refused leaves nothing by which the next one would not be.
    for _ in range(2):
        check_error(
            """
            KAFKA_MARKERS_GONE: sink-expired: epoch 0 was interrupted, and Kafka has deleted the record of which tasks had written it
              at test_kafka_markers.py:*: job = hr.job("j", rows.write.kafka(topic, servers=broker.servers, name="out"))
              hint: check which of its rows are in the topic (header headrace.epoch = 0); to write the whole epoch again, delete <note>
              more: headrace error KAFKA_MARKERS_GONE
            """,
            lambda: run(job, tmp_path),
            hide={str(note): "<note>"},
        )
    note.unlink()
    run(job, tmp_path)
    assert len(broker.consume(topic)) == 2


def test_a_change_in_the_middle_of_an_epoch(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the epoch would lie in other tasks, some of which have committed theirs."""
    topic = broker.create_topic("sink-changed", 3)
    rows = hr.read.memory([(n,) for n in range(9)], "id int", name="rows")
    job, changed = (hr.job("j", of.write.kafka(topic, servers=broker.servers, name="out")) for of in (rows, rows.with_columns(x="1")))
    with monkeypatch.context() as patched:
        failing(patched)
        with pytest.raises(HeadraceError, match="the plug is out"):
            run(job, tmp_path)
    with pytest.raises(HeadraceError, match="EPOCH_UNFINISHED: out: epoch 0 was interrupted"):
        run(changed, tmp_path)
    run(job, tmp_path)
    run(changed, tmp_path)
    assert sorted(json.loads(record.value)["id"] for record in broker.consume(topic) if record.value) == list(range(9))


class Tasks:
    """Tasks of a sink, driven by hand: the writer in the JVM, a start of the job each."""

    def __init__(self, spark: SparkSession, broker: Broker, topic: str, term: int, tasks: int = 1) -> None:
        attach(spark, [KAFKA])
        self.jvm: Any = spark._jvm
        self.schema = self.jvm.org.apache.spark.sql.types.StructType.fromDDL("id int")
        properties = {"bootstrap.servers": broker.servers, "transaction.timeout.ms": "60000"}
        self.client = f"{topic} {term}"
        self.jvm.headrace.kafka.Clients.put(self.client, properties)
        self.target = self.jvm.headrace.kafka.Target("out", topic, f"by-hand-{topic}", term, self.client)
        assert "problem" not in json.loads(self.target.open(None, tasks)) | json.loads(self.target.renew())
        layout = {"format": "json", "value": ["id"], "key": [], "headers": {}, "partition_by": []}
        options = {"topic": topic, "topic_id": "", "id": f"by-hand-{topic}", "client": self.client, "term": str(term), "partitions": "1"}
        options["layout"] = json.dumps(layout)
        self.stage = self.jvm.headrace.kafka.KafkaStage("out", self.schema, "UTC", self._map(options))
        self.aside = self.jvm.headrace.sink.Aside("out", self.schema, False)
        self.run = f"run {term}"
        self.tries = 0

    def _map(self, options: dict[str, str]) -> Any:
        pairs = self.jvm.java.util.ArrayList()
        for name, value in options.items():
            pairs.append(self.jvm.scala.Tuple2(name, value))
        scala = self.jvm.scala.jdk.javaapi.CollectionConverters.asScala(pairs)
        return getattr(getattr(self.jvm.scala.collection.immutable, "Map$"), "MODULE$").__getattr__("from")(scala)

    def open(self, epoch: int, identity: str = "", partition: int = 0) -> Any:
        self.tries += 1
        return self.stage.open(self.jvm.headrace.sink.TaskPlace(epoch, partition, self.tries, self.run, identity, self.aside))

    def row(self, id: int) -> Any:
        projection = getattr(getattr(self.jvm.org.apache.spark.sql.catalyst.expressions, "UnsafeProjection$"), "MODULE$").create(
            self.schema
        )
        row = self.jvm.org.apache.spark.sql.catalyst.expressions.GenericInternalRow(1)
        row.setInt(0, id)
        return projection.apply(row)

    def close(self) -> None:
        self.target.close()


def code(problem: pytest.ExceptionInfo[Any]) -> str:
    return str(problem.value.java_exception.code())


def test_a_task_that_wakes_up_late_cannot_write(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("sink-fenced")
    old = Tasks(spark, broker, topic, 1)
    task = old.open(0)
    task.write(old.row(1))
    new = Tasks(spark, broker, topic, 2)
    again = new.open(0)
    again.write(new.row(1))
    with pytest.raises(Exception, match=r"fence|epoch") as fenced:
        task.finish()
    assert code(fenced) == "KAFKA_FENCED"
    task.abort()
    error = of_java(fenced.value, None)
    assert error is not None
    check_error(
        """
        KAFKA_FENCED: out: sink-fenced: <what Kafka says>
          hint: another process has taken over the job and continues; or the epoch took longer than transaction_timeout: raise it or make epochs smaller, and start again. No row is lost or duplicated.
          more: headrace error KAFKA_FENCED
        """,
        re.sub(r"(sink-fenced: ).*", r"\1<what Kafka says>", str(error)),
    )
    again.finish()
    late = old.open(0)
    with pytest.raises(Exception, match="start 2 of the job has taken over") as lost:
        late.write(old.row(1))
    assert code(lost) == "SINK_FENCED"
    late.abort()
    # The late one has not put out the new one's producer.
    following = new.open(1)
    following.write(new.row(2))
    following.finish()
    assert [value["id"] for value in values(broker.consume(topic))] == [1, 2]
    old.close()
    new.close()


def test_two_tries_of_a_task_at_once(broker: Broker, spark: SparkSession) -> None:
    """As speculation makes them: one of them writes."""
    topic = broker.create_topic("sink-twice")
    tasks = Tasks(spark, broker, topic, 1)
    one, two = tasks.open(0), tasks.open(0)
    one.write(tasks.row(1))
    two.write(tasks.row(1))
    two.finish()
    with pytest.raises(Exception, match=r"fence|epoch") as fenced:
        one.finish()
    assert code(fenced) == "KAFKA_FENCED"
    one.abort()
    three = tasks.open(0)
    three.write(tasks.row(1))
    three.finish()
    assert [value["id"] for value in values(broker.consume(topic))] == [1]
    tasks.close()


@contextmanager
def unfinished(broker: Broker, topic: str, group: str) -> Iterator[Any]:
    """A transaction under another id that has written the marker of epoch 0, and is given up unless somebody ends it."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": group, "log_level": 0})
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": f"other-{group}", "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 1)], consumer.consumer_group_metadata(), 60)
    ended = []
    try:
        yield lambda: ended.append(producer.commit_transaction(60))
    finally:
        if not ended:
            producer.abort_transaction(60)
        consumer.close()


def test_a_marker_that_the_broker_does_not_know_yet_is_waited_for(broker: Broker, spark: SparkSession) -> None:
    """Brokers before the mend of KAFKA-17507 say that a transaction has ended before its group knows of it."""
    topic = broker.create_topic("sink-late")
    tasks = Tasks(spark, broker, topic, 1)
    threads = tasks.jvm.java.lang.management.ManagementFactory.getThreadMXBean()

    def asks_again() -> bool:
        dumps = map(str, threads.dumpAllThreads(False, False))
        return any(re.search(r"Thread\.sleep\(.*\n.*headrace\.kafka\.Markers\$\.read", one) for one in dumps)

    with unfinished(broker, topic, f"by-hand-{topic}-0") as commit:
        task, row = tasks.open(0), tasks.row(1)
        with ThreadPoolExecutor(1) as other:
            writing = other.submit(task.write, row)
            until(lambda: writing.done() or asks_again(), "the task asks again")
            commit()
            writing.result()
        task.finish()
    tasks.close()
    assert broker.consume(topic) == []


def test_a_marker_that_is_never_known(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("sink-unknown")
    tasks = Tasks(spark, broker, topic, 1)
    kafka: Any = tasks.jvm.headrace.kafka
    admin = kafka.Producers.admin(tasks.client, {})
    id = f"by-hand-{topic}"
    with unfinished(broker, topic, f"{id}-0"), unfinished(broker, topic, f"{id}-start"):
        with pytest.raises(Exception, match=f"brokers do not say which epoch is next for {id}-0") as unknown:
            kafka.Markers.read(admin, topic, f"{id}-0", True, 0)
        trouble = kafka.Trouble.of(unknown.value.java_exception, None, tasks.stage)
        assert (trouble.code(), trouble.getMessage()) == ("KAFKA_FAILED", f"{topic}: brokers do not say which epoch is next for {id}-0")
        # Who has not taken over does not wait: what a killed driver left open ends with its successor.
        assert kafka.Markers.read(admin, topic, f"{id}-0", False, 0).isEmpty()
        kafka.Markers.check(admin, topic, id, 1, False)
    tasks.close()


class Renewals:
    """How often a group's marker was written, as the brokers' own topic of offsets has it."""

    def __init__(self, broker: Broker, group: str) -> None:
        self.broker, self.group = broker, group

    def count(self) -> int:
        records = self.broker.consume("__consumer_offsets")
        return sum(record.value is not None and self.group.encode() + b"\x00" in (record.key or b"") for record in records)


def test_a_task_that_comes_again_renews_its_marker(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("sink-renewed")
    written = Renewals(broker, f"by-hand-{topic}-0")
    for term in (1, 2, 3):
        tasks = Tasks(spark, broker, topic, term)
        task = tasks.open(0)
        task.write(tasks.row(1))
        task.finish()
        tasks.close()
        assert written.count() == term
        assert broker.committed(f"by-hand-{topic}-0", topic) == {0: 1}
    assert [value["id"] for value in values(broker.consume(topic))] == [1]


def test_a_start_renews_the_marker_of_the_driver_only_where_no_epoch_was_cut_off(
    broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that dies before its tasks come again leaves the driver's marker as old as theirs."""
    topic = broker.create_topic("sink-loop")
    lay_out(tmp_path)
    rows = hr.read.files(tmp_path / "in", format="json", schema="id bigint, k string", name="rows")
    job = hr.job("j", rows.write.kafka(topic, servers=broker.servers, name="out"))
    with monkeypatch.context() as patched:
        failing(patched)
        for _ in range(3):
            with pytest.raises(HeadraceError, match="the plug is out"):
                run(job, tmp_path)
    id = json.loads((tmp_path / "ck" / "job.json").read_text())["id"]
    driver, starts = (Renewals(broker, f"headrace-{id}-out{group}") for group in ("", "-start"))
    assert (driver.count(), starts.count()) == (1, 3)
    run(job, tmp_path)
    assert (driver.count(), starts.count()) == (2, 5)
    check_once(broker, topic)


def resting(tasks: Tasks, id: str) -> Any:
    """The producer that waits for its task, from inside the JVM."""
    producers = getattr(getattr(tasks.jvm.headrace.kafka, "Producers$"), "MODULE$")
    waiting = producers.getClass().getDeclaredField("waiting")
    waiting.setAccessible(True)
    return waiting.get(producers).get(id)


def test_a_producer_that_rested_for_long_is_not_taken_up(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("sink-rested")
    tasks = Tasks(spark, broker, topic, 1)
    seen = []
    for epoch in range(3):
        task = tasks.open(epoch)
        task.write(tasks.row(epoch))
        task.finish()
        waiting = resting(tasks, f"by-hand-{topic}-0")
        seen.append(waiting.hashCode())
        if epoch == 1:
            getattr(waiting, "rested_$eq")(waiting.rested() - 601 * 10**9)
    # An epoch without rows does not use it, so it goes on resting.
    rested = waiting.rested()
    tasks.open(3).finish()
    assert (waiting.seen(), waiting.rested()) == (3, rested)
    tasks.close()
    assert seen[0] == seen[1] != seen[2]
    assert [value["id"] for value in values(broker.consume(topic))] == [0, 1, 2]


def test_each_start_asks_with_its_own_settings(broker: Broker, spark: SparkSession) -> None:
    """Executors do not hear that a sink is closed."""
    topic = broker.create_topic("sink-settings")
    attach(spark, [KAFKA])
    kafka: Any = spark._jvm.headrace.kafka  # type: ignore[union-attr]
    login = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{GUEST}" password="{PASSWORD}";'
    secured = {"bootstrap.servers": broker.secured, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    kafka.Clients.put("of a guest", secured | {"sasl.jaas.config": login})
    guest = kafka.Target("out", topic, f"by-hand-{topic}", 1, "of a guest")
    assert json.loads(guest.open(None, 1))["problem"] in ("KAFKA_UNAUTHORIZED", "TOPIC_MISSING")
    tasks = Tasks(spark, broker, topic, 2)
    task = tasks.open(0)
    task.write(tasks.row(1))
    task.finish()
    assert asking(tasks) >= {"of a guest", tasks.client}
    kafka.Producers.sweep(tasks.jvm.java.lang.System.nanoTime() + 601 * 10**9)
    assert asking(tasks) == set()
    guest.close()
    tasks.close()


def asking(tasks: Tasks) -> set[str]:
    """The starts that have a client for questions."""
    producers = getattr(getattr(tasks.jvm.headrace.kafka, "Producers$"), "MODULE$")
    admins = producers.getClass().getDeclaredField("admins")
    admins.setAccessible(True)
    return set(admins.get(producers).keySet())
