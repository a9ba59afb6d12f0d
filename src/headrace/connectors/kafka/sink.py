"""Writing to Kafka: each task of an epoch in one transaction, which carries the epoch's marker."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.atomic import replace
from headrace.connectors.kafka.cluster import Cluster
from headrace.connectors.kafka.contents import records
from headrace.connectors.kafka.layout import VERB, Layout
from headrace.connectors.kafka.needs import KAFKA
from headrace.connectors.kafka.problems import problem
from headrace.errors import ConnectorError, HeadraceError
from headrace.ports.options import flag, number, texts, wrong
from headrace.schema import Struct, milliseconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Few large requests: records of an epoch are seen together, so none is in a hurry.
_PRODUCER = {
    "acks": "all",
    "enable.idempotence": "true",
    "compression.type": "lz4",
    "batch.size": str(256 * 1024),
    "linger.ms": "20",
    "buffer.memory": str(32 * 1024 * 1024),
}
_OURS = (
    "transactional.id",
    "transaction.timeout.ms",
    "enable.idempotence",
    "acks",
    "key.serializer",
    "value.serializer",
)

# How long the marker of a running job may be old.
_REFRESH = 60.0

_EPOCH = "headrace.epoch"
_SINK = "headrace.sink"
_END = "headrace.end"


class Sink(ports.Sink):
    """Records of a topic, each row once for readers with `isolation.level=read_committed`, also after crashes.

    Each task of an epoch writes in one transaction. `key` names the columns of the record's key: rows that are only added keep coming as
    they are; where rows are also taken away, or with `mode="upsert"`, a key's newest row is its record and a key that goes gets a
    tombstone. `value="debezium"` writes changes as envelopes with `before`, `after` and `op`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> hr.job("copy", charges.write.kafka("charges", servers="localhost:9092", key="card"))
    <Job copy: charges.kafka>
    """

    connector: ClassVar[str] = "kafka"

    def __init__(
        self,
        topic: str,
        *,
        servers: str | Sequence[str],
        key: str | Sequence[str] | None = None,
        key_format: str | None = None,
        value: str = "json",
        columns: str | Sequence[str] | None = None,
        headers: Mapping[str, str] | None = None,
        timestamp: str | None = None,
        partition_by: str | Sequence[str] | None = None,
        epoch_headers: bool = True,
        end_markers: bool = False,
        create: Mapping[str, Any] | None = None,
        transaction_timeout: str = "15 minutes",
        prefix: str = "headrace",
        security: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(topic, str) or not topic:
            raise wrong(f"{VERB}: the topic cannot be {topic!r}", 'it is a name: "charges"')
        self.topic = topic
        self.cluster = Cluster.of(VERB, servers, security, options)
        self.layout = Layout.of(value, columns, key, key_format, headers, timestamp, partition_by)
        self.epoch_headers = flag(VERB, "epoch_headers", epoch_headers)
        self.end_markers = flag(VERB, "end_markers", end_markers)
        self.create = None if create is None else _create(create)
        self.transaction_timeout = transaction_timeout
        self.transaction_ms = milliseconds(transaction_timeout, f"{VERB}: transaction_timeout")
        self.prefix = prefix
        self._replaces = False
        self._check_options()

    @property
    def traits(self) -> ports.SinkTraits:
        debezium = self.layout.value == "debezium"
        return ports.SinkTraits(
            "transactional",
            "each task writes an epoch in one transaction, which carries the epoch's marker",
            accepts=("append",) if debezium else ("append", "upsert"),
            keyed=("append", "changes") if debezium else ("append", "upsert", "changes"),
            placed=True,
            visible="task",
            cleans="a transactional id and a consumer group for each task, which the brokers forget some days after the last epoch",
        )

    @property
    def needs(self) -> ports.Packages:
        return KAFKA

    @property
    def key(self) -> tuple[str, ...]:
        return self.layout.key

    @property
    def mode(self) -> str | None:
        return "changes" if self.layout.value == "debezium" else None

    def options(self) -> dict[str, Any]:
        layout = {name: value for name, value in asdict(self.layout).items() if value not in (None, (), {})}
        return {
            "topic": self.topic,
            **self.cluster.options(),
            **{name: list(value) if isinstance(value, tuple) else value for name, value in layout.items()},
            "epoch_headers": self.epoch_headers,
            "end_markers": self.end_markers,
            **({} if self.create is None else {"create": self.create}),
            "transaction_timeout": self.transaction_timeout,
            "prefix": self.prefix,
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Sink:
        return cls(**options)

    def describe(self) -> str:
        return f"kafka {self.topic} ({self.layout.value}{' by ' + ', '.join(self.key) if self.key else ''})"

    def check(self, columns: tuple[str, ...]) -> None:
        self.layout.check(columns)

    def open(self, context: ports.SinkContext) -> None:
        kafka: Any = context.session._jvm.headrace.kafka  # type: ignore[union-attr]  # a classic session has a JVM
        self._context = context
        self._client = uuid.uuid4().hex
        self._id = f"{self.prefix}-{context.checkpoint_id}-{context.name}"
        kafka.Clients.put(self._client, self._settings())
        self._target = kafka.Target(context.name, self.topic, self._id, context.term, self._client)
        try:
            found = self._told(self._target.open(None if self.create is None else json.dumps(self.create)))
            self._markers(context, marked=found["marked"])
        except HeadraceError:
            self.close()
            raise
        self._marked = time.monotonic()

    def stage(self) -> dict[str, Any]:
        context = self._context
        options = {
            "topic": self.topic,
            "client": self._client,
            "id": self._id,
            "term": str(context.term),
            "layout": json.dumps(self.layout.document(context.schema, context.mode)),
        }
        if self.epoch_headers:
            options |= {f"header.{_SINK}": self._name, "epoch_header": _EPOCH}
        return {"kind": "writer", "class": "headrace.kafka.KafkaStage", "options": options}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        # The rows are in the topic: their tasks have committed them.
        if self.end_markers:
            self._mark(epoch, {_SINK: self._name, _EPOCH: str(epoch), _END: "true"})
        elif time.monotonic() - self._marked > _REFRESH:
            self._mark(epoch)

    def close(self) -> None:
        self._target.close()

    def elsewhere(self, place: ports.Elsewhere) -> Sink | None:
        if place.server is None:
            return None
        given = {name: value for name, value in self.options().items() if name not in ("security", "options")}
        made = Sink(**{**given, "topic": place.name, "servers": place.server, "create": {"partitions": 2}})
        made._replaces = place.mode == "upsert"
        return made

    def contents(self, session: SparkSession, schema: Struct) -> Iterable[Sequence[Any]]:
        return records(session, self.cluster, self.topic, schema, parsed=self.layout.value == "json", newest=self._replaces)

    @property
    def _name(self) -> str:
        return f"{self._context.job}.{self._context.name}"

    def _settings(self) -> dict[str, str]:
        return {
            **_PRODUCER,
            **self.cluster.properties(),
            "transaction.timeout.ms": str(self.transaction_ms),
        }

    def _mark(self, epoch: int, end: Mapping[str, str] | None = None) -> None:
        self._told(self._target.mark(epoch, dict(end or {})))
        self._marked = time.monotonic()

    def _told(self, answer: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(answer)
        if "problem" in found:
            raise problem(found["problem"], self.cluster, self.topic, found["message"])
        return found

    def _markers(self, context: ports.SinkContext, *, marked: bool) -> None:
        """Kafka forgets the markers of a job that has not run for some days. That matters to the epoch alone that was cut off."""
        note = context.checkpoint / "kafka" / f"{context.name}.json"
        if note.exists() and not marked and context.unfinished is not None:
            raise ConnectorError(
                "KAFKA_MARKERS_GONE",
                f"{self.topic}: epoch {context.unfinished} was cut off, and Kafka has forgotten which of its tasks had written",
                hint="look into the topic which of its rows are there"
                + (f" (header {_EPOCH} = {context.unfinished})" if self.epoch_headers else "")
                + f"; to write the epoch again as a whole, remove {note}",
            )
        note.parent.mkdir(parents=True, exist_ok=True)
        replace(note, json.dumps({"topic": self.topic, "id": self._id}))

    def _check_options(self) -> None:
        for name in self.cluster.clients:
            if name in _OURS:
                raise wrong(f"{VERB}: options cannot set {name}", "headrace sets it, so that each row counts once")
        if self.layout.partition_by and self.layout.key and not set(self.layout.partition_by) <= set(self.layout.key):
            raise wrong(
                f"{VERB}: partition_by names {', '.join(self.layout.partition_by)}, and the key is {', '.join(self.layout.key)}",
                "the rows of a key lie in one partition: leave partition_by out, or name columns of the key",
            )


def _create(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or "partitions" not in given or set(given) - {"partitions", "replication", "config"}:
        raise wrong(f"{VERB}: create cannot be {given!r}", 'it says how the topic is made if it is not there: {"partitions": 4}')
    made: dict[str, Any] = {"partitions": number(VERB, "create.partitions", given["partitions"])}
    if "replication" in given:
        made["replication"] = number(VERB, "create.replication", given["replication"])
    if "config" in given:
        made["config"] = texts(VERB, "create.config", given["config"])
    return made
