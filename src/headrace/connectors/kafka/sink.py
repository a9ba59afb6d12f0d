"""Writing to Kafka: each task of an epoch in one transaction, which carries the epoch's marker."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Self

import headrace.ports as ports
from headrace.connectors.kafka.contents import records
from headrace.connectors.kafka.encoding import Writing
from headrace.connectors.kafka.formats import TYPES, record_of
from headrace.connectors.kafka.needs import KAFKA
from headrace.connectors.kafka.noted import Noted, id_of, note_of, noted
from headrace.connectors.kafka.options import SinkOptions
from headrace.connectors.kafka.problems import problem
from headrace.connectors.kafka.registry import Registry
from headrace.errors import ConnectorError
from headrace.jvm.packages import attach
from headrace.jvm.session import jvm, session
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Few large requests: the records of an epoch become visible together, so latency of single records does not matter.
_PRODUCER = {
    "acks": "all",
    "enable.idempotence": "true",
    "compression.type": "lz4",
    "batch.size": str(256 * 1024),
    "linger.ms": "20",
    "buffer.memory": str(32 * 1024 * 1024),
    # The time that a commit waits for a broker to restart, even after an interruption; sends wait as long by default.
    "max.block.ms": "120000",
}
# The maximum age of a running job's marker.
_REFRESH = 60.0

# The id of every topic of brokers before 2.8.
_WITHOUT_IDS = "AAAAAAAAAAAAAAAAAAAAAA"

_EPOCH = "headrace.epoch"
_SINK = "headrace.sink"
_END = "headrace.end"
_OF_REGISTRY = ("registry", "register", "record")


class Sink(SinkOptions, ports.Sink):
    """Writes records to a Kafka topic exactly once, for readers with `isolation.level=read_committed`.

    Each task writes its rows of an epoch in one transaction, so an epoch becomes visible task by task, not as a whole. A stream with
    retractions needs a `key`: each changed key gets a record with its newest row, a deleted key a tombstone. It can also be written with
    `mode="changes"` or as `value="debezium"`. The first job that uses Kafka downloads its client.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("copy", charges.write.kafka("charges", servers="localhost:9092", key="card"))
        <Job copy: charges.kafka>
    """

    connector: ClassVar[str] = "kafka"
    _notice: str | None = None

    @property
    def traits(self) -> ports.SinkTraits:
        debezium = self.layout.value == "debezium"
        return ports.SinkTraits(
            "transactional",
            "each task writes an epoch in one transaction, which contains the epoch's marker",
            accepts=("append",) if debezium else ("append", "upsert"),
            keyed=("append", "changes") if debezium else ("append", "upsert", "changes"),
            placed=True,
            shared=True,
            replaces=True,
            visible="task",
            cleans="a transactional id and a consumer group for each task, which the brokers delete some days after its last epoch",
            marks=True,
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

    @property
    def system(self) -> str:
        return f"records as {self.layout.value}"

    def written_as(self, mode: str, schema: Struct) -> dict[str, Any]:
        # A key that replaces nothing only determines a record's partition.
        keyed = {} if mode == "append" else {"key": list(self.key)}
        return {"mode": mode, "value": self.layout.value, "key_format": self.layout.key_format or "json", **keyed}

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        return str(options["topic"])

    def options(self) -> dict[str, Any]:
        layout = {name: value for name, value in asdict(self.layout).items() if value not in (None, (), {})}
        return {
            **super().options(),
            **self.cluster.options(),
            **{name: list(value) if isinstance(value, tuple) else value for name, value in layout.items()},
            **self._registry_options(),
        }

    def lays_out(self) -> dict[str, Any]:
        options, _ = Registry.apart(self.options())
        return {name: value for name, value in options.items() if name not in ("security", "options", "transaction_timeout")}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *more: Any) -> Self:
        remaining, ca = Registry.apart(options)
        sink = super().from_options(remaining, *more)
        sink.registry = sink.registry and sink.registry.trusting(ca)
        return sink

    def describe(self) -> str:
        return f"kafka {self.topic} ({self.layout.value}{' by ' + ', '.join(self.key) if self.key else ''})"

    @property
    def location(self) -> str:
        # no name of a cluster is known before it is asked; the markers show a topic that is reached through other servers
        return f"kafka {self.topic} at {','.join(sorted(self.cluster.servers.lower().split(',')))}"

    def check(self, columns: tuple[str, ...]) -> None:
        self.layout.check(columns)

    def suits(self, name: str, schema: Struct) -> None:
        self.layout.document(schema, "append")
        parts = self.layout.parts(schema)
        if parts and (not self.register or any(format == "protobuf" for format, _ in parts.values())):
            # The kernel checks messages, and schemas that headrace did not make.
            attach(session(), [KAFKA])
        for part, (format, columns) in parts.items():
            self._writing(part, format).suits(columns)

    def mark(self, context: ports.SinkContext) -> ports.Mark | None:
        kafka = jvm(context.session).headrace.kafka
        there = self._answer(kafka.Target.look(self.topic, self._id_in(context), context.partitions, self._settings()))
        known = self._same(context, there.get("topic_id"))
        if there and known is not None and (self.layout.key or self.layout.partition_by):
            self._notice = known.notice(there["partitions"])
        return ports.Mark(there["epoch"], there["identity"], fades=True) if there else ports.Mark(exists=False)

    def notice(self) -> str | None:
        return self._notice

    def may_open(self, context: ports.SinkContext) -> None:
        kafka = jvm(context.session).headrace.kafka
        there = self._answer(kafka.Target.look(self.topic, self._id_in(context), context.partitions, self._settings()))
        if not there and self.create is None:
            raise problem("TOPIC_MISSING", self.cluster, self.topic, "")

    def open(self, context: ports.SinkContext) -> None:
        kafka = jvm(context.session).headrace.kafka
        self._context = context
        self._encodings = {
            part: self._writing(part, format).document(of) for part, (format, of) in self.layout.parts(context.schema).items()
        }
        self._client = uuid.uuid4().hex
        self._id = self._id_in(context)
        kafka.Clients.put(self._client, self._settings())
        self._target = kafka.Target(context.name, self.topic, self._id, context.term, self._client)
        try:
            create = json.dumps(self.create) if self.create is not None else None
            answer = self._answer(self._target.open(create, context.partitions))
            self._most, self._topic_id = answer.get("most"), answer["topic_id"]
            self._markers(context, marked=answer["marked"], present=answer["partitions"])
        except BaseException:
            self.close()
            raise

    def stage(self) -> dict[str, Any]:
        context = self._context
        options = {
            "topic": self.topic,
            "topic_id": self._topic_id,
            "partitions": str(self._partitions),
            "client": self._client,
            "id": self._id,
            "term": str(context.term),
            "layout": json.dumps(self.layout.document(context.schema, context.mode, self._encodings)),
        }
        if self._most is not None:
            options["most"] = self._most
        if self.create is not None:
            options["create"] = "true"
        if self.epoch_headers:
            options |= {f"header.{_SINK}": self._name, "epoch_header": _EPOCH}
        return {"kind": "writer", "class": "headrace.kafka.KafkaStage", "options": options}

    def unswappable(self) -> str:
        return "records of Kafka cannot be withdrawn"

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        # The tasks have already committed the rows.
        if staged.count:
            self._same(self._context, self._answer(self._target.topicId()).get("topic_id"))
        if self.end_markers:
            self._renew(epoch, staged.identity, {_SINK: self._name, _EPOCH: str(epoch), _END: "true"})
        elif time.monotonic() - self._marked > _REFRESH:
            self._renew(epoch, staged.identity)

    def close(self) -> None:
        self._target.close()

    def elsewhere(self, place: ports.Elsewhere) -> Sink | None:
        if place.server is None:
            return None
        options = {name: value for name, value in self.options().items() if name not in ("security", "options", *_OF_REGISTRY)}
        # Temporary topics register no schemas.
        as_json = {name: "json" for name in ("value", "key_format") if options.get(name) in TYPES}
        sink = Sink(**{**options, **as_json, "topic": place.name, "servers": place.server, "create": {"partitions": 2}})
        sink._replaces = place.mode == "upsert"
        return sink

    def uncomparable(self, mode: str) -> str | None:
        if mode != "upsert":
            return "records of Kafka cannot be withdrawn"
        whole = self.layout.value == "json" and not self.layout.columns
        return None if whole else 'its records do not have all columns as JSON (value="json" without columns=)'

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> DataFrame:
        return records(session, self.cluster, self.topic, schema, parsed=self.layout.value == "json", newest=mode == "upsert")

    def discard(self) -> None:
        spark = session()
        attach(spark, [KAFKA])
        self._answer(jvm(spark).headrace.kafka.Target.remove(self.topic, self._settings()))

    @property
    def _name(self) -> str:
        return f"{self._context.job}.{self._context.name}"

    def _writing(self, part: str, format: str) -> Writing:
        assert self.registry is not None  # registry formats require a registry
        name = self.record if self.record and part == "value" else f"{self.record}_key" if self.record else record_of(self.topic, part)
        return Writing(self.registry, self.register, part, format, self.topic, name, not self.register and not self.record)

    def _registry_options(self) -> dict[str, Any]:
        if self.registry is None:
            return {}
        options = {"registry": self.registry.options(), "register": self.register}
        return options if self.record is None else {**options, "record": self.record}

    def _settings(self) -> dict[str, str]:
        return {
            **_PRODUCER,
            **self.cluster.properties(),
            "transaction.timeout.ms": str(self.transaction_ms),
        }

    def _id_in(self, context: ports.SinkContext) -> str:
        """The prefix of its tasks' transactional ids and groups."""
        return id_of(context, f"{self.prefix}-{context.checkpoint_id}-")

    def _renew(self, epoch: int, identity: str, end: Mapping[str, str] | None = None) -> None:
        self._answer(self._target.mark(epoch, identity, dict(end or {})))
        self._marked = time.monotonic()

    def _answer(self, answer: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(answer)
        if "problem" in content:
            raise problem(content["problem"], self.cluster, self.topic, content["message"])
        return content

    def _same(self, context: ports.SinkContext, topic_id: str | None) -> Noted | None:
        """Raise if the topic that an earlier start opened is missing or was created again: the rows in it are lost. Returns its note."""
        known = noted(context, self.topic)
        if known is None or known.topic_id == topic_id or (topic_id and _WITHOUT_IDS in (known.topic_id, topic_id)):
            return known
        place = f"topic {self.topic} at {self.cluster.servers}"
        absent = topic_id is None and self.create is None
        first, also = ("create the topic and ", "also ") if absent else ("", "")
        hint = (
            f"{first}start over with fresh=True, which writes all rows again; "
            f"to continue without the rows that were lost, {also}delete {note_of(context)}"
        )
        if topic_id is None:
            raise ConnectorError("TOPIC_MISSING", f"{context.name}: the {place} no longer exists", hint=hint)
        raise ConnectorError(
            "TABLE_REPLACED", f"{context.name}: the {place} was deleted and created again since this job opened it", hint=hint
        )

    def _markers(self, context: ports.SinkContext, *, marked: bool, present: int) -> None:
        """Renew the job's markers, and note the topic, which has `present` partitions. Kafka deletes markers of a job that has not run for
        some days; only an interrupted epoch needs them.
        """
        known = noted(context, self.topic)
        cut_off = known is not None and context.unfinished is not None
        if cut_off and not marked:
            raise ConnectorError(
                "KAFKA_MARKERS_GONE",
                f"{self.topic}: epoch {context.unfinished} was interrupted, and Kafka has deleted the record of which tasks had written it",
                hint="check which of its rows are in the topic"
                + (f" (header {_EPOCH} = {context.unfinished})" if self.epoch_headers else "")
                + f"; to write the whole epoch again, delete {note_of(context)}",
            )
        # The markers of an interrupted epoch's tasks age. The driver's is not renewed, so that it stays older: while it exists, they exist,
        # too.
        self._marked = -math.inf
        if not cut_off:
            self._answer(self._target.renew())
            self._marked = time.monotonic()
        self._partitions = known.among(present) if known is not None else present
        Noted(self._topic_id, self._partitions, present).keep(context, self.topic, self._id)
