"""A Kafka broker: one process that is broker and controller, with a plain, a password and a TLS listener."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import HeadraceError
from headrace.jvm import fetch, java
from headrace.jvm.cache import folder
from tests.servers import certificate, free_ports, not_to_be_had, spawn
from tests.servers.kafka_jars import BROKER

if TYPE_CHECKING:
    import subprocess

_READY = 120
_OPEN = 10
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
USER, PASSWORD = "reader", "geheim"
GUEST = "guest"
"""A user with the same password who may do nothing, unless he is told otherwise."""

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAIN://127.0.0.1:{plain},SECURED://127.0.0.1:{secured},ENCRYPTED://127.0.0.1:{encrypted},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAIN:PLAINTEXT,SECURED:SASL_PLAINTEXT,ENCRYPTED:SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAIN
sasl.enabled.mechanisms=PLAIN
listener.name.secured.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}" user_{guest}="{password}";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:{user}
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
log.dirs={folder}/data
log.retention.ms=-1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=500
log.segment.delete.delay.ms=0
log.initial.task.delay.ms=500
"""


@dataclass(frozen=True)
class Record:
    """A record to be produced, or one that was consumed."""

    value: bytes | str | None
    key: bytes | str | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    offset: int | None = None


class Broker:
    """A broker with its own data in a folder; `servers` is its address."""

    def __init__(self, place: Path) -> None:
        self.folder = place
        self.jars = fetch.fetch(BROKER)
        plain, secured, encrypted, controller = free_ports(4)
        self.servers, self.secured, self.encrypted = (f"127.0.0.1:{port}" for port in (plain, secured, encrypted))
        self.log = place / "broker.log"
        self.authority = place / "authority.pem"
        self._process: subprocess.Popen[bytes] | None = None
        place.mkdir(parents=True)
        certificate(place, "IP:127.0.0.1")
        (place / "broker.pem").write_text((place / "key.pem").read_text() + (place / "authority.pem").read_text())
        ports = {"plain": plain, "secured": secured, "encrypted": encrypted, "controller": controller}
        (place / "server.properties").write_text(_PROPERTIES.format(**ports, folder=place, user=USER, guest=GUEST, password=PASSWORD))
        self._format()

    def start(self) -> None:
        """Start it and wait until it answers."""
        heap = ["-Xmx512m", "-Xms256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        self._process = spawn(self._java(*heap, "kafka.Kafka", "server.properties"), self.log, folder=self.folder)
        deadline = time.monotonic() + _READY
        for port in (self.servers, self.secured, self.encrypted):
            while not _answers(port):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("\n".join(self.log.read_text().splitlines()[-30:]))
                time.sleep(0.05)
        self._admin.list_topics(timeout=_READY)

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def stop(self) -> None:
        """End it as an operator does."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut does."""
        self._end(signal.SIGKILL)

    def topics(self) -> set[str]:
        """The names of all that are there."""
        return set(self._admin.list_topics(timeout=_READY).topics)

    def create_topic(self, name: str, partitions: int = 1, **settings: object) -> str:
        """Make a topic; settings are those of the topic, with `_` for `.`. Answers its name."""
        from confluent_kafka.admin import NewTopic

        config = {key.replace("_", "."): str(value) for key, value in settings.items()}
        _done(self._admin.create_topics([NewTopic(name, partitions, 1, config=config)], operation_timeout=_READY))
        self._until(lambda: self._partitions(name) == partitions)
        return name

    def add_partitions(self, name: str, total: int) -> None:
        """Give a topic more partitions."""
        from confluent_kafka.admin import NewPartitions

        _done(self._admin.create_partitions([NewPartitions(name, total)], operation_timeout=_READY))
        self._until(lambda: self._partitions(name) == total)

    def delete_topic(self, name: str) -> None:
        _done(self._admin.delete_topics([name], operation_timeout=_READY))
        self._until(lambda: name not in self.topics())

    def alter_topic(self, name: str, **settings: object) -> None:
        """Give a topic other settings, with `_` for `.`."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        entries = [
            ConfigEntry(key.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()
        ]
        _done(self._admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)]))

    def allow(self, user: str, kind: str, name: str, *rights: str) -> None:
        """Let a user do something with a topic, a group or a transactional id; `name*` are all whose names begin so, `*` are all."""
        from confluent_kafka.admin import (
            AclBinding,
            AclBindingFilter,
            AclOperation,
            AclPermissionType,
            ResourcePatternType,
            ResourceType,
        )

        pattern = ResourcePatternType.PREFIXED if name[1:].endswith("*") else ResourcePatternType.LITERAL
        place = (ResourceType[kind], name if name == "*" else name.removesuffix("*"), pattern, f"User:{user}", "*")
        wanted = {AclBinding(*place, AclOperation[right], AclPermissionType.ALLOW) for right in rights}
        _done(self._admin.create_acls(list(wanted)))
        acl_filter = AclBindingFilter(*place, AclOperation.ANY, AclPermissionType.ALLOW)
        self._until(lambda: wanted <= set(self._admin.describe_acls(acl_filter).result(_READY)))

    def delete_records(self, name: str, partition: int, before: int) -> None:
        """Let go of a partition's records in front of an offset, as retention does."""
        from confluent_kafka import TopicPartition

        _done(self._admin.delete_records([TopicPartition(name, partition, before)]))

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """The offsets that a group has committed for a topic, by partition."""
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        wanted = [TopicPartition(topic, partition) for partition in self._admin.list_topics(topic, timeout=_READY).topics[topic].partitions]
        (answer,) = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)]).values()
        return {one.partition: one.offset for one in answer.result().topic_partitions if one.offset >= 0}

    def produce(
        self, topic: str, records: Iterable[Record | str | bytes | None], *, transaction: str | None = None, commit: bool = True
    ) -> None:
        """Write records and wait until the broker has them; in a transaction, which is given up where `commit` is not said."""
        from confluent_kafka import Producer

        transactional = {} if transaction is None else {"transactional.id": transaction}
        producer = Producer(_client(self.servers) | {"linger.ms": 5} | transactional)
        if transaction is not None:
            producer.init_transactions(_READY)
            producer.begin_transaction()
        failed: list[Any] = []
        for each in records:
            one = each if isinstance(each, Record) else Record(each)
            fields: dict[str, Any] = {}
            if one.partition is not None:
                fields["partition"] = one.partition
            if one.timestamp is not None:
                fields["timestamp"] = one.timestamp
            while True:
                try:
                    producer.produce(
                        topic,
                        value=one.value,
                        key=one.key,
                        headers=list(one.headers),
                        on_delivery=lambda problem, _: failed.append(problem) if problem else None,
                        **fields,
                    )
                    break
                except BufferError:
                    producer.poll(1)
        producer.flush(_READY)
        assert not failed, failed
        if transaction is not None:
            producer.commit_transaction(_READY) if commit else producer.abort_transaction(_READY)
            wait_for_ends(self.servers, topic)

    def consume(self, topic: str, *, read_committed: bool = True) -> list[Record]:
        """All records of a topic that are there now, by partition and offset."""
        return consumed(self.servers, topic, read_committed=read_committed)

    @cached_property
    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient(_client(self.servers))

    def _partitions(self, topic: str) -> int:
        known = self._admin.list_topics(timeout=_READY).topics
        return len(known[topic].partitions) if topic in known else 0

    def _until(self, known: Callable[[], bool]) -> None:
        """Wait until the broker knows of what its controller has answered."""
        deadline = time.monotonic() + _READY
        while not known():
            assert time.monotonic() < deadline, "the broker has not heard of it"
            time.sleep(0.02)

    def _java(self, *arguments: str) -> list[str]:
        return [str(java.find().executable), "-cp", os.pathsep.join(map(str, self.jars)), *arguments]

    def _format(self) -> None:
        """Make the folder for its data: formatted once on this machine, which takes seconds, and copied from then on."""
        kept = folder("servers") / f"kafka-{next(jar.coordinate for jar in BROKER if ':kafka_2.13:' in jar.coordinate).rpartition(':')[2]}"
        if not kept.is_dir():
            command = ["-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", "server.properties"]
            done = subprocess.run(self._java(*command), cwd=self.folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)
            fresh = Path(shutil.copytree(self.folder / "data", kept.with_name(f"{kept.name}.{os.getpid()}")))
            try:
                fresh.rename(kept)
            except OSError:  # another process was faster
                shutil.rmtree(fresh)
        else:
            shutil.copytree(kept, self.folder / "data")

    def _end(self, sign: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(sign)
            self._process.wait(_READY)
            self._process = None


def _answers(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def consumed(servers: str, topic: str, *, read_committed: bool = True) -> list[Record]:
    """All records of a topic that are there now, by partition and offset."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

    if read_committed:
        wait_for_ends(servers, topic)
    consumer = Consumer(
        _client(servers)
        | {
            "group.id": "the reader of a test",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if read_committed else "read_uncommitted",
        }
    )
    try:
        left = set(consumer.list_topics(topic, timeout=_READY).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in left])
        received: list[tuple[int, int, Record]] = []
        while left:
            for message in consumer.consume(10_000, timeout=0.05):
                problem = message.error()
                if problem is None:
                    received.append((message.partition(), message.offset(), _record(message)))
                elif problem.code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
                else:
                    raise AssertionError(problem)
        return [record for *_, record in sorted(received, key=lambda one: one[:2])]
    finally:
        consumer.close()


def wait_for_ends(servers: str, topic: str) -> None:
    """Wait until the topic knows of all transactions that have ended, which Kafka answers before; not for long for one that is open."""
    from confluent_kafka import IsolationLevel, TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

    admin = AdminClient(_client(servers))
    offsets = {
        TopicPartition(topic, partition): OffsetSpec.latest()
        for partition in admin.list_topics(topic, timeout=_READY).topics[topic].partitions
    }

    def ends(level: IsolationLevel) -> dict[int, int]:
        return {
            place.partition: future.result(_READY).offset for place, future in admin.list_offsets(offsets, isolation_level=level).items()
        }

    until = time.monotonic() + _OPEN
    while ends(IsolationLevel.READ_COMMITTED) != ends(IsolationLevel.READ_UNCOMMITTED) and time.monotonic() < until:
        time.sleep(0.02)


def _client(servers: str) -> dict[str, Any]:
    # Its own thread writes to stderr whatever happens to a connection.
    return {"bootstrap.servers": servers, "log_level": 0, "reconnect.backoff.max.ms": 500}


def _record(message: Any) -> Record:
    _, at = message.timestamp()
    return Record(message.value(), message.key(), message.partition(), at, tuple(message.headers() or ()), message.offset())


def _done(futures: dict[Any, Any]) -> None:
    for one in futures.values():
        one.result(_READY)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that runs for all tests: each takes topics of its own."""
    with_it = started(tmp_path_factory.mktemp("kafka") / "one")
    yield with_it
    with_it.kill()


@pytest.fixture
def other_broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker of its own for a test that stops or kills it, or needs two."""
    with_it = started(tmp_path / "other-broker")
    yield with_it
    with_it.kill()


def started(place: Path) -> Broker:
    """A broker that runs, or the tests that need it are not run."""
    try:
        import confluent_kafka  # noqa: F401  # what the tests speak to it with
    except ImportError as problem:
        not_to_be_had("Kafka", problem)
    try:
        broker = Broker(place)
    except (HeadraceError, OSError) as problem:
        not_to_be_had("Kafka", str(problem).splitlines()[0])
    broker.start()
    return broker
