"""Records that cannot be read, and rows that cannot be records, with a real broker: each is told of, and no other row is lost."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.kafka import Sink
from headrace.errors import HeadraceError
from tests.servers.kafka import Broker, Record
from tests.servers.problems import letters, lines, problem
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

READ, WRITE = "Kafka sources", "Kafka sinks"
DEAD = "all other records are read"
FULL = pytest.mark.full

# The kind of values, the record, and what the dead letter shows of it.
BAD = [
    pytest.param(
        "json", b"{", "{", id="json",
        marks=problem(READ, "a record that is not JSON", "not JSON: Unexpected end-of-input: expected close marker for Object", DEAD),
    ),
    pytest.param(
        "json", b'{"id": "x"}', '{"id": "x"}', id="field",
        marks=[FULL, problem(READ, "a value of the wrong type", "field id: cannot read 'x' as INT", DEAD)],
    ),
    pytest.param(
        "json", b'{"id": 7, "name": "\xff\xfe"}', '{"id": 7, "name": "\ufffd\ufffd"}', id="json-bytes",
        marks=[FULL, problem(READ, "JSON that is not UTF-8", "not JSON: Invalid UTF-8 start byte 0xff", DEAD)],
    ),
    pytest.param(
        "csv", b"7,\xff", "7,\ufffd", id="csv-bytes",
        marks=[FULL, problem(READ, "CSV that is not UTF-8", "not CSV: the line is not UTF-8", DEAD)],
    ),
    pytest.param(
        "csv", b"x,a", "x,a", id="csv-field",
        marks=[FULL, problem(READ, "a CSV value of the wrong type", "field id: cannot read 'x' as INT", DEAD)],
    ),
    pytest.param(
        "text", b"\xff\xfe", "\ufffd\ufffd", id="text-bytes",
        marks=problem(READ, 'a value that is not UTF-8, with `value="text"`', "not text: the value is not UTF-8", DEAD),
    ),
    pytest.param(
        "json", b"", "", id="json-empty",
        marks=[FULL, problem(READ, "an empty JSON or CSV record", "no row: the value is empty", DEAD)],
    ),
    pytest.param(
        "csv", b" \t", " \t", id="csv-blank",
        marks=[FULL, problem(READ, "a blank JSON or CSV record", "no row: the value is blank", DEAD)],
    ),
    pytest.param(
        "csv", b"7,a\n8,b", "7,a\n8,b", id="csv-two",
        marks=[FULL, problem(READ, "a second CSV record in one value", "not CSV: text after the record", DEAD)],
    ),
    pytest.param(
        "json", b'{"id": 7, "name": "\\ud83d"}', '{"id": 7, "name": "\\ud83d"}', id="json-half",
        marks=[FULL, problem(READ, "JSON with half of a surrogate pair", "not JSON: \\ud83d is half of a surrogate pair", DEAD)],
    ),
    pytest.param(
        "json", None, "", id="null",
        marks=[FULL, problem(READ, 'a record without a value, unless `tombstones="skip"`', "no row: the value is null", DEAD)],
    ),
]  # fmt: skip


def good(value: str, n: int) -> tuple[str, dict[str, Any]]:
    """A record that can be read, and its row."""
    if value == "text":
        return f"n{n}", {"value": f"n{n}"}
    row = {"id": n, "name": f"n{n}"}
    return (json.dumps(row) if value == "json" else f"{n},n{n}"), row


@pytest.mark.parametrize(("value", "record", "raw"), BAD)
def test_a_record_that_cannot_be_read(
    broker: Broker, tmp_path: Path, says: str, request: pytest.FixtureRequest, value: str, record: bytes | None, raw: str
) -> None:
    topic = broker.create_topic(f"bad-{request.node.callspec.id}")
    broker.produce(topic, [good(value, 0)[0], record, good(value, 1)[0]])
    schema = None if value == "text" else "id int, name string"

    def run() -> hr.Summary:
        read = hr.read.kafka(topic, servers=broker.servers, value=value, schema=schema, end="latest", name="orders")
        job = hr.job("bad", read.write.files(tmp_path / "out", format="json", name="out"))
        return job.run(checkpoint=tmp_path / "ck", progress=False, flush=False)

    assert run().sources[0].malformed == 1
    broker.produce(topic, [good(value, 2)[0]])
    summary = run()
    assert (summary.sources[0].read, summary.sources[0].malformed, sum(summary.dead_letters.values())) == (4, 1, 1)
    assert sorted(lines(tmp_path / "out"), key=str) == [good(value, n)[1] for n in range(3)]
    assert letters(tmp_path / "ck") == [("orders", says, f"{topic}-0", 1, raw)]


@problem(READ, 'a key that is not UTF-8, with `metadata="key"`', "not text: the key is not UTF-8", DEAD + '; `"key_bytes"` reads any key')
def test_a_key_that_is_no_text(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-key")
    broker.produce(topic, [Record('{"id": 0}', b"\xff"), Record('{"id": 1}', b"k"), Record('{"id": 2}')])

    def run(metadata: str, place: Path) -> None:
        read = hr.read.kafka(topic, servers=broker.servers, schema="id int", metadata=metadata, end="latest", name="orders")
        hr.job("bad", read.write.files(place / "out", format="json", name="out")).run(checkpoint=place / "ck", progress=False)

    run("key", tmp_path)
    assert sorted(lines(tmp_path / "out"), key=str) == [{"id": 1, "key": "k"}, {"id": 2}]
    assert letters(tmp_path / "ck") == [("orders", says, f"{topic}-0", 0, '{"id": 0}')]
    run("key_bytes", tmp_path / "bytes")
    assert sorted(row["id"] for row in lines(tmp_path / "bytes" / "out")) == [0, 1, 2]


@problem(
    READ,
    'a record that cannot be read, with `malformed="fail"`',
    """
    MALFORMED_ROW: orders: field id: cannot read 'x' as INT at partition bad-fail-0, offset 1: {"id": "x"}
      hint: send such rows to the dead letters: malformed="dead_letter"; or skip them: malformed="skip"
      more: headrace error MALFORMED_ROW
    """,
    "nothing of the epoch was written; the next start tries it again",
)
@FULL
def test_a_record_that_stops_the_job(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-fail")
    broker.produce(topic, ['{"id": 0}'])

    def run(malformed: str) -> None:
        read = hr.read.kafka(topic, servers=broker.servers, schema="id int", end="latest", malformed=malformed, name="orders")
        job = hr.job("bad", read.write.files(tmp_path / "out", format="json", name="out"))
        job.run(checkpoint=tmp_path / "ck", progress=False, flush=False)

    run("fail")
    broker.produce(topic, ['{"id": "x"}', '{"id": 2}'][:1])
    broker.produce(topic, ['{"id": 2}'])
    check_error(says, lambda: run("fail"))
    run("dead_letter")
    assert sorted(row["id"] for row in lines(tmp_path / "out")) == [0, 2]


def values(broker: Broker, topic: str) -> list[dict[str, Any]]:
    return sorted((json.loads(record.value) for record in broker.consume(topic) if record.value is not None), key=lambda row: row["id"])


def noise(size: int) -> str:
    """A text that cannot be made shorter by much."""
    return "".join(random.Random(size).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=size))


def write(broker: Broker, topic: str, place: Path, rows: list[tuple[int, str]], **options: Any) -> hr.Summary:
    """Run the job that writes these rows, in an epoch of their own."""
    (place / "in").mkdir(exist_ok=True, parents=True)
    name = f"{len(list((place / 'in').iterdir()))}.json"
    (place / "in" / name).write_text("".join(json.dumps({"id": n, "body": body}) + "\n" for n, body in rows))
    return again(broker, topic, place, **options)


def again(broker: Broker, topic: str, place: Path, **options: Any) -> hr.Summary:
    read = hr.read.files(place / "in", format="json", schema="id int, body string", files_per_epoch=1, name="rows")
    job = hr.job("bad", read.write.kafka(topic, servers=broker.servers, name="out", **options))
    return job.run(checkpoint=place / "ck", progress=False, flush=False)


@problem(
    WRITE,
    "a record larger than the producer's limit",
    "a record of 2000145 bytes is larger than the producer's limit of 1048576 (max.request.size)",
    'all other rows are written; raise the limits with `options={"max.request.size": ...}` and `max.message.bytes` of the topic',
)
def test_a_record_that_is_too_large(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-large", 2)
    large = "x" * 2_000_000
    summary = write(broker, topic, tmp_path, [(0, "a"), (1, large), (2, "b")])
    assert (summary.sinks["out"], sum(summary.dead_letters.values())) == (2, 1)
    write(broker, topic, tmp_path, [(3, "c")])
    assert values(broker, topic) == [{"id": 0, "body": "a"}, {"id": 2, "body": "b"}, {"id": 3, "body": "c"}]
    assert letters(tmp_path / "ck") == [("out", says, None, None, json.dumps({"id": 1, "body": large}, separators=(",", ":")))]


@problem(
    WRITE,
    "a record larger than the topic's limit",
    "a record of 5142 bytes is larger than the topic's limit of 2000 (max.message.bytes)",
    "all other rows are written; the compressed size counts",
)
@FULL
def test_a_record_that_the_topic_does_not_take(broker: Broker, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch that is cut off puts the same rows aside when it comes again, though the topic takes them by then."""
    topic = broker.create_topic("bad-topic", 1, max_message_bytes=2000)

    def cut(self: Sink, epoch: int, staged: Any) -> None:
        raise OSError("the plug is out")

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "commit", cut)
        with pytest.raises(HeadraceError, match="the plug is out"):
            write(broker, topic, tmp_path, [(0, "a"), (1, noise(5000)), (2, "y" * 50_000)])
    broker.alter_topic(topic, max_message_bytes=1_000_000)
    again(broker, topic, tmp_path)
    write(broker, topic, tmp_path, [(3, noise(5000))])
    assert values(broker, topic) == [{"id": 0, "body": "a"}, {"id": 2, "body": "y" * 50_000}, {"id": 3, "body": noise(5000)}]
    assert letters(tmp_path / "ck") == [("out", says, None, None, json.dumps({"id": 1, "body": noise(5000)}, separators=(",", ":")))]


@problem(
    WRITE,
    "a record that is too large, in an upsert sink",
    "a record of 2000153 bytes is larger than the producer's limit of 1048576 (max.request.size)",
    "its key gets a tombstone; all other rows are written",
)
def test_a_record_that_is_too_large_to_replace_another(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-upsert", 1, max_message_bytes=5_000_000)
    upsert = {"key": "id", "mode": "upsert"}
    write(broker, topic, tmp_path, [(0, "a"), (1, "b"), (3, "a")], **upsert)
    write(broker, topic, tmp_path, [(2, "c"), (3, "x" * 2_000_000)], **upsert)
    again(broker, topic, tmp_path, **upsert)
    assert [(row["id"], row["body"]) for row in values(broker, topic)] == [(0, "a"), (1, "b"), (2, "c"), (3, "a")]
    assert [record.key for record in broker.consume(topic) if record.value is None] == [b'{"id":3}']
    assert [(letter[1], json.loads(letter[4])["id"]) for letter in letters(tmp_path / "ck")] == [(says, 3)]


@problem(
    WRITE,
    'a record that is too large, in an upsert sink with `on_refused="fail"`',
    """
    KAFKA_TOO_LARGE: out: bad-upsert-fail: a record of 2000153 bytes is larger than the producer's limit of 1048576 (max.request.size)
      hint: raise the limits of the producer, options={"max.request.size": "5242880"}, and of the topic, max.message.bytes; or filter such rows: .filter("octet_length(body) < 1000000")
      more: headrace error KAFKA_TOO_LARGE
    """,
    "the run ends; the next start writes the epoch exactly once",
)
@FULL
def test_a_record_that_is_too_large_and_ends_the_job(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-upsert-fail", 1, max_message_bytes=5_000_000)
    upsert = {"key": "id", "mode": "upsert", "on_refused": "fail"}
    write(broker, topic, tmp_path, [(0, "a"), (1, "b")], **upsert)
    check_error(says, lambda: write(broker, topic, tmp_path, [(2, "c"), (3, "x" * 2_000_000)], **upsert))
    # The other row may be of a task that had committed its transaction.
    assert {row["id"] for row in values(broker, topic)} in ({0, 1}, {0, 1, 2})
    again(broker, topic, tmp_path, **upsert, options={"max.request.size": "5000000"})
    assert [row["id"] for row in values(broker, topic)] == [0, 1, 2, 3]


@problem(
    WRITE,
    "a timestamp before 1970",
    "at is before 1970, which Kafka does not support as a timestamp",
    "all other rows are written",
)
@FULL
def test_a_time_before_1970(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-time")
    rows = hr.read.memory([(0, "1960-01-01 00:00:00"), (1, "2026-01-01 00:00:00")], "id int, at timestamp", name="rows")
    job = hr.job("bad", rows.write.kafka(topic, servers=broker.servers, columns="id", timestamp="at", name="out"))
    job.run(checkpoint=tmp_path / "ck", progress=False)
    assert values(broker, topic) == [{"id": 1}]
    assert letters(tmp_path / "ck") == [("out", says, None, None, '{"id":0,"at":"1960-01-01T00:00:00.000000Z"}')]


@problem(
    WRITE,
    'a timestamp before 1970, with `on_refused="fail"`',
    """
    KAFKA_RECORD: out: at is before 1970, which Kafka does not support as a timestamp
      hint: replace it upstream of the sink: greatest(at, timestamp_seconds(0))
      more: headrace error KAFKA_RECORD
    """,
    "the run ends; the next start writes the epoch exactly once",
)
@FULL
def test_a_time_before_1970_that_would_replace_another(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-upsert-time")
    rows = hr.read.memory([(0, "1960-01-01 00:00:00"), (1, "2026-01-01 00:00:00")], "id int, at timestamp", name="rows")
    sink = rows.write.kafka(
        topic, servers=broker.servers, key="id", mode="upsert", columns="id", timestamp="at", name="out", on_refused="fail"
    )
    check_error(says, lambda: hr.job("bad", sink).run(checkpoint=tmp_path / "ck", progress=False))
    assert values(broker, topic) == []
