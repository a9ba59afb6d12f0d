"""Topics that hold epochs of another history, or no longer those of this one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.connectors.kafka import Sink
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.history import History
from headrace.spark.run.failures import of_java
from tests.servers.drill import Drill, Row, restore, rows
from tests.servers.kafka import Broker
from tests.servers.problems import problem
from tests.servers.test_kafka_markers import Tasks, code, failing
from tests.servers.test_kafka_sink import values
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")


def drilled(broker: Broker, folder: Path, topic: str, **options: Any) -> Drill:
    broker.create_topic(topic, 2)

    def contents() -> list[Row]:
        return sorted((value["k"], value["n"]) for value in values(broker.consume(topic)) if value is not None)

    return Drill(folder, lambda stream: stream.write.kafka(topic, servers=broker.servers, name="out", **options), contents)


def groups(broker: Broker, drill: Drill) -> list[str]:
    """The groups with the markers of its sink, without the one that holds the term."""
    id = json.loads((drill.checkpoint / "job.json").read_text())["id"]
    names = [group.group_id for group in broker._admin.list_consumer_groups().result().valid]
    return sorted(name for name in names if id in name and not name.endswith("-start"))


def forget(broker: Broker, groups: list[str]) -> None:
    for answer in broker._admin.delete_consumer_groups(groups).values():
        answer.result()


@pytest.mark.parametrize(
    ("ahead", "starts"), [(1, 2), pytest.param(4, 10, marks=pytest.mark.full), pytest.param(50, 1, marks=pytest.mark.full)]
)
def test_a_checkpoint_that_was_put_back(broker: Broker, tmp_path: Path, ahead: int, starts: int) -> None:
    drill = drilled(broker, tmp_path, f"history-{ahead}")
    restore(drill, ahead=ahead, starts=starts)
    drill.put_back("old")
    drill.run(fresh=True)
    every = rows(*range(4 + ahead), 1000, 1001)
    assert drill.contents() == sorted(every + every)


def test_a_checkpoint_that_was_put_back_in_mid_epoch(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks had written the epoch that comes next, and the other history cuts it otherwise; with end markers the driver holds it too."""
    drill = drilled(broker, tmp_path, "history-cut-off", end_markers=True)
    drill.add(0)
    drill.run()
    drill.keep("old")
    drill.add(1)
    with monkeypatch.context() as patched:
        failing(patched)
        with pytest.raises(HeadraceError, match="the plug is out"):
            drill.run()
    drill.keep("new")
    drill.put_back("old")
    drill.add(2)
    for _ in range(2):
        with pytest.raises(hr.CheckpointError, match="CHECKPOINT_BEHIND: out holds epoch 1, but the checkpoint"):
            drill.run(files=2)
    drill.put_back("new")
    drill.run()
    assert drill.contents() == rows(0, 1, 2)
    drill.run()


@problem(
    "Kafka sinks",
    "the topic is deleted and created again",
    """
    TABLE_REPLACED: out: the topic history-replaced at <server> was deleted and created again since this job opened it
      at test_kafka_history.py:*: return Drill(folder, lambda stream: stream.write.kafka(topic, servers=broker.servers, name="out", **options), contents)
      hint: start over with fresh=True, which writes all rows again; to continue without the rows that were lost, delete <note>
      more: headrace error TABLE_REPLACED
    """,
    "nothing was written; to continue with new rows only, delete the file that the hint names",
)
def test_a_topic_that_is_gone_and_one_in_its_place(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = "history-replaced"
    drill = drilled(broker, tmp_path, topic, create={"partitions": 2})
    drill.add(0)
    drill.run()
    drill.add(1)
    term, note = drill.term, drill.checkpoint / "kafka" / "out.json"
    broker.delete_topic(topic)
    for _ in range(2):
        with pytest.raises(HeadraceError, match=r"TOPIC_MISSING: out: the topic history-replaced at .* no longer exists"):
            drill.run()
    broker.create_topic(topic)
    for _ in range(2):
        check_error(says, drill.run, hide={broker.servers: "<server>", str(note): "<note>"})
    assert (drill.contents(), drill.term) == ([], term)
    note.unlink()
    drill.run()
    assert drill.contents() == rows(1)
    drill.run()
    drill.run(fresh=True)
    assert drill.contents() == sorted(rows(0, 1) + rows(1))


@pytest.mark.full
def test_a_topic_that_is_replaced_while_a_job_runs(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters create what a producer asks for, where they are not told otherwise: nobody else need be at fault.

    The producers of tasks may take the new topic's leaders for outdated and wait; the driver then sees it no sooner than they give up.
    """
    topic = "history-replaced-running"
    soon = {"max.block.ms": "8000", "delivery.timeout.ms": "8000", "request.timeout.ms": "4000"}
    drill = drilled(broker, tmp_path, topic, options=soon)
    commit = Sink.commit

    def replaced(self: Sink, epoch: int, staged: Any) -> None:
        commit(self, epoch, staged)
        if epoch == 1:
            broker.delete_topic(topic)
            broker.create_topic(topic)

    for number in range(4):
        drill.add(number)
    with monkeypatch.context() as patched:
        patched.setattr(Sink, "commit", replaced)
        with pytest.raises(
            HeadraceError, match=r"TABLE_REPLACED: out: (the topic )?history-replaced-running.* was deleted and created again"
        ):
            drill.run()
    with pytest.raises(HeadraceError, match="TABLE_REPLACED"):
        drill.run()
    (drill.checkpoint / "kafka" / "out.json").unlink()
    drill.run()
    assert drill.contents() == rows(2, 3)


def test_markers_that_the_brokers_have_forgotten(broker: Broker, tmp_path: Path) -> None:
    drill = drilled(broker, tmp_path, "history-forgotten")
    drill.add(0)
    drill.run()
    drill.run()  # the driver's marker is that of epoch 0 from now on
    drill.add(1)
    drill.run()
    driver, *tasks = groups(broker, drill)
    assert driver == tasks[0].rpartition("-")[0]
    forget(broker, tasks)
    drill.add(2)
    drill.run()
    assert drill.contents() == rows(0, 1, 2)
    forget(broker, groups(broker, drill))
    drill.add(3)
    drill.run()
    assert drill.contents() == rows(0, 1, 2, 3)


def of_the_version_before(drill: Drill) -> None:
    """Make the checkpoint one of a version without identities."""
    shutil.rmtree(drill.checkpoint / "epochs", ignore_errors=True)
    stored = json.loads((drill.checkpoint / "job.json").read_text())
    del stored["adopted"], stored["crc32"]
    (drill.checkpoint / "job.json").write_text(json.dumps(stored | {"format": 1}))
    for record in (drill.checkpoint / "record").glob("*.json"):
        totals = json.loads(record.read_text())
        del totals["written"], totals["crc32"]
        record.write_text(json.dumps(totals | {"format": 1}))


def test_a_topic_of_the_version_before(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on in the middle of an epoch, and is taken for another history where it holds more than the checkpoint."""
    drill = drilled(broker, tmp_path, "history-before")
    drill.add(0)
    drill.add(1)
    with monkeypatch.context() as patched:
        patched.setattr(History, "begin", lambda self, epoch: "")
        patched.setattr(History, "check", lambda self, recorded: None)
        drill.run()
        drill.keep("old")
        drill.add(2)
        failing(patched)
        with pytest.raises(HeadraceError, match="the plug is out"):
            drill.run()
    drill.keep("new")
    drill.put_back("old")
    of_the_version_before(drill)
    with pytest.raises(hr.CheckpointError, match="CHECKPOINT_BEHIND: out holds epoch 2, but"):
        drill.run()
    drill.put_back("new")
    of_the_version_before(drill)
    drill.add(3)
    drill.run()
    assert drill.contents() == rows(0, 1, 2, 3)


def look(tasks: Tasks, topic: str) -> Any:
    kafka: Any = tasks.jvm.headrace.kafka
    found = json.loads(kafka.Target.look(topic, f"by-hand-{topic}", 3, kafka.Clients.of(tasks.client)))
    return {name: found[name] for name in ("topic_id", "epoch", "identity")}


def write(tasks: Tasks, epoch: int, identity: str, partition: int = 0) -> None:
    task = tasks.open(epoch, identity, partition)
    task.write(tasks.row(10 * epoch + partition))
    task.finish()


def test_a_task_that_finds_another_history(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("history-tasks")
    first = Tasks(spark, broker, topic, 1)
    assert look(first, topic) | {"topic_id": ""} == {"topic_id": "", "epoch": -1, "identity": ""}
    write(first, 4, "one")
    write(first, 4, "one", 2)
    assert look(first, topic) | {"topic_id": ""} == {"topic_id": "", "epoch": 4, "identity": "one"}
    first.close()
    other = Tasks(spark, broker, topic, 1)
    for epoch in (4, 3):
        task = other.open(epoch, "two")
        with pytest.raises(Exception, match="another history") as caught:
            task.write(other.row(1))
        assert code(caught) == "CHECKPOINT_BEHIND"
        task.abort()
        error = of_java(caught.value, None)
        check_error(
            f"""
            CHECKPOINT_BEHIND: history-tasks holds epoch 4 of another history, but this job was about to write its own epoch {epoch}
              hint: two copies of one checkpoint have written this topic. Stop the other job, or give this one another topic.
              more: headrace error CHECKPOINT_BEHIND
            """,
            str(error),
        )
    write(other, 4, "two", 1)
    assert look(other, topic)["identity"] == "one two"
    write(other, 4, "one")  # it comes again
    write(other, 5, "")  # of a version without identities
    write(other, 5, "three")
    assert look(other, topic) | {"topic_id": ""} == {"topic_id": "", "epoch": 5, "identity": ""}
    other.close()
    assert sorted(value["id"] for value in values(broker.consume(topic))) == [40, 41, 42, 50]


def test_the_driver_finds_another_history(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("history-driver")
    tasks = Tasks(spark, broker, topic, 1)
    assert tasks.target.mark(4, "one", {"end": "true"}) == tasks.target.mark(4, "one", {"end": "true"}) == "{}"
    assert json.loads(tasks.target.mark(4, "two", {}))["problem"] == "CHECKPOINT_BEHIND"
    assert len(broker.consume(topic)) == 1
    tasks.close()
