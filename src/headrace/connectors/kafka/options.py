"""The options of the source and the sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import headrace.ports as ports
from headrace.connectors.kafka.cluster import Cluster
from headrace.connectors.kafka.formats import RECORD
from headrace.connectors.kafka.layout import VERB as WRITE
from headrace.connectors.kafka.layout import Layout
from headrace.connectors.kafka.look import Topics
from headrace.connectors.kafka.messages import described
from headrace.connectors.kafka.places import Place, end_of, place_of
from headrace.connectors.kafka.registry import registered
from headrace.connectors.kafka.values import VALUES, Metadata, columns, metadata_of
from headrace.ports import option
from headrace.ports.options import number, texts, wrong
from headrace.schema import Struct, milliseconds, schema_of

READ = "read.kafka"

_OURS = (
    "transactional.id",
    "transaction.timeout.ms",
    "enable.idempotence",
    "acks",
    "key.serializer",
    "value.serializer",
)


def _topic(verb: str, option: str, topic: Any) -> str:
    if not isinstance(topic, str) or not topic:
        raise wrong(f"{verb}: the topic cannot be {topic!r}", 'it is a name: "charges"')
    return topic


def _create(verb: str, option: str, argument: Any) -> dict[str, Any]:
    if not isinstance(argument, Mapping) or "partitions" not in argument or set(argument) - {"partitions", "replication", "config"}:
        raise wrong(f"{WRITE}: create cannot be {argument!r}", 'it describes the topic to create if it does not exist: {"partitions": 4}')
    settings: dict[str, Any] = {"partitions": number(WRITE, "create.partitions", argument["partitions"])}
    if "replication" in argument:
        settings["replication"] = number(WRITE, "create.replication", argument["replication"])
    if "config" in argument:
        settings["config"] = texts(WRITE, "create.config", argument["config"])
    return settings


class SourceOptions(ports.Options):
    """The topics of the source, the format of their records, and the range to read."""

    stored: ClassVar[str] = "always"

    _topics: Any = option.plain(
        "the name of a topic, or several; either this or `pattern` is required",
        takes=str | Sequence[str],
        alias="topics",
        default=None,
        kw_only=False,
        stored="never",
    )
    servers: Any = option.plain(
        'the brokers: `"host1:9092,host2:9092"`, or a list. Sources of one job may read different clusters',
        takes=str | Sequence[str],
        stored="never",
    )
    pattern: str | None = option.plain(
        "instead of topics: a regular expression that must match the whole name. Matching topics that are created later are read too",
        default=None,
        stored="never",
    )
    value: str = option.choice(
        '`"json"` or `"csv"`: a row per record with the columns of `schema`; `"text"` or `"raw"`: one column `value`, a string or '
        'bytes; `"avro"`, `"json_schema"` or `"protobuf"`: [with a schema registry](#read-with-a-schema-registry), `"avro"` and '
        '`"protobuf"` also [with a schema file](#read-with-a-schema-file)',
        tuple(VALUES),
        default="json",
    )
    _schema: Any = option.plain(
        'the columns of a row: required for `"json"` and `"csv"`, and for a `pattern` with a registry ([SCHEMA_NEEDED]'
        '(../errors/SCHEMA_NEEDED.md)); not for `"text"` and `"raw"`; else by default those of the registry or the schema file',
        takes=Any,
        alias="schema",
        default=None,
        stored="never",
    )
    _metadata: Any = option.plain(
        "more columns: `key` (as text), `key_bytes`, `topic`, `partition`, `offset`, `timestamp`, `headers`; "
        'a dict gives the columns other names: `{"written": "timestamp"}`',
        takes=str | Sequence[str] | Mapping[str, str],
        alias="metadata",
        default=(),
        stored="never",
    )
    _start: Any = option.plain(
        'where the first run of a checkpoint begins: `"earliest"`, `"latest"`, a time, `"2026-01-01 00:00:00"` (the first record at or '
        'after it, in the job\'s time zone if the text has none), or offsets, `{"orders": {0: 5}}` or with one topic `{0: 5}`; partitions '
        "without an offset begin with their earliest record",
        takes=Any,
        alias="start",
        default="earliest",
        stored="never",
    )
    _end: Any = option.plain(
        '`"latest"`: a run reads the records that exist when it starts, so the source is bounded; or the offsets before which it ends, '
        '`{"orders": {0: 100}}`, limited to the records that exist then; without it, the source is unbounded',
        takes=Any,
        alias="end",
        default=None,
        stored="never",
    )
    rows_per_epoch: int | None = option.number(
        "the maximum number of records per epoch, shared in proportion to the backlog of each partition, at least one for each",
        default=None,
    )
    on_gap: str = option.choice(
        'for records that the topic no longer retains: `"fail"` ends the run ([OFFSETS_GONE](../errors/OFFSETS_GONE.md)), `"skip"` '
        "continues after them; one dead letter per gap states how many were lost",
        ("fail", "skip"),
        default="fail",
    )
    tombstones: str = option.choice(
        'for records without a value: `"dead_letter"`, or `"skip"`, which only [counts](#outcome-of-each-record) them',
        ("dead_letter", "skip"),
        default="dead_letter",
    )
    group: str | None = option.text(
        "a consumer group in which offsets are committed after each epoch, so that monitoring tools can show lag",
        example="fraud",
        default=None,
    )
    security: Any = option.plain(
        "[TLS, user and password](#security)",
        takes=Mapping[str, Any],
        default=None,
        stored="never",
    )
    _registry: Any = option.plain(
        "[the schema registry](#read-with-a-schema-registry)",
        takes=str | Mapping[str, Any],
        alias="registry",
        default=None,
        stored="never",
    )
    _descriptor: Any = option.plain(
        "[a file with the schema](#read-with-a-schema-file) of Avro or Protobuf",
        alias="descriptor",
        default=None,
        stored="never",
    )
    _message: Any = option.plain(
        "[the Protobuf message](#protobuf) of the records",
        alias="message",
        default=None,
        stored="never",
    )
    malformed: str = option.choice(
        'for a record that cannot be read: `"dead_letter"`, with its text in `raw`, `topic-partition` in `file` and the offset in '
        '`position`; `"fail"` ends the run; `"skip"` only counts it',
        ports.MALFORMED,
        default="dead_letter",
    )
    clients: Any = option.plain(
        'settings of Kafka\'s consumers: `{"fetch.min.bytes": "100000"}`. Records of aborted transactions are not read, unless with '
        '`{"isolation.level": "read_uncommitted"}`',
        takes=Mapping[str, str],
        alias="options",
        default=None,
        stored="never",
    )

    def __post_init__(self) -> None:
        self.topics = Topics.of(READ, self._topics, self.pattern)
        self.cluster = Cluster.of(READ, self.servers, self.security, self.clients)
        alone = self._descriptor is not None or self.value == "protobuf"
        self.registry = registered(READ, {"value": self.value}, self._registry, described=alone)
        self.descriptor, self.message = described(READ, self.value, self._descriptor, self._message, registry=self.registry is not None)
        # The registered schema that the columns were inferred from: records of other schemas are resolved to it.
        self.reader: str | None = None
        self.metadata: Metadata = metadata_of(READ, self._metadata)
        self.start: Place = place_of(READ, self._start, self.topics)
        self.end = end_of(READ, self._end, self.topics)
        # The key of the rows that records without a value retract.
        self.deletes: tuple[str, ...] = ()
        self.schema = self._columns(self._schema)

    def _columns(self, schema: Any) -> Struct | None:
        fixed = VALUES[self.value]
        if fixed is not None and schema is not None:
            raise wrong(f"{READ}: value={self.value!r} has one column, `value`, and allows no schema", "remove it")
        value_columns = fixed if fixed is not None or schema is None else schema_of(schema)
        return None if value_columns is None else columns(READ, value_columns, self.metadata)


class SinkOptions(ports.Options):
    """The topic of the sink, and the columns for each part of a record."""

    stored: ClassVar[str] = "always"

    topic: str = option.option(
        "the topic",
        _topic,
        takes=str,
        kw_only=False,
    )
    servers: Any = option.plain(
        'the brokers: `"host1:9092,host2:9092"`, or a list',
        takes=str | Sequence[str],
        stored="never",
    )
    _key: Any = option.plain(
        'the columns of the record key: a single string or binary column is written as it is, any other key as JSON, `{"id":1}`',
        takes=str | Sequence[str],
        alias="key",
        default=None,
        stored="never",
    )
    _key_format: Any = option.plain(
        '`"json"` writes any key as JSON, `"raw"` requires a single string or binary column, `"avro"`, `"json_schema"` and '
        '`"protobuf"` use the registry',
        alias="key_format",
        default=None,
        stored="never",
    )
    _value: Any = option.plain(
        '`"json"`, `"csv"`, `"raw"` (a single string or binary column as it is), `"debezium"` '
        '([changes](#retractions-and-changes)), or `"avro"`, `"json_schema"`, `"protobuf"` with a '
        "[schema registry](#write-with-a-schema-registry)",
        alias="value",
        default="json",
        stored="never",
    )
    _columns: Any = option.plain(
        "the columns of the value; by default, all",
        takes=str | Sequence[str],
        alias="columns",
        default=None,
        stored="never",
    )
    _headers: Any = option.plain(
        'headers and the string or binary columns that they come from: `{"trace": "trace_id"}`',
        takes=Mapping[str, str],
        alias="headers",
        default=None,
        stored="never",
    )
    _timestamp: Any = option.plain(
        "the column with the record's timestamp; by default, the clock of the broker or producer",
        alias="timestamp",
        default=None,
        stored="never",
    )
    _partition_by: Any = option.plain(
        "columns that determine the partition, hashed as in Kafka's producer (murmur2); by default, the key does, and without a key the "
        "producer spreads the records",
        takes=str | Sequence[str],
        alias="partition_by",
        default=None,
        stored="never",
    )
    epoch_headers: bool = option.flag(
        "add the headers `headrace.sink` and `headrace.epoch` to each record",
        default=True,
    )
    end_markers: bool = option.flag(
        "end each epoch in each partition with a record that has no key and value, and the header `headrace.end`",
        default=False,
    )
    create: dict[str, Any] | None = option.option(
        'create a missing topic: `{"partitions": 4, "replication": 3, "config": {...}}`',
        _create,
        takes=Mapping[str, Any],
        default=None,
        stored="given",
    )
    transaction_timeout: str = option.span(
        "Kafka's `transaction.timeout.ms`: how long a task's transaction may stay open; brokers refuse more than their "
        "`transaction.max.timeout.ms`, 15 minutes by default",
        called=f"{WRITE}: transaction_timeout",
        default="15 minutes",
    )
    prefix: str = option.text(
        "the prefix of transactional ids and consumer groups, for the cluster's access rules",
        example="headrace",
        default="headrace",
    )
    security: Any = option.plain(
        "[TLS, user and password](#security)",
        takes=Mapping[str, Any],
        default=None,
        stored="never",
    )
    _registry: Any = option.plain(
        "[the schema registry](#write-with-a-schema-registry)",
        takes=str | Mapping[str, Any],
        alias="registry",
        default=None,
        stored="never",
    )
    register: bool = option.flag(
        "whether the sink registers its schema",
        default=True,
        stored="never",
    )
    record: str | None = option.plain(
        "the full name of the record in the registry; by default, the topic's name",
        default=None,
        stored="never",
    )
    clients: Any = option.plain(
        'settings of Kafka\'s producer, such as `{"compression.type": "zstd"}`; defaults: compression lz4, `batch.size` 256 KB, '
        "`linger.ms` 20",
        takes=Mapping[str, Any],
        alias="options",
        default=None,
        stored="never",
    )

    def __post_init__(self) -> None:
        self.cluster = Cluster.of(WRITE, self.servers, self.security, self.clients)
        self.layout = Layout.of(self._value, self._columns, self._key, self._key_format, self._headers, self._timestamp, self._partition_by)
        self.transaction_ms = milliseconds(self.transaction_timeout, f"{WRITE}: transaction_timeout")
        formats = {"value": self.layout.value, "key_format": self.layout.key_format}
        self.registry = registered(WRITE, formats, self._registry)
        self._replaces = False
        self._check_options()

    def _check_options(self) -> None:
        if self.record is not None and (self.registry is None or not RECORD.fullmatch(str(self.record))):
            raise wrong(f"{WRITE}: record cannot be {self.record!r}", 'it is the name of a record in a registry: record="shop.Order"')
        if not self.register and self.registry is None:
            raise wrong(f"{WRITE}: register=False needs a registry", "remove it")
        for name in self.cluster.clients:
            if name in _OURS:
                raise wrong(f"{WRITE}: options cannot set {name}", "headrace sets it, so that each row counts once")
        if self.layout.partition_by and self.layout.key and not set(self.layout.partition_by) <= set(self.layout.key):
            raise wrong(
                f"{WRITE}: partition_by names {', '.join(self.layout.partition_by)}, but the key is {', '.join(self.layout.key)}",
                "all rows of a key belong to one partition: remove partition_by, or name columns of the key",
            )
