"""The Kafka sink with a real broker, read by a consumer that knows nothing of headrace."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors.kafka import Sink
from headrace.errors import HeadraceError
from headrace.testing import Harness
from tests.faults.test_standby import until
from tests.servers.kafka import PASSWORD, USER, Broker, Record
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHILD = Path(__file__).with_name("kafka_child.py")
ROOT = Path(__file__).resolve().parents[2]
FILES, ROWS = 5, 40


def murmur2(key: bytes) -> int:
    """The hash by which Kafka's own producer deals keys out to partitions, as a positive number."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ len(key)) & mask
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if rest := key[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


def values(records: list[Record]) -> list[Any]:
    return [None if record.value is None else json.loads(record.value) for record in records]


def headers(record: Record) -> dict[str, bytes]:
    return dict(record.headers)


def run(job: hr.Job, folder: Path) -> Any:
    return job.run(checkpoint=folder / "ck", progress=False)


def test_a_row_is_a_record(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    topic = broker.create_topic("sink-records", 4, retention_ms=-1)
    schema = "id bigint, card string, at timestamp, trace string, body struct<a: int, b: string>, d decimal(5,2)"
    rows = [(n, f"card {n % 9} ä\U0001f600", "2026-01-01 00:00:00.123456", None if n % 2 else "t", (n, None), "1.20") for n in range(60)]
    stream = hr.read.memory(rows, schema, name="rows")
    job = hr.job("j", stream.write.kafka(topic, servers=broker.servers, key="card", headers={"tr": "trace"}, timestamp="at", name="out"))
    run(job, tmp_path)
    records = broker.consume(topic)
    assert sorted(value["id"] for value in values(records)) == list(range(60))
    for record, value in zip(records, values(records), strict=True):
        n = value["id"]
        assert value == {
            "id": n, "card": rows[n][1], "at": "2026-01-01T00:00:00.123456Z", "trace": rows[n][3], "body": {"a": n, "b": None}, "d": 1.20,
        }  # fmt: skip
        assert record.key == str(rows[n][1]).encode()
        assert record.partition == murmur2(record.key) % 4
        assert record.timestamp == 1767225600123
        assert headers(record) == {"headrace.sink": b"j.out", "headrace.epoch": b"0", "tr": None if n % 2 else b"t"}


def test_other_forms(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    topics = {name: broker.create_topic(f"sink-{name}", 3) for name in ("csv", "raw", "two", "by")}
    rows = hr.read.memory([(1, "a,b", b"\x00\xff"), (2, None, None)], "id int, k string, body binary", name="rows")
    at = {"servers": broker.servers, "epoch_headers": False}
    job = hr.job(
        "j",
        rows.write.kafka(topics["csv"], **at, value="csv", columns=["id", "k"], name="csv"),
        rows.write.kafka(topics["raw"], **at, value="raw", columns="body", key="k", name="raw"),
        rows.write.kafka(topics["two"], **at, columns="id", key=["k", "id"], name="two"),
        rows.write.kafka(topics["by"], **at, columns="id", partition_by="k", name="by"),
    )
    run(job, tmp_path)
    assert sorted(record.value or b"" for record in broker.consume(topics["csv"])) == [b'1,"a,b"', b"2,"]
    assert {record.key: record.value for record in broker.consume(topics["raw"])} == {b"a,b": b"\x00\xff", None: None}
    two = {record.key: record.value for record in broker.consume(topics["two"])}
    assert two == {b'{"k":"a,b","id":1}': b'{"id":1}', b'{"k":null,"id":2}': b'{"id":2}'}
    by = {record.value: (record.partition, record.key, record.headers) for record in broker.consume(topics["by"])}
    assert by == {b'{"id":1}': (murmur2(b"a,b") % 3, None, ()), b'{"id":2}': (0, None, ())}


class Changing:
    """A harness whose one source of changes is written to a topic."""

    def __init__(self, h: Harness, write: Callable[[Any], Any]) -> None:
        self.h = h
        stream = h.source("rows", "id int, v string", changes=True)
        h._sinks.append(write(stream)._use())

    def commit(self, *changes: tuple[str, tuple[int, str | None]]) -> None:
        self.h.commit({"rows": list(changes)})


def test_rows_that_replace_each_other(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("sink-upsert", 2)
    with Harness(partitions=2) as h:
        rows = Changing(h, lambda s: s.write.kafka(topic, servers=broker.servers, key="id", name="out"))
        rows.commit(*(("+", (n, "a")) for n in range(10)))
        rows.commit(*(("-", (n, "a")) for n in range(10)), *(("+", (n, "b")) for n in range(0, 10, 2)))
        rows.commit(("+", (1, "c")))
        h.restart()
        rows.commit(("-", (1, "c")))
    records = broker.consume(topic)
    by_key = {
        n: [value and value["v"] for record, value in zip(records, values(records), strict=True) if record.key == b'{"id":%d}' % n]
        for n in range(10)
    }
    assert by_key == {n: ["a", "b"] for n in range(0, 10, 2)} | {n: ["a", None] for n in range(3, 10, 2)} | {1: ["a", None, "c", None]}


def test_a_key_that_is_null_replaces_nothing(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("sink-null-key")
    with Harness(partitions=1) as h:
        rows = Changing(h, lambda s: s.write.kafka(topic, servers=broker.servers, key="v", name="out", on_refused="fail"))
        rows.commit(("+", (1, "a")))
        with pytest.raises(HeadraceError) as caught:
            rows.commit(("+", (2, None)))
    check_error(
        """
        KAFKA_RECORD: out: v is null, but a record without a key cannot replace another
          hint: write the key as JSON, which has nulls, key_format="json", or filter such rows: .filter("v IS NOT NULL")
          more: headrace error KAFKA_RECORD
        """,
        str(caught.value),
    )
    assert [record.key for record in broker.consume(topic)] == [b"a"]


def test_a_null_in_a_key_of_json_goes(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("sink-null-json")
    with Harness(partitions=1) as h:
        rows = Changing(h, lambda s: s.write.kafka(topic, servers=broker.servers, key="v", key_format="json", name="out"))
        rows.commit(("+", (1, None)))
        rows.commit(("-", (1, None)))
    assert [(record.key, record.value) for record in broker.consume(topic)] == [
        (b'{"v":null}', b'{"id":1,"v":null}'),
        (b'{"v":null}', None),
    ]


def test_envelopes(broker: Broker, spark: SparkSession) -> None:
    topic = broker.create_topic("sink-debezium")
    with Harness(partitions=1) as h:
        rows = Changing(h, lambda s: s.write.kafka(topic, servers=broker.servers, key="id", value="debezium", name="out"))
        rows.commit(("+", (1, "a")), ("+", (2, "a")))
        rows.commit(("-", (1, "a")), ("+", (1, "b")), ("-", (2, "a")))
    records = broker.consume(topic)
    changes = [(record.key, value["before"] and value["before"]["v"], value["after"] and value["after"]["v"], value["op"])
            for record, value in zip(records, values(records), strict=True)]  # fmt: skip
    one, two = b'{"id":1}', b'{"id":2}'
    assert sorted(changes[:2], key=str) == [(one, None, "a", "c"), (two, None, "a", "c")]
    assert sorted(changes[2:], key=str) == [(one, "a", "b", "u"), (two, "a", None, "d")]
    assert values(records)[0]["after"] == {"id": json.loads(records[0].key or b"")["id"], "v": "a"}


def lay_out(folder: Path) -> None:
    (folder / "in").mkdir(parents=True)
    for file in range(FILES):
        lines = (json.dumps({"id": n, "k": f"k{n % 11}"}) for n in range(file * ROWS, (file + 1) * ROWS))
        (folder / "in" / f"{file}.json").write_text("\n".join(lines) + "\n")


def start(folder: Path, broker: Broker, topic: str, point: str = "", *, master: str = "local[2]") -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HEADRACE_MASTER": master, "SPARK_DRIVER_MEMORY": "1g", "HEADRACE_POINT": point}
    environment["HEADRACE_POINT_FOLDER"] = str(folder) if point else ""
    with (folder / "log").open("ab") as out:
        command = [sys.executable, str(CHILD), str(folder), broker.servers, topic]
        return subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)


def end(child: subprocess.Popen[bytes]) -> None:
    os.killpg(child.pid, signal.SIGKILL)
    child.wait(300)


def check_once(broker: Broker, topic: str, rows: int = FILES * ROWS) -> None:
    """Each row once, each epoch's end once in each partition, and behind the epoch's rows."""
    records = broker.consume(topic)
    ends = [record for record in records if "headrace.end" in headers(record)]
    data_records = [record for record in records if "headrace.end" not in headers(record)]
    assert Counter(value["id"] for value in values(data_records)) == Counter(range(rows))
    partitions = {record.partition for record in ends}
    epochs = {headers(record)["headrace.epoch"] for record in ends}
    assert sorted((record.partition, headers(record)["headrace.epoch"]) for record in ends) == sorted(
        (partition, epoch) for partition in partitions for epoch in epochs
    )
    for partition in partitions:
        numbers = [int(headers(record)["headrace.epoch"]) for record in records if record.partition == partition]
        assert numbers == sorted(numbers)


POINTS = [
    "in a task@out#2",
    "in sink commit@out#2",
    "in sink commit@out#5",
    "after staging@out#2",
    "before sink commit@out#2",
    "after sink commit@out#3",
    "after offsets are logged#2",
    "before the commit log#2",
    "before state commit",
]
QUICK = ("in sink commit@out#5",)


@pytest.mark.parametrize("point", [point if point in QUICK else pytest.param(point, marks=pytest.mark.full) for point in POINTS])
def test_killed_at_a_point(broker: Broker, tmp_path: Path, point: str) -> None:
    lay_out(tmp_path)
    topic = broker.create_topic("sink-point-" + re.sub(r"\W+", "-", point), 3)
    first = start(tmp_path, broker, topic, f"{point}:kill")
    try:
        killed = first.wait(300) != 0
    finally:
        end(first) if first.poll() is None else None
    assert killed or point == "before state commit"
    again = start(tmp_path, broker, topic)
    try:
        assert again.wait(300) == 0, (tmp_path / "log").read_text()[-3000:]
    finally:
        end(again) if again.poll() is None else None
    check_once(broker, topic)


@pytest.mark.full
@pytest.mark.parametrize("point", ["in a task@out#2", "after staging@out#3"])
def test_an_executor_that_is_killed(broker: Broker, tmp_path: Path, point: str) -> None:
    """Its tasks come again elsewhere, in the same run."""
    lay_out(tmp_path)
    topic = broker.create_topic("sink-executor-" + re.sub(r"\W+", "-", point), 3)
    child = start(tmp_path, broker, topic, f"{point}:kill", master="local-cluster[2,1,1024]")
    try:
        assert child.wait(400) == 0, (tmp_path / "log").read_text()[-3000:]
    finally:
        if child.poll() is None:
            end(child)
    assert (tmp_path / "acted").exists()
    check_once(broker, topic)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_time(broker: Broker, tmp_path: Path, seed: int) -> None:
    lay_out(tmp_path)
    topic = broker.create_topic(f"sink-random-{seed}", 3)
    chance = random.Random(seed)
    for _ in range(4):
        child = start(tmp_path, broker, topic)
        try:
            child.wait(chance.uniform(5, 12))
        except subprocess.TimeoutExpired:
            end(child)
    last = start(tmp_path, broker, topic)
    try:
        assert last.wait(300) == 0, (tmp_path / "log").read_text()[-3000:]
    finally:
        end(last) if last.poll() is None else None
    check_once(broker, topic)


def refused(job: hr.Job, folder: Path) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        run(job, folder)
    return caught.value


def test_errors_before_a_run_starts(broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("sink-errors")
    rows = hr.read.memory([(1,)], "id int", name="rows")
    missing = hr.job("j", rows.write.kafka("sink-nowhere", servers=broker.servers, name="out"))
    check_error(
        """
        TOPIC_MISSING: there is no topic sink-nowhere at <servers>
          at test_kafka_sink.py:*: missing = hr.job("j", rows.write.kafka("sink-nowhere", servers=broker.servers, name="out"))
          hint: create it, or let headrace create it: create={"partitions": 4}
          more: headrace error TOPIC_MISSING
        """,
        lambda: run(missing, tmp_path),
        hide={broker.servers: "<servers>"},
    )
    long = hr.job("j", rows.write.kafka(topic, servers=broker.servers, transaction_timeout="1 day", name="out"))
    check_error(
        """
        KAFKA_TRANSACTION_TIMEOUT: sink-errors at <servers>: The transaction timeout is larger than the maximum value allowed by the broker
          at test_kafka_sink.py:*: long = hr.job("j", rows.write.kafka(topic, servers=broker.servers, transaction_timeout="1 day", name="out"))
          hint: the brokers allow less (transaction.max.timeout.ms); set transaction_timeout="5 minutes", for example
          more: headrace error KAFKA_TRANSACTION_TIMEOUT
        """,
        lambda: run(long, tmp_path),
        hide={broker.servers: "<servers>"},
    )
    monkeypatch.setenv("KAFKA_PASSWORD", "wrong")
    security = {"protocol": "SASL_PLAINTEXT", "user": USER, "password": hr.secret("KAFKA_PASSWORD")}
    secured = rows.write.kafka(topic, servers=broker.secured, security=security, name="out")
    login = refused(hr.job("j", secured), tmp_path)
    assert login.code == "KAFKA_DENIED"
    assert "wrong" not in str(login)
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    job = hr.job("j", rows.write.kafka(topic, servers=broker.secured, security=security, name="out"))
    assert PASSWORD not in json.dumps(job.plan.to_json()) + str(job.explain(verbose=True))
    run(job, tmp_path)
    assert [value["id"] for value in values(broker.consume(topic))] == [1]
    assert all(PASSWORD not in file.read_text(errors="replace") for file in (tmp_path / "ck").rglob("*") if file.is_file())


@pytest.mark.full
def test_a_broker_that_does_not_answer(spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.read.memory([(1,)], "id int", name="rows")
    job = hr.job("j", rows.write.kafka("t", servers="127.0.0.1:9", name="out"))
    assert refused(job, tmp_path).code == "KAFKA_UNREACHABLE"


def test_a_topic_that_is_made(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.read.memory([(1,)], "id int", name="rows")
    create = {"partitions": 3, "config": {"cleanup.policy": "compact"}}
    run(hr.job("j", rows.write.kafka("sink-made", servers=broker.servers, key="id", create=create, name="out")), tmp_path)
    assert len(broker._admin.list_topics("sink-made", timeout=30).topics["sink-made"].partitions) == 3
    assert values(broker.consume("sink-made")) == [{"id": 1}]


def test_the_page(broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "connectors" / "kafka.md").read_text()
    writing = page[page.index("## Writing") :]
    exec(writing[writing.index("```py\n") + 6 :].partition("```")[0].replace("localhost:9092", broker.servers), {})
    assert sorted(value["amount"] for value in values(broker.consume("charges"))) == [1.5, 2.0, 4.0]
    assert [(record.key, record.value) for record in sorted(broker.consume("spent"), key=lambda one: one.key or b"")] == [
        (b"a", b'{"card":"a","spent":5.5}'),
        (b"b", b'{"card":"b","spent":2.0}'),
    ]


def test_what_was_written_elsewhere_goes(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    copy = Sink("orders", servers="elsewhere:9092").elsewhere(ports.Elsewhere("thrown_away", tmp_path, broker.servers))
    assert copy is not None
    copy.discard()  # it is not there yet
    rows = hr.read.memory([("a", 1)], "k string, v int", name="rows")
    run(hr.job("thrown", rows.write.kafka("thrown_away", servers=broker.servers, create={"partitions": 2}, name="out")), tmp_path)
    assert "thrown_away" in broker.topics()
    copy.discard()
    until(lambda: "thrown_away" not in broker.topics(), "the broker has been told of it")
