"""Topics as sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import headrace.ports as ports
from headrace.connectors.kafka.formats import TYPES
from headrace.connectors.kafka.jsonschema import columns_of
from headrace.connectors.kafka.look import kept, look, read_before
from headrace.connectors.kafka.messages import columns as message_columns
from headrace.connectors.kafka.messages import described_as, of_file, unreadable
from headrace.connectors.kafka.needs import KAFKA
from headrace.connectors.kafka.options import READ as VERB
from headrace.connectors.kafka.options import SourceOptions
from headrace.connectors.kafka.places import ends, starting
from headrace.connectors.kafka.registry import Registry
from headrace.connectors.kafka.remembered import same
from headrace.connectors.kafka.values import (
    avro_columns,
    beside,
    columns,
    columns_in,
    fits,
    misfit,
    nullable,
    of_value,
    registered_tombstone,
    schema_in,
    tombstone,
    whole,
)
from headrace.errors import ConnectorError, here
from headrace.jvm.packages import attach
from headrace.schema import Struct, parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LINES = {
    "avro": "headrace.kafka.AvroLines",
    "json_schema": "headrace.kafka.JsonSchemaLines",
    "protobuf": "headrace.kafka.ProtobufLines",
}
_ALONE = {"avro": "headrace.kafka.AvroFileLines", "protobuf": "headrace.kafka.MessageLines"}
"""The formats whose records do not begin with the number of a schema."""


class Source(SourceOptions, ports.Source):
    """Reads the records of one Kafka topic, of several, or of all that match a pattern.

    The source is replayable as long as the topic retains the records: the offsets of an epoch are logged before it is read. A record that
    cannot be read, or has no value, becomes a dead letter, unless `malformed` or `tombstones` says otherwise. Records that the topic no
    longer retains end the run (`OFFSETS_GONE`), unless `on_gap="skip"`. Topics and partitions may be added while the job runs. Without
    `end` the source is unbounded. The first job that uses Kafka downloads its client.

    With `change_format="upsert"` and a `key`, a record without a value deletes the row of its key.

    Examples:
        >>> import headrace as hr
        >>> hr.read.kafka("orders", servers="localhost:9092", schema="id bigint, amount decimal(10,2), ts timestamp")
        <Stream orders: id, amount, ts>
    """

    connector: ClassVar[str] = "kafka"
    feeds: ClassVar[bool] = True

    @property
    def traits(self) -> ports.SourceTraits:
        return ports.SourceTraits(
            bounded=self.end is not None,
            replayable=True,
            why="records are read again from their offsets, as long as the topic keeps them",
            ordered="offset",
            changes="changes" if self.deletes else "append",
            # After a gap, the remaining partitions are read by other tasks than before.
            placed=self.on_gap == "fail",
        )

    @property
    def needs(self) -> ports.Packages:
        return KAFKA

    @property
    def repairs(self) -> ports.Lines:
        return ports.Lines("csv", {"header": "false"}) if self.value == "csv" and not self.metadata else ports.Lines("json")

    @property
    def default_name(self) -> str:
        return self.topics.name

    def options(self) -> dict[str, Any]:
        return {
            **self.topics.options(),
            **self.cluster.options(),
            **({} if self.registry is None else {"registry": self.registry.options(), "reader": self.reader}),
            **{name: item for name, item in (("descriptor", self.descriptor), ("message", self.message)) if item is not None},
            **super().options(),
            "metadata": dict(self.metadata),
            "start": self.start,
            "end": self.end,
            "deletes": list(self.deletes),
        }

    def read_as(self) -> dict[str, Any]:
        return {"value": self.value, "message": self.message, "metadata": dict(self.metadata)}

    def reads_from(self) -> str:
        return str(self.topics)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *more: Any) -> Self:
        remaining, ca = Registry.apart(options)
        source = super().from_options({name: item for name, item in remaining.items() if name not in ("deletes", "reader")}, *more)
        source.registry = source.registry and source.registry.trusting(ca)
        source.reader = options.get("reader")
        source.deletes = tuple(options["deletes"])
        return source

    def describe(self) -> str:
        return f"kafka {self.topics} ({self.value}{', bounded' if self.end else ''})"

    def feed(self, format: str | None, key: tuple[str, ...]) -> None:
        # Debezium follows a deletion with a record without a value, so that Kafka can drop the key.
        if format == "debezium":
            self.tombstones = "skip"
        elif format == "upsert" and (self.value == "json" or self.registry is not None):
            self.deletes = key
            if self.schema is not None:
                self.schema = nullable(self.schema, key)

    def infer(self, session: SparkSession) -> Struct:
        ddl = self._described(session)
        if ddl is None:
            return self._known()
        schema = columns(VERB, parse_schema(ddl), self.metadata)
        self.schema = nullable(schema, self.deletes) if self.deletes else schema
        return self.schema

    def _described(self, session: SparkSession) -> str | None:
        """The columns of the first topic's newest schema, or of the message in the file."""
        if self.registry is None or not self.topics.names:
            if self.descriptor is None:
                return None
            attach(session, [KAFKA])
            return columns_in(self.descriptor) if self.value == "avro" else message_columns(self._messages())
        latest = self.registry.latest(self.registry.named("value", self.topics.names[0]), self.value)
        if self.value == "json_schema":
            return columns_of(latest.text)
        attach(session, [KAFKA])
        if self.value == "protobuf":
            return message_columns(self._messages(latest.id))
        self.reader = whole(self.registry, latest)
        return avro_columns(latest.id, self.reader)

    def _messages(self, id: int | None = None) -> dict[str, str]:
        """The place of the message's schema for the kernel: a number in the registry, or the file."""
        message = {"message": self.message or ""}
        if self.registry is not None:
            return {**message, **self.registry.kernel(), "id": str(id)}
        return {**message, "descriptor": of_file(self.descriptor or "")}

    def check(self) -> None:
        topic_offsets = look(self.cluster, self.topics)
        starting(VERB, self.start, topic_offsets, "UTC")
        if self.schema is None:
            return
        of = of_value(self.schema, self.metadata)
        if self.registry is not None:
            for topic in self.topics.names:
                latest = self.registry.latest(self.registry.named("value", topic), self.value)
                if self.value == "avro" and self.reader is None:
                    fits(topic, latest.id, misfit(whole(self.registry, latest), of.ddl))
                elif self.value == "protobuf":
                    fits(topic, latest.id, unreadable(self._messages(latest.id), of))
        elif self.descriptor is not None and self.value == "avro":
            described_as(f"the schema in {self.descriptor}", misfit(schema_in(self.descriptor), of.ddl))
        elif self.descriptor is not None:
            described_as(f"the message {self.message}", unreadable(self._messages(), of))

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        topic_offsets = look(self.cluster, self.topics)
        same(context, topic_offsets, skips=self.on_gap == "skip")
        options = {
            **self.topics.spark(),
            **starting(VERB, self.start, topic_offsets, context.time_zone),
            "headrace.cluster": kept({"isolation.level": "read_committed", **self.cluster.properties()}),
            "headrace.source": context.name,
            "headrace.gaps": self.on_gap,
            "includeHeaders": str("headers" in self.metadata.values()).lower(),
        }
        if self.end is not None:
            options["headrace.ends"] = json.dumps(ends(self.end, topic_offsets))
        if self.rows_per_epoch is not None:
            options["headrace.limit"] = str(self.rows_per_epoch)
        if self.group is not None:
            options["headrace.group"] = self.group
        read = session.readStream.format("headrace.kafka.Read").options(**options).load()
        return self._frame(read), {"kind": "columns"} if self.value in ("raw", "text") else self._lines()

    def unread(self, session: SparkSession, context: ports.SourceContext) -> int | None:
        read = read_before(context)
        topic_offsets = look(self.cluster, self.topics)
        until = ends(self.end or "latest", topic_offsets)
        return sum(
            max(0, until[topic][str(partition)] - read.get(topic, {}).get(partition, first))
            for topic, partitions in topic_offsets.partitions.items()
            for partition, (first, _) in partitions.items()
        )

    def beginning(self, session: SparkSession, place: ports.Elsewhere, rows: int, epochs: int) -> Source:
        first = look(self.cluster, self.topics).partitions
        waiting = sum(end - begin for of in first.values() for begin, end in of.values())
        # The share of each partition, rounded up.
        until = {
            topic: {str(one): min(end, begin - (begin - end) * rows // max(1, waiting)) for one, (begin, end) in of.items()}
            for topic, of in first.items()
        }
        begins = {topic: {str(one): begin for one, (begin, _) in of.items()} for topic, of in first.items()}
        limits = {"start": {"offsets": begins}, "end": {"offsets": until}, "rows_per_epoch": max(1, rows // epochs), "group": None}
        return type(self).from_options({**self.options(), **limits}, self._known())

    def _known(self) -> Struct:
        if self.schema is None:
            hint = 'give it: schema="id bigint, amount double"'
            raise ConnectorError("SCHEMA_NEEDED", f"the topic {self.topics} has no schema", hint=hint, site=here())
        return self.schema

    def _frame(self, read: DataFrame) -> DataFrame:
        """The records in the form that the kernel reads."""
        value = "make_valid_utf8(CAST(value AS string))" if self.value == "text" else "value"
        expressions = [f"{value} AS value", "concat(topic, '-', partition) AS _file", "offset AS _position", *beside(self.metadata)]
        if self.deletes and self.schema is not None:
            row = registered_tombstone if self.value in TYPES else tombstone
            expressions[0] = f"coalesce(value, {row(self.schema, self.deletes)}) AS value"
            expressions.append("CASE WHEN value IS NULL THEN -1L ELSE 1L END AS _weight")
        if self.tombstones == "skip":
            expressions.append("value IS NULL AS _tombstone")
        texts = [one for one, is_text in (("value", self.value == "text"), ("key", "key" in self.metadata.values())) if is_text]
        problems = [f"WHEN NOT is_valid_utf8(CAST({one} AS string)) THEN 'not text: the {one} is not UTF-8'" for one in texts]
        if self.value in ("text", "raw") and self.tombstones != "skip":
            problems.append("WHEN value IS NULL THEN 'no row: the value is null'")
        if self.on_gap == "skip":
            # This timestamp type marks a row about a gap.
            problems.insert(0, "WHEN timestampType = -2 THEN CAST(value AS string)")
        if problems:
            expressions.append(f"CASE {' '.join(problems)} END AS _problem")
        return read.selectExpr(*expressions)

    def _lines(self) -> dict[str, Any]:
        options = {"header": "false"} if self.value == "csv" else {} if self.registry is None else self.registry.kernel()
        if self.reader:
            options["schema"] = self.reader
        kind = _LINES.get(self.value, self.value)
        if self.descriptor is not None:
            kind = _ALONE[self.value]
            options = {"schema": schema_in(self.descriptor)} if self.value == "avro" else self._messages()
        return {"kind": kind, "options": options, "beside": list(self.metadata), "records": True}
