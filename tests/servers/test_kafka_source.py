"""Topics as sources, read from a real broker."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.jvm.session import log_file
from tests.servers.kafka import PASSWORD, USER, Broker, Record
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")


def orders(count: int, *, partitions: int = 2, start: int = 0) -> list[Record]:
    """Records of JSON with a number, a shop and an amount."""
    return [
        Record(json.dumps({"id": n, "shop": f"s{n % 7}", "amount": n % 100}), key=f"s{n % 7}", partition=n % partitions)
        for n in range(start, start + count)
    ]


SCHEMA = "id bigint, shop string, amount int"


def rows_of(broker: Broker, topic: str) -> list[tuple[Any, ...]]:
    """The rows of a topic's records, by another client than Kafka's own."""
    orders = [json.loads(record.value or "") for record in broker.consume(topic)]
    return sorted((one["id"], one["shop"], one["amount"]) for one in orders)


def test_a_topic_to_its_end(broker: Broker) -> None:
    topic = broker.create_topic("source-plain", 3)
    broker.produce(topic, orders(1000, partitions=3))
    read = hr.read.kafka(topic, servers=broker.servers, schema=SCHEMA, end="latest", rows_per_epoch=150)
    assert sorted(hr.collect(read).rows()) == rows_of(broker, topic)


def test_nothing_keeps_what_opened_a_cluster(broker: Broker, spark: SparkSession) -> None:
    """There may be passwords in it."""
    topic = broker.create_topic("source-settings")
    broker.produce(topic, orders(3, partitions=1))
    read = hr.read.kafka(topic, servers=broker.servers, schema=SCHEMA, end="latest")
    assert len(hr.collect(read).rows()) == 3
    clusters: Any = getattr(getattr(spark._jvm.headrace.kafka, "Clusters$"), "MODULE$")  # type: ignore[union-attr]
    known = clusters.getClass().getDeclaredField("known")
    known.setAccessible(True)
    assert known.get(clusters).isEmpty()


@pytest.mark.full
def test_each_start_reads_what_is_there_then(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("source-restart", 2)
    read = hr.read.kafka(topic, servers=broker.servers, schema=SCHEMA, end="latest", rows_per_epoch=40)
    total = read.group_by("shop").agg(n="count(*)", amount="sum(amount)").write.memory(key="shop")
    for start in (0, 100, 200):
        broker.produce(topic, orders(100, start=start))
        hr.job("restarted", total).run(checkpoint=tmp_path / "state", progress=False)
        expected: dict[str, list[int]] = {}
        for _, shop, amount in rows_of(broker, topic):
            expected.setdefault(shop, []).append(amount)
        assert sorted(total.rows()) == sorted((shop, len(amounts), sum(amounts)) for shop, amounts in expected.items())


@pytest.mark.full
def test_several_topics_by_pattern_and_by_name(broker: Broker) -> None:
    for number, name in enumerate(("source-pattern-a", "source-pattern-b", "source-pattern-c", "other-pattern")):
        broker.create_topic(name, 1 + number)
        broker.produce(name, orders(10, partitions=1 + number, start=10 * number))
    fits = hr.read.kafka(pattern="source-pattern-.*", servers=broker.servers, schema=SCHEMA, end="latest", metadata="topic", name="fits")
    named = hr.read.kafka(["source-pattern-a", "other-pattern"], servers=broker.servers, schema=SCHEMA, end="latest", name="named")
    assert sorted((row[0], row[3]) for row in hr.collect(fits).rows()) == [(n, f"source-pattern-{'abc'[n // 10]}") for n in range(30)]
    assert sorted(row[0] for row in hr.collect(named).rows()) == [*range(10), *range(30, 40)]


@pytest.mark.full
def test_partitions_and_topics_come_while_a_job_runs(broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("source-grows-1")
    broker.produce("source-grows-1", orders(10, partitions=1))
    read = hr.read.kafka(pattern="source-grows-.*", servers=broker.servers, schema=SCHEMA, name="grows")
    out = read.write.memory()
    run = hr.job("grows", out).start(checkpoint=tmp_path / "state")
    try:
        wait(run, lambda: len(out.rows()) == 10)
        broker.add_partitions("source-grows-1", 2)
        broker.produce("source-grows-1", [Record(one.value, partition=1) for one in orders(10, start=10)])
        broker.create_topic("source-grows-2")
        broker.produce("source-grows-2", orders(10, partitions=1, start=20))
        wait(run, lambda: len(out.rows()) == 30)
    finally:
        run.stop()
    assert sorted(row[0] for row in out.rows()) == list(range(30))


@pytest.mark.full
def test_two_clusters_in_one_job(broker: Broker, other_broker: Broker) -> None:
    for each, start in ((broker, 0), (other_broker, 5)):
        each.create_topic("source-cluster")
        each.produce("source-cluster", orders(10, partitions=1, start=start))
    one, two = (
        hr.read.kafka("source-cluster", servers=each.servers, schema=SCHEMA, end="latest", name=name)
        for each, name in ((broker, "one"), (other_broker, "two"))
    )
    both = hr.sql("SELECT a.id FROM one a JOIN two b USING (id)", one=one, two=two)
    assert sorted(hr.collect(both).rows()) == [(n,) for n in range(5, 10)]


def test_metadata(broker: Broker) -> None:
    topic = broker.create_topic("source-metadata", 2)
    moment = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    at = int(moment.timestamp() * 1000)
    broker.produce(topic, [Record('{"id": 1}', "k", 1, at, (("h", b"\x00"), ("h", b"x"))), Record('{"id": 2}', None, 0, at)])
    read = hr.read.kafka(
        topic,
        servers=broker.servers,
        schema="id int",
        end="latest",
        metadata={
            "key": "key", "bytes": "key_bytes", "of": "topic", "part": "partition", "at": "offset", "written": "timestamp", "h": "headers",
        },
    )  # fmt: skip
    assert sorted(hr.collect(read).rows()) == [
        (1, "k", bytearray(b"k"), topic, 1, 0, moment, [("h", bytearray(b"\x00")), ("h", bytearray(b"x"))]),
        (2, None, None, topic, 0, 0, moment, None),
    ]


@pytest.mark.full
@pytest.mark.parametrize(
    ("value", "schema", "produced", "expected"),
    [
        ("csv", "a int, b string", '1,"x, y"', (1, "x, y")),
        ("text", None, "ein Wört", ("ein Wört",)),
        ("raw", None, b"\x00\xff", (bytearray(b"\x00\xff"),)),
        ("json", "a struct<b: array<int>>", '{"a": {"b": [1, null]}}', ((  [1, None],),)),
    ],
)  # fmt: skip
def test_kinds_of_values(broker: Broker, value: str, schema: str | None, produced: str | bytes, expected: tuple[Any, ...]) -> None:
    topic = broker.create_topic(f"source-value-{value}")
    broker.produce(topic, [produced])
    assert hr.collect(hr.read.kafka(topic, servers=broker.servers, value=value, schema=schema, end="latest")).rows() == [expected]


def test_what_cannot_be_read_is_a_dead_letter(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("source-dead", 4)
    bad: list[str | bytes | None] = ['{"id": "x"}', "{", b"\xff\xfe", None]
    broker.produce(topic, [Record('{"id": 0}', partition=3), *(Record(one, partition=3) for one in bad)])
    read = hr.read.kafka(topic, servers=broker.servers, schema="id int", end="latest", name="orders")
    out, dead = read.write.memory(name="out"), read.output("dead_letter").write.memory(name="dead")
    summary = hr.job("dead", out, dead).run(checkpoint=tmp_path / "state", progress=False)
    assert out.rows() == [(0,)]
    assert sorted(dead.rows(), key=lambda row: row[3]) == [
        ("orders", "field id: cannot read 'x' as INT", "source-dead-3", 1, '{"id": "x"}'),
        ("orders", "not JSON: Unexpected end-of-input: expected close marker for Object", "source-dead-3", 2, "{"),
        ("orders", "not JSON: Invalid UTF-8 start byte 0xfe", "source-dead-3", 3, "��"),
        ("orders", "no row: the value is null", "source-dead-3", 4, ""),
    ]
    assert summary.sources[0].malformed == 4
    strict = hr.read.kafka(topic, servers=broker.servers, schema="id int", end="latest", malformed="fail", name="strict")
    check_error(
        """
        MALFORMED_ROW: strict: field id: cannot read 'x' as INT at partition source-dead-3, offset 1: {"id": "x"}
          hint: send such rows to the dead letters: malformed="dead_letter"; or skip them: malformed="skip"
          more: headrace error MALFORMED_ROW
        """,
        lambda: hr.collect(strict),
    )
    skips = hr.read.kafka(
        topic, servers=broker.servers, schema="id int", end="latest", tombstones="skip", start={3: 4}, malformed="fail", name="skips"
    )
    assert hr.collect(skips).rows() == []


@pytest.mark.full
def test_where_a_job_begins(broker: Broker) -> None:
    topic = broker.create_topic("source-start", 2)
    base = datetime(2026, 1, 1, tzinfo=UTC)
    broker.produce(topic, [Record(str(n), partition=n % 2, timestamp=int(base.timestamp() * 1000) + 1000 * n) for n in range(10)])

    def begun(start: Any) -> list[int]:
        read = hr.read.kafka(topic, servers=broker.servers, value="text", end="latest", start=start, name="begun")
        return sorted(int(row[0]) for row in hr.collect(read).rows())

    assert begun("earliest") == list(range(10))
    assert begun("latest") == []
    assert begun({0: 3, 1: 5}) == [6, 8]
    assert begun({topic: {1: 4}}) == [0, 2, 4, 6, 8, 9]
    assert begun("2026-01-01 00:00:07+00:00") == [7, 8, 9]
    assert begun(datetime(2026, 1, 1, 0, 0, 4, tzinfo=UTC)) == [4, 5, 6, 7, 8, 9]
    assert begun("2027-01-01 00:00:00") == []
    ended = hr.read.kafka(topic, servers=broker.servers, value="text", start={0: 1}, end={0: 3, 1: 99}, name="ended")
    assert sorted(hr.collect(ended).rows()) == [("1",), ("2",), ("3",), ("4",), ("5",), ("7",), ("9",)]
    check_error(
        """
        BAD_OPTION: read.kafka: start has an offset for partition 7 of source-start, which does not exist
          at test_kafka_source.py:*: read = hr.read.kafka(topic, servers=broker.servers, value="text", end="latest", start=start, name="begun")
          hint: source-start has 2 partitions
          more: headrace error BAD_OPTION
        """,
        lambda: begun({7: 1}),
    )
    check_error(
        """
        OFFSETS_GONE: read.kafka: start is offset 99 of partition 0 of source-start, which has 0 to 5
          at test_kafka_source.py:*: read = hr.read.kafka(topic, servers=broker.servers, value="text", end="latest", start=start, name="begun")
          hint: start at an offset in this range, or with "earliest"
          more: headrace error OFFSETS_GONE
        """,
        lambda: begun({0: 99}),
    )


@pytest.mark.full
def test_what_a_transaction_gave_up_is_not_read(broker: Broker) -> None:
    topic = broker.create_topic("source-transactions")
    broker.produce(topic, ["1", "2"], transaction="t")
    broker.produce(topic, ["x", "y"], transaction="t", commit=False)
    broker.produce(topic, ["3"], transaction="t")
    broker.produce(topic, ["z"], transaction="t", commit=False)
    committed = hr.read.kafka(topic, servers=broker.servers, value="text", end="latest", rows_per_epoch=1, name="committed")
    assert sorted(hr.collect(committed).rows()) == [("1",), ("2",), ("3",)]
    options = {"isolation.level": "read_uncommitted"}
    every = hr.read.kafka(topic, servers=broker.servers, value="text", end="latest", options=options, name="every")
    assert sorted(hr.collect(every).rows()) == [("1",), ("2",), ("3",), ("x",), ("y",), ("z",)]


@pytest.mark.full
def test_upserts_with_tombstones(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("source-upserts", 3)
    draw = random.Random(7)
    expected: dict[int, str] = {}
    records = []
    for n in range(500):
        key = draw.randrange(40)
        gone = draw.random() < 0.3
        as_object = draw.random() < 0.5
        value = None if gone else json.dumps({"id": key, "name": f"n{n}"})
        records.append(Record(value, json.dumps({"id": key}) if as_object else str(key), partition=key % 3))
        if gone:
            expected.pop(key, None)
        else:
            expected[key] = f"n{n}"
    broker.produce(topic, records)
    read = hr.read.kafka(
        topic,
        servers=broker.servers,
        schema="id bigint, name string not null",
        change_format="upsert",
        key="id",
        end="latest",
        rows_per_epoch=90,
        malformed="fail",
    )
    kept = read.write.memory(key="id")
    hr.job("upserts", kept).run(checkpoint=tmp_path / "state", progress=False)
    assert sorted(kept.rows()) == sorted(expected.items())


@pytest.mark.full
def test_debezium(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("source-debezium")
    row = {"id": 1, "name": "a"}
    changes: list[Any] = [
        {"before": None, "after": row, "op": "c"},
        {"payload": {"before": row, "after": {"id": 1, "name": "b"}, "op": "u"}},
        {"before": None, "after": {"id": 2, "name": "c"}, "op": "r"},
        {"before": {"id": 2, "name": "c"}, "after": None, "op": "d"},
        None,
    ]
    broker.produce(topic, [None if one is None else json.dumps(one) for one in changes])
    read = hr.read.kafka(
        topic,
        servers=broker.servers,
        schema="id int, name string",
        change_format="debezium",
        end="latest",
        malformed="fail",
        name="customers",
    )
    kept = read.write.memory(mode="changes")
    hr.job("debezium", kept).run(checkpoint=tmp_path / "state", progress=False)
    assert kept.rows() == [(1, "b")]


def test_gaps_stop_a_job_or_are_reported(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("source-gap", 2)
    broker.produce(topic, [Record(str(n), partition=n % 2) for n in range(10)])

    def job(on_gap: str) -> hr.Job:
        read = hr.read.kafka(topic, servers=broker.servers, value="text", end="latest", on_gap=on_gap, name="gap")
        return hr.job("gap", read.write.files(tmp_path / "out", format="json", name="out"))

    def run(on_gap: str) -> hr.Summary:
        return job(on_gap).run(checkpoint=tmp_path / "state", progress=False, flush=False)

    run("fail")
    broker.produce(topic, [Record(str(n), partition=n % 2) for n in range(10, 20)])
    broker.delete_records(topic, 1, 7)
    check_error(
        """
        OFFSETS_GONE: gap: 2 records of source-gap-1 from offset 5 on are gone: the topic no longer retains them
          hint: set the retention of the topic longer than the job may be stopped; on_gap="skip" continues, with a dead letter for each gap
          more: headrace error OFFSETS_GONE
        """,
        lambda: run("fail"),
    )
    summary = run("skip")
    assert summary.sources[0].malformed == 1
    letters = [
        json.loads(line) for file in (tmp_path / "state" / "dead_letters").glob("**/part-*.json") for line in file.read_text().splitlines()
    ]
    assert [(one["reason"], one["file"], one["position"]) for one in letters] == [
        ("GAP: 2 records of source-gap-1 from offset 5 on are gone: the topic no longer retains them", "source-gap-1", 5)
    ]
    lines = [json.loads(line) for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted(int(one["value"]) for one in lines) == [n for n in range(20) if n not in (11, 13)]


@pytest.mark.full
def test_where_a_partition_that_comes_begins_is_kept(broker: Broker, tmp_path: Path) -> None:
    """An epoch that was cut off is read again as it was, and no record of the partition is passed over without a word."""
    topic = broker.create_topic("source-begins")
    broker.produce(topic, [str(n) for n in range(5)])

    def job(on_gap: str) -> hr.Job:
        read = hr.read.kafka(topic, servers=broker.servers, value="text", end="latest", on_gap=on_gap, name="begins")
        return hr.job("begins", read.write.files(tmp_path / "out", format="json", name="out"))

    def run(on_gap: str) -> hr.Summary:
        return job(on_gap).run(checkpoint=tmp_path / "state", progress=False, flush=False)

    run("fail")
    broker.add_partitions(topic, 2)
    broker.produce(topic, [Record(str(n), partition=n % 2) for n in range(5, 25)])
    (tmp_path / "plan.json").write_text(json.dumps(job("fail").plan.to_json()))
    command = [sys.executable, "-m", "headrace", "run", "plan.json", "--checkpoint", "state", "--quiet"]
    killed = subprocess.run(command, cwd=tmp_path, env={**os.environ, "HEADRACE_POINT": "before sink commit@out#1:kill"}, check=False)
    assert killed.returncode == -signal.SIGKILL
    broker.delete_records(topic, 1, 4)
    check_error(
        """
        OFFSETS_GONE: begins: 4 records of source-begins-1 from offset 0 on are gone: the topic no longer retains them
          hint: set the retention of the topic longer than the job may be stopped; on_gap="skip" continues, with a dead letter for each gap
          more: headrace error OFFSETS_GONE
        """,
        lambda: run("fail"),
    )
    assert run("skip").sources[0].malformed == 1
    lines = [json.loads(line) for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted(int(one["value"]) for one in lines) == [n for n in range(25) if n not in (5, 7, 9, 11)]


@pytest.mark.full
@pytest.mark.parametrize("limit", [None, 4])
def test_a_partition_that_comes_is_read_by_the_same_run(broker: Broker, tmp_path: Path, limit: int | None) -> None:
    topic = broker.create_topic(f"source-comes-{limit}")
    broker.produce(topic, orders(10, partitions=1))
    read = hr.read.kafka(topic, servers=broker.servers, schema=SCHEMA, end="latest", rows_per_epoch=limit, name="comes")
    out = read.write.memory()
    job = hr.job("comes", out)
    job.run(checkpoint=tmp_path / "state", progress=False, flush=False)
    broker.add_partitions(topic, 3)
    # Two partitions come with ten records each, of which one has lost the first three. A third has none.
    broker.produce(topic, [Record(one.value, partition=1 + n % 2) for n, one in enumerate(orders(20, start=10))])
    broker.add_partitions(topic, 4)
    broker.delete_records(topic, 2, 3)
    job.run(checkpoint=tmp_path / "state", progress=False)
    assert sorted(row[0] for row in out.rows()) == [n for n in range(30) if n not in (11, 13, 15)]


@pytest.mark.full
def test_tools_see_how_far_a_job_has_come(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("source-group", 2)
    broker.produce(topic, [Record(str(n), partition=n % 2) for n in range(10)])
    out = hr.read.kafka(topic, servers=broker.servers, value="text", group="lag of a test", name="group").write.memory()
    run = hr.job("group", out).start(checkpoint=tmp_path / "state")
    try:
        wait(run, lambda: broker.committed("lag of a test", topic) == {0: 5, 1: 5})
    finally:
        run.stop()


def test_a_password(broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    topic = broker.create_topic("source-password")
    broker.produce(topic, ["1"])
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    security = {"protocol": "SASL_PLAINTEXT", "user": USER, "password": hr.secret("KAFKA_PASSWORD")}
    read = hr.read.kafka(topic, servers=broker.secured, value="text", end="latest", security=security, name="secured")
    out = read.write.memory()
    job = hr.job("secured", out)
    job.run(checkpoint=tmp_path / "state", progress=False)
    assert out.rows() == [("1",)]
    assert PASSWORD not in json.dumps(job.plan.to_json()) and PASSWORD not in str(job.explain(verbose=True))
    written = [log_file(), *(file for file in (tmp_path / "state").rglob("*") if file.is_file())]
    assert not [file for file in written if file is not None and PASSWORD.encode() in file.read_bytes()]
    monkeypatch.setenv("KAFKA_PASSWORD", "falsch")
    check_error(
        """
        KAFKA_DENIED: Kafka at <server> denies access to the user reader: Authentication failed: Invalid username or password
          at test_kafka_source.py:*: read = hr.read.kafka(topic, servers=broker.secured, value="text", end="latest", security=security, name="secured")
          hint: check the user and the password; each start reads the password again
          more: headrace error KAFKA_DENIED
        """,
        lambda: hr.collect(read),
        hide={broker.secured: "<server>"},
    )


@pytest.mark.full
def test_nobody_answers() -> None:
    read = hr.read.kafka("x", servers="127.0.0.1:1", value="text", end="latest", name="nobody")
    check_error(
        """
        KAFKA_UNREACHABLE: Kafka at 127.0.0.1:1 does not answer: Timed out waiting for a node assignment
          at test_kafka_source.py:*: read = hr.read.kafka("x", servers="127.0.0.1:1", value="text", end="latest", name="nobody")
          hint: check that it runs, that its address is right, and whether this port requires a user or TLS
          more: headrace error KAFKA_UNREACHABLE
        """,
        lambda: hr.collect(read),
    )


def test_a_topic_that_does_not_exist(broker: Broker) -> None:
    read = hr.read.kafka(["nothing-here"], servers=broker.servers, value="text", end="latest")
    check_error(
        """
        TOPIC_MISSING: there is no topic nothing-here at <server>
          at test_kafka_source.py:*: read = hr.read.kafka(["nothing-here"], servers=broker.servers, value="text", end="latest")
          hint: create it, or check its name: `kafka-topics.sh --list` lists the topics that this user can see. If the job has read it before, start over with fresh=True
          more: headrace error TOPIC_MISSING
        """,
        lambda: hr.collect(read),
        hide={broker.servers: "<server>"},
    )


@pytest.mark.full
def test_each_record_counts_once_when_the_process_is_killed(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("source-killed", 3)
    broker.produce(topic, orders(90, partitions=3))
    for point in ("in a task#5", "before sink commit@out#2", "after sink commit@out#1"):
        place = tmp_path / point.partition("#")[0]
        read = hr.read.kafka(topic, servers=broker.servers, schema=SCHEMA, end="latest", rows_per_epoch=30, name="killed")
        job = hr.job("killed", read.write.files(place / "out", format="json", name="out"))
        place.mkdir()
        (place / "plan.json").write_text(json.dumps(job.plan.to_json()))
        command = [sys.executable, "-m", "headrace", "run", "plan.json", "--checkpoint", "state", "--quiet"]
        killed = subprocess.run(command, cwd=place, env={**os.environ, "HEADRACE_POINT": f"{point}:kill"}, check=False)
        assert killed.returncode == -signal.SIGKILL
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for file in hr.committed_files(place / "out") for line in file.read_text().splitlines()]
        assert sorted((one["id"], one["shop"], one["amount"]) for one in lines) == rows_of(broker, topic)


def wait(run: hr.Run, until: Any) -> None:
    """Wait until something holds, as long as the job runs."""
    from time import monotonic, sleep

    deadline = monotonic() + 120
    while not until():
        assert run.error is None, run.error
        assert monotonic() < deadline, "it did not come"
        sleep(0.05)


@pytest.mark.full
def test_the_jars_are_attached_once(spark: SparkSession, broker: Broker) -> None:
    topic = broker.create_topic("source-jars")
    for _ in range(2):
        assert hr.collect(hr.read.kafka(topic, servers=broker.servers, value="text", end="latest")).rows() == []
    carried = spark.sparkContext._jsc.sc().listJars().mkString(",")  # type: ignore[union-attr]
    assert carried.count("spark-sql-kafka") == 1


def test_a_record_that_is_repaired_is_read_once(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("source-repaired")
    broken = '{"id": 3, "shop": "s3", "amount": three}'
    broker.produce(topic, [*orders(3, partitions=1), Record(broken, partition=0)])
    read = hr.read.kafka(topic, servers=broker.servers, schema=SCHEMA, end="latest", name="orders")
    job = hr.job("repaired", read.write.files(tmp_path / "out", format="json", name="out"))

    def run() -> list[tuple[int, int]]:
        summary = job.run(checkpoint=tmp_path / "state", progress=False, flush=False)
        return [(source.read, source.malformed) for source in summary.sources]

    assert run() == [(4, 1)]
    letters = hr.letters(tmp_path / "state")
    assert letters.export("orders", tmp_path / "broken.json") == (1, {}, ())
    assert (tmp_path / "broken.json").read_text() == f"{broken}\n"
    (tmp_path / "mended.json").write_text(broken.replace("three", "3") + "\n")
    letters.replay("orders", tmp_path / "mended.json")
    assert run() == [(5, 1)]
    broker.produce(topic, orders(2, partitions=1, start=4))
    assert run() == [(7, 1)]
    written = [json.loads(line) for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted((row["id"], row["shop"], row["amount"]) for row in written) == [(n, f"s{n % 7}", n) for n in range(6)]
