"""A cluster that refuses, forgets or goes away, with a real broker: what the user is told, and that each row counts once when it is mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.kafka import Sink
from tests.servers import certificate
from tests.servers.kafka import GUEST, PASSWORD, USER, Broker
from tests.servers.problems import lines, problem
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

READ, WRITE = "Kafka sources", "Kafka sinks"
FULL = pytest.mark.full
NOTHING = "nothing was read or written; the next start resumes"

# Kafka's producer is patient; a test is not.
HASTY = {"max.block.ms": "3000", "request.timeout.ms": "2000", "delivery.timeout.ms": "4000"}


def reading(servers: str, topic: str, place: Path, *, end: str | None = "latest", **options: Any) -> hr.Job:
    read = hr.read.kafka(topic, servers=servers, value="text", end=end, name="orders", **options)
    return hr.job("bad", read.write.files(place / "out", format="json", name="out"))


def read(servers: str, topic: str, place: Path, **options: Any) -> None:
    reading(servers, topic, place, **options).run(checkpoint=place / "ck", progress=False, flush=False)


def written_values(place: Path) -> list[str]:
    return sorted(row["value"] for row in lines(place / "out"))


def files(place: Path, count: int) -> None:
    """Input for `writing`: a row in each of so many files, which are an epoch each."""
    (place / "in").mkdir(exist_ok=True)
    for n in range(count):
        (place / "in" / f"{n}.json").write_text(json.dumps({"id": n}) + "\n")


def writing(servers: str, topic: str, place: Path, **options: Any) -> hr.Job:
    rows = hr.read.files(place / "in", format="json", schema="id int", files_per_epoch=1, name="rows")
    return hr.job("bad", rows.write.kafka(topic, servers=servers, name="out", **options))


def write(servers: str, topic: str, place: Path, *, fresh: bool = False, **options: Any) -> None:
    writing(servers, topic, place, **options).run(checkpoint=place / "ck", progress=False, flush=False, fresh=fresh)


def written(broker: Broker, topic: str) -> list[int]:
    return sorted(json.loads(record.value)["id"] for record in broker.consume(topic) if record.value is not None)


# Topics that go


@problem(
    READ,
    "the topic is deleted while a job reads it",
    """
    TOPIC_GONE: orders: the topic bad-deleted was deleted while it was read
      hint: create it again and start over with fresh=True; with a pattern, on_gap="skip" continues without it
      more: headrace error TOPIC_GONE
    """,
    "records read before are in the result once; a topic that is created again is another topic",
)
@FULL
def test_a_topic_that_is_deleted(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-deleted")
    broker.produce(topic, ["a", "b"])
    read(broker.servers, topic, tmp_path)
    run = reading(broker.servers, topic, tmp_path, end=None).start(checkpoint=tmp_path / "ck")
    try:
        broker.produce(topic, ["c"])
        while written_values(tmp_path) != ["a", "b", "c"]:
            assert not run.wait(0.05)
        broker.delete_topic(topic)
    except BaseException:
        run.stop()
        raise
    with pytest.raises(hr.HeadraceError) as raised:
        run.wait(300)
    check_error(says, raised.value)
    assert written_values(tmp_path) == ["a", "b", "c"]
    broker.create_topic(topic)
    broker.produce(topic, ["d"])
    reading(broker.servers, topic, tmp_path).run(checkpoint=tmp_path / "ck", progress=False, fresh=True)
    assert written_values(tmp_path) == ["d"]


@problem(
    READ,
    "the topic is deleted before a start",
    """
    TOPIC_MISSING: there is no topic bad-missing at <server>
      at test_bad_servers_kafka.py:*: read = hr.read.kafka(topic, servers=servers, value="text", end=end, name="orders", **options)
      hint: create it, or check its name: `kafka-topics.sh --list` lists the topics that this user can see. If the job has read it before, start over with fresh=True
      more: headrace error TOPIC_MISSING
    """,
    "records read before are in the result once; a topic that is created again is another topic: read it with `fresh=True`",
)
def test_a_topic_that_was_deleted(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-missing")
    broker.produce(topic, ["a", "b"])
    read(broker.servers, topic, tmp_path)
    broker.delete_topic(topic)
    check_error(says, lambda: read(broker.servers, topic, tmp_path), hide={broker.servers: "<server>"})
    assert written_values(tmp_path) == ["a", "b"]


@problem(
    READ,
    "the topic is deleted and created again between two runs",
    """
    OFFSETS_GONE: orders: the topic bad-anew was deleted and created again since it was read
      at test_bad_servers_kafka.py:*: read = hr.read.kafka(topic, servers=servers, value="text", end=end, name="orders", **options)
      hint: start over with fresh=True, which reads the new topic from `start`
      more: headrace error OFFSETS_GONE
    """,
    'records read before are in the result once; with `on_gap="skip"` the job resumes in the new, shorter topic, with one dead letter',
)
@FULL
def test_a_topic_that_is_made_anew(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-anew")
    broker.produce(topic, ["a", "b"])
    read(broker.servers, topic, tmp_path)
    broker.delete_topic(topic)
    broker.create_topic(topic)
    broker.produce(topic, ["c"])
    check_error(says, lambda: read(broker.servers, topic, tmp_path))
    broker.produce(topic, ["d", "e"])
    # Two records of it would be passed over.
    check_error(says, lambda: read(broker.servers, topic, tmp_path, on_gap="skip"))
    assert written_values(tmp_path) == ["a", "b"]
    reading(broker.servers, topic, tmp_path).run(checkpoint=tmp_path / "ck", progress=False, flush=False, fresh=True)
    assert written_values(tmp_path) == ["c", "d", "e"]
    broker.delete_topic(topic)
    broker.create_topic(topic)
    broker.produce(topic, ["f"])
    read(broker.servers, topic, tmp_path, on_gap="skip")
    read(broker.servers, topic, tmp_path)
    assert written_values(tmp_path) == ["c", "d", "e", "f"]


@problem(
    WRITE,
    "the topic is deleted while a job writes it",
    """
    TOPIC_MISSING: out: bad-sink-deleted: the topic was deleted
      hint: create the topic and start over with fresh=True, which writes all rows again; to continue without the rows that were lost, also delete kafka/out.json in the checkpoint
      more: headrace error TOPIC_MISSING
    """,
    "the epoch was not written; the next start refuses a new topic of the same name",
)
@FULL
def test_a_topic_that_is_deleted_while_it_is_written(broker: Broker, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("bad-sink-deleted")
    files(tmp_path, 4)
    commit = Sink.commit

    def deleted(self: Sink, epoch: int, staged: Any) -> None:
        commit(self, epoch, staged)
        if epoch == 1:
            assert written(broker, topic) == [0, 1]
            broker.delete_topic(topic)

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "commit", deleted)
        check_error(says, lambda: write(broker.servers, topic, tmp_path, options=HASTY))
    broker.create_topic(topic)
    with pytest.raises(hr.HeadraceError, match="TABLE_REPLACED"):
        write(broker.servers, topic, tmp_path, options=HASTY)
    (tmp_path / "ck" / "kafka" / "out.json").unlink()
    write(broker.servers, topic, tmp_path, options=HASTY)
    assert written(broker, topic) == [2, 3]
    broker.delete_topic(topic)
    broker.create_topic(topic)
    write(broker.servers, topic, tmp_path, fresh=True)
    assert written(broker, topic) == [0, 1, 2, 3]


@FULL
def test_a_topic_that_is_deleted_while_a_sink_that_creates_it_writes(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = "bad-sink-created"
    files(tmp_path, 4)
    commit = Sink.commit

    def deleted(self: Sink, epoch: int, staged: Any) -> None:
        commit(self, epoch, staged)
        if epoch == 1:
            broker.delete_topic(topic)

    monkeypatch.setattr(Sink, "commit", deleted)
    check_error(
        """
        TOPIC_MISSING: out: bad-sink-created: the topic was deleted
          hint: start over with fresh=True, which writes all rows again; to continue without the rows that were lost, delete kafka/out.json in the checkpoint
          more: headrace error TOPIC_MISSING
        """,
        lambda: write(broker.servers, topic, tmp_path, options=HASTY, create={"partitions": 1}),
    )


@problem(
    WRITE,
    "the topic is deleted before a start",
    """
    TOPIC_MISSING: out: the topic bad-sink-missing at <server> no longer exists
      at test_bad_servers_kafka.py:*: return hr.job("bad", rows.write.kafka(topic, servers=servers, name="out", **options))
      hint: start over with fresh=True, which writes all rows again; to continue without the rows that were lost, delete <note>
      more: headrace error TOPIC_MISSING
    """,
    "nothing was written; `create=` creates a topic only at the first start",
)
@FULL
def test_a_topic_that_was_deleted_before_it_is_written(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = "bad-sink-missing"
    files(tmp_path, 1)
    create = {"create": {"partitions": 2}}
    write(broker.servers, topic, tmp_path, **create)
    assert written(broker, topic) == [0]
    broker.delete_topic(topic)
    files(tmp_path, 2)
    hide = {broker.servers: "<server>", str(tmp_path / "ck" / "kafka" / "out.json"): "<note>"}
    check_error(says, lambda: write(broker.servers, topic, tmp_path, **create), hide=hide)
    write(broker.servers, topic, tmp_path, **create, fresh=True)
    assert written(broker, topic) == [0, 1]


# Who is not let in


def opened(user: str = USER) -> dict[str, Any]:
    return {"security": {"protocol": "SASL_PLAINTEXT", "user": user, "password": hr.secret("KAFKA_PASSWORD")}}


@problem(
    READ,
    "a wrong password",
    """
    KAFKA_DENIED: Kafka at <server> denies access to the user reader: Authentication failed: Invalid username or password
      at test_bad_servers_kafka.py:*: read = hr.read.kafka(topic, servers=servers, value="text", end=end, name="orders", **options)
      hint: check the user and the password; each start reads the password again
      more: headrace error KAFKA_DENIED
    """,
    NOTHING,
)
@FULL
def test_a_wrong_password(broker: Broker, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("bad-password")
    broker.produce(topic, ["a"])
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    read(broker.secured, topic, tmp_path, **opened())
    broker.produce(topic, ["b"])
    monkeypatch.setenv("KAFKA_PASSWORD", "falsch")
    check_error(says, lambda: read(broker.secured, topic, tmp_path, **opened()), hide={broker.secured: "<server>"})
    assert written_values(tmp_path) == ["a"]
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    read(broker.secured, topic, tmp_path, **opened())
    assert written_values(tmp_path) == ["a", "b"]


@problem(
    WRITE,
    "a wrong password",
    """
    KAFKA_DENIED: Kafka at <server> denies access to the user reader: Authentication failed: Invalid username or password
      at test_bad_servers_kafka.py:*: return hr.job("bad", rows.write.kafka(topic, servers=servers, name="out", **options))
      hint: check the user and the password; each start reads the password again
      more: headrace error KAFKA_DENIED
    """,
    NOTHING,
)
@FULL
def test_a_wrong_password_for_writing(broker: Broker, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("bad-sink-password")
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    files(tmp_path, 1)
    write(broker.secured, topic, tmp_path, **opened())
    files(tmp_path, 2)
    monkeypatch.setenv("KAFKA_PASSWORD", "falsch")
    check_error(says, lambda: write(broker.secured, topic, tmp_path, **opened()), hide={broker.secured: "<server>"})
    assert written(broker, topic) == [0]
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    write(broker.secured, topic, tmp_path, **opened())
    assert written(broker, topic) == [0, 1]


@problem(
    READ,
    "a user without the right to see the topic",
    """
    KAFKA_DENIED: Kafka at <server> denies access to the user guest: Topic authorization failed
      at test_bad_servers_kafka.py:*: read = hr.read.kafka(topic, servers=servers, value="text", end=end, name="orders", **options)
      hint: grant the user READ on the topics and, with group=, on the group
      more: headrace error KAFKA_DENIED
    """,
    NOTHING,
)
@FULL
def test_no_right_to_see(broker: Broker, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("bad-unseen")
    broker.produce(topic, ["a"])
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    check_error(says, lambda: read(broker.secured, topic, tmp_path, **opened(GUEST)), hide={broker.secured: "<server>"})


@problem(
    READ,
    "a user who may see the topic but not read it",
    """
    KAFKA_DENIED: orders: Kafka denies the user access to the topic bad-unread
      hint: grant the user READ on the topic; the next start continues after the last committed epoch
      more: headrace error KAFKA_DENIED
    """,
    "nothing of the epoch was written; once the user may read it, the next start resumes",
)
def test_no_right_to_read(broker: Broker, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("bad-unread")
    broker.produce(topic, ["a"])
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    broker.allow(GUEST, "TOPIC", topic, "DESCRIBE")
    broker.allow(GUEST, "GROUP", "*", "READ")
    check_error(says, lambda: read(broker.secured, topic, tmp_path, **opened(GUEST)))
    broker.allow(GUEST, "TOPIC", topic, "READ")
    broker.produce(topic, ["b"])
    read(broker.secured, topic, tmp_path, **opened(GUEST))
    assert written_values(tmp_path) == ["a", "b"]


@problem(
    WRITE,
    "a user without the right to write the topic",
    """
    KAFKA_DENIED: out: Kafka denies the user access to the topic bad-unwritten
      hint: grant the user WRITE and READ on the topic, WRITE on transactional ids and READ on groups that begin with prefix=; the next start writes the epoch again
      more: headrace error KAFKA_DENIED
    """,
    "nothing of the epoch was written; once the user may write it, the next start writes the epoch",
)
def test_no_right_to_write(broker: Broker, tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic("bad-unwritten")
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    # A group's offsets may be committed only for topics that the user may read.
    broker.allow(GUEST, "TOPIC", topic, "READ")
    broker.allow(GUEST, "GROUP", "unwritten*", "READ")
    broker.allow(GUEST, "TRANSACTIONAL_ID", "unwritten*", "WRITE", "DESCRIBE")
    files(tmp_path, 2)
    options = {**opened(GUEST), "prefix": "unwritten"}
    check_error(says, lambda: write(broker.secured, topic, tmp_path, **options))
    assert written(broker, topic) == []
    broker.allow(GUEST, "TOPIC", topic, "WRITE")
    write(broker.secured, topic, tmp_path, **options)
    assert written(broker, topic) == [0, 1]


@problem(
    READ,
    "a server certificate of an untrusted authority",
    """
    KAFKA_TLS: no TLS connection to <server>: Path does not chain with any of the trust anchors
      at test_bad_servers_kafka.py:*: read = hr.read.kafka(topic, servers=servers, value="text", end=end, name="orders", **options)
      hint: check that this port uses TLS, and that the certificate is for this host and signed by the authority in security={"ca": "ca.pem"}
      more: headrace error KAFKA_TLS
    """,
    NOTHING,
)
def test_a_certificate_of_another_authority(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-authority")
    broker.produce(topic, ["a"])
    certificate(tmp_path, "IP:127.0.0.1")
    other = {"security": {"ca": str(tmp_path / "authority.pem")}}
    check_error(says, lambda: read(broker.encrypted, topic, tmp_path, **other), hide={broker.encrypted: "<server>"})
    read(broker.encrypted, topic, tmp_path, security={"ca": str(broker.authority)})
    assert written_values(tmp_path) == ["a"]


@problem(
    READ,
    "a server certificate for another host",
    """
    KAFKA_TLS: no TLS connection to localhost:PORT: No name matching localhost found
      at test_bad_servers_kafka.py:*: read = hr.read.kafka(topic, servers=servers, value="text", end=end, name="orders", **options)
      hint: check that this port uses TLS, and that the certificate is for this host and signed by the authority in security={"ca": "ca.pem"}
      more: headrace error KAFKA_TLS
    """,
    NOTHING,
)
@FULL
def test_a_certificate_of_another_host(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-host")
    broker.produce(topic, ["a"])
    port = broker.encrypted.partition(":")[2]
    trusted = {"security": {"ca": str(broker.authority)}}
    check_error(says, lambda: read(f"localhost:{port}", topic, tmp_path, **trusted), hide={port: "PORT"})
    read(broker.encrypted, topic, tmp_path, **trusted)
    assert written_values(tmp_path) == ["a"]


@problem(
    WRITE,
    "a server certificate of an untrusted authority",
    """
    KAFKA_TLS: no TLS connection to <server>: Path does not chain with any of the trust anchors
      at test_bad_servers_kafka.py:*: return hr.job("bad", rows.write.kafka(topic, servers=servers, name="out", **options))
      hint: check that this port uses TLS, and that the certificate is for this host and signed by the authority in security={"ca": "ca.pem"}
      more: headrace error KAFKA_TLS
    """,
    NOTHING,
)
@FULL
def test_a_certificate_of_another_authority_for_writing(broker: Broker, tmp_path: Path, says: str) -> None:
    topic = broker.create_topic("bad-sink-authority")
    files(tmp_path, 1)
    certificate(tmp_path, "IP:127.0.0.1")
    other = {"security": {"ca": str(tmp_path / "authority.pem")}}
    check_error(says, lambda: write(broker.encrypted, topic, tmp_path, **other), hide={broker.encrypted: "<server>"})
    write(broker.encrypted, topic, tmp_path, security={"ca": str(broker.authority)})
    assert written(broker, topic) == [0]
