"""Avro, JSON Schema and Protobuf written to topics, decoded by libraries that know nothing of headrace, and read back."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import headrace as hr
from headrace.connectors.kafka.encoding import Writing
from headrace.connectors.kafka.formats import record_of
from headrace.connectors.kafka.registry import Registry as Client
from headrace.schema import parse_schema
from headrace.testing import Harness
from tests.servers.kafka import Broker, Record, wait_for_ends
from tests.servers.protos import compiled, message
from tests.servers.registry import Registry
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

FORMATS = ("avro", "protobuf", pytest.param("json_schema", marks=pytest.mark.full))
ALL = (
    "id bigint not null, b boolean, t tinyint, s smallint, i int, f float, d double, m decimal(20,3), n string, x binary, day date, "
    "at timestamp, ntz timestamp_ntz, tags array<string>, of map<string, double>, item struct<sku: string, price: decimal(10,2)>, "
    "items array<struct<sku: string, at: timestamp>>, by map<string, struct<n: int>>"
)
AT = datetime(1969, 12, 31, 23, 59, 59, 678901, UTC)
LOCAL = datetime(2026, 1, 2, 3, 4, 5, 678901)
FULL = (
    2**62, True, -128, 32767, -(2**31), 0.5, 1e300, Decimal("-12345678901234567.890"), "ä\U0001f600\n", b"\x00\xff", date(1582, 10, 14),
    AT, LOCAL, ["", "b"], {"k": -0.5}, ("sku", Decimal("1.20")), [("a", AT), (None, None)], {"one": (1,), "none": (None,)},
)  # fmt: skip
# Zeros and empties are not nulls.
EMPTY = (0, False, 0, 0, 0, 0.0, 0.0, Decimal("0.000"), "", b"", date(1970, 1, 1), AT, LOCAL, [], {}, (None, None), [], {})
NULLS = (1, *[None] * 12, [], {}, None, [], {})
NOTHING = (2, *[None] * 17)


def written(rows: list[Any], schema: str, topic: str, folder: Path, **options: Any) -> None:
    stream = hr.read.memory(rows, schema, name="rows")
    hr.job("formats", stream.write.kafka(topic, name="out", **options)).run(checkpoint=folder / "state", progress=False)


def bodies(broker: Broker, topic: str, number: int) -> list[bytes]:
    """The records of a topic behind the number of their schema."""
    values = [record.value or b"" for record in broker.consume(topic)]
    assert {value[:5] for value in values} == {b"\0" + number.to_bytes(4, "big")}
    return [value[5:] for value in values]


def by_id(rows: Any) -> list[Any]:
    return sorted(rows, key=lambda one: one[0])


def read(broker: Broker, registry: Registry, topic: str, format: str, **options: Any) -> Any:
    wait_for_ends(broker.servers, topic)
    at = {"servers": broker.servers, "registry": registry.url, "end": "latest", "malformed": "fail", **options}
    return hr.read.kafka(topic, value=format, **at)


def test_avro(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    import fastavro

    topic = broker.create_topic("formats-avro", 2)
    rows = [FULL, EMPTY, NULLS, NOTHING]
    written(rows, ALL, topic, tmp_path, servers=broker.servers, value="avro", registry=registry.url)
    assert list(registry.subjects) == [f"{topic}-value"]
    schema = fastavro.parse_schema(json.loads(registry.schemas[0]["schema"]))
    records = [fastavro.schemaless_reader(io.BytesIO(body), schema, None) for body in bodies(broker, topic, 1)]

    def plain(value: Any) -> Any:
        return tuple(map(plain, value.values())) if isinstance(value, dict) and "k" not in value and "one" not in value else value

    records_by_id = {one["id"]: one for one in records}
    full = dict(zip(records_by_id[FULL[0]], FULL, strict=True))
    full |= {"item": {"sku": "sku", "price": Decimal("1.20")}, "items": [{"sku": "a", "at": AT}, {"sku": None, "at": None}]}
    assert records_by_id[FULL[0]] == full | {"by": {"one": {"n": 1}, "none": {"n": None}}}
    assert list(records_by_id[NOTHING[0]].values()) == list(NOTHING)
    assert by_id(hr.collect(read(broker, registry, topic, "avro")).rows()) == by_id(rows)


def test_json_schema(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    topic = broker.create_topic("formats-json", 2)
    rows = [FULL, EMPTY, NULLS, NOTHING]
    written(rows, ALL, topic, tmp_path, servers=broker.servers, value="json_schema", registry=registry.url)
    validator = jsonschema.Draft7Validator(json.loads(registry.schemas[0]["schema"]))
    records = {one["id"]: one for one in map(json.loads, bodies(broker, topic, 1))}
    assert len(records) == 4
    for one in records.values():
        validator.validate(one)
    assert (records[FULL[0]]["x"], records[FULL[0]]["at"]) == ("AP8=", "1969-12-31T23:59:59.678901Z")
    assert by_id(hr.collect(read(broker, registry, topic, "json_schema")).rows()) == by_id(rows)


def test_protobuf(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    topic = broker.create_topic("formats-protobuf", 2)
    rows = [FULL, EMPTY, NULLS]
    written(rows, ALL, topic, tmp_path, servers=broker.servers, value="protobuf", registry=registry.url, record="shop.Order")
    descriptors = compiled(registry.schemas[0]["schema"])
    order = message(descriptors, "shop.Order")
    messages = {}
    for body in bodies(broker, topic, 1):
        assert body[:1] == b"\0"
        one = order.FromString(body[1:])
        messages[one.id] = one
    full = messages[FULL[0]]
    assert (full.b, full.t, full.s, full.i, full.f, full.d, full.n, full.x) == (*FULL[1:7], FULL[8], FULL[9])
    assert Decimal(int.from_bytes(full.m.value, "big", signed=True)).scaleb(-full.m.scale) == FULL[7]
    assert (full.day.year, full.day.month, full.day.day) == (1582, 10, 14)
    assert (full.at.seconds, full.at.nanos, full.ntz.ToDatetime()) == (-1, 678901000, LOCAL)
    assert (list(full.tags), dict(full.of), full.item.sku, full.by["one"].n) == (["", "b"], {"k": -0.5}, "sku", 1)
    assert (full.items[0].at.nanos, full.items[1].HasField("sku"), full.by["none"].HasField("n")) == (678901000, False, False)
    nulls, empty = messages[1], messages[0]
    optional = [name for name in ALL.replace(",", " ").split() if name in order.DESCRIPTOR.fields_by_name][1:13]
    assert not any(nulls.HasField(name) for name in (*optional, "item"))
    assert all(empty.HasField(name) for name in (*optional, "item"))
    assert by_id(hr.collect(read(broker, registry, topic, "protobuf", schema=ALL)).rows()) == by_id(rows)
    columns = read(broker, registry, topic, "protobuf").schema
    assert [str(columns.get(name)) for name in ("t", "m", "day", "ntz", "items")] == [
        "int", "decimal(20,3)", "date", "timestamp", "array<struct<sku: string, at: timestamp>>",
    ]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_columns_come_and_go(broker: Broker, registry: Registry, tmp_path: Path, format: str) -> None:
    topic = broker.create_topic(f"formats-evolve-{format}")
    at: dict[str, Any] = {"servers": broker.servers, "value": format, "registry": registry.url}
    written([(1, "a", "x")], "id bigint, gone string, name string", topic, tmp_path / "1", **at)
    written([(2, 5, "y")], "id bigint, more int, name string", topic, tmp_path / "2", **at)
    assert registry.subjects == {f"{topic}-value": [1, 2]}
    assert by_id(hr.collect(read(broker, registry, topic, format)).rows()) == [(1, None, "x"), (2, 5, "y")]
    if format == "protobuf":
        assert (
            "reserved 2;\n  optional int64 id = 1;\n  optional int32 more = 4;\n  optional string name = 3;"
            in registry.schemas[1]["schema"]
        )
    # The same columns have the same schema.
    written([(2, 5, "y")], "id bigint, more int, name string", topic, tmp_path / "3", **at)
    assert len(registry.schemas) == 2
    records = [record.value for record in broker.consume(topic)]
    assert records[1] == records[2]


@pytest.mark.parametrize("format", FORMATS)
def test_what_the_registry_does_not_let_through(broker: Broker, registry: Registry, tmp_path: Path, format: str) -> None:
    topic = broker.create_topic(f"formats-refused-{format}")
    at: dict[str, Any] = {"servers": broker.servers, "value": format, "registry": registry.url}
    written([(1, "a")], "id bigint, name string", topic, tmp_path / "1", **at)
    reason = {
        "avro": "{errorType:'TYPE_MISMATCH', description:'The type (path 'name') was [\"null\", \"string\"]'}",
        "json_schema": "{errorType:'TYPE_MISMATCH', description:'The type (path 'name') was [\"null\", \"string\"]'}",
        "protobuf": "{errorType:'TYPE_MISMATCH', description:'The type (path '2') was string'}",
    }[format]
    check_error(
        f"""
        REGISTRY_INCOMPATIBLE: the columns are incompatible with the registered schema {topic}-value: {reason}
          at test_kafka_formats.py:*: hr.job("formats", stream.write.kafka(topic, name="out", **options)).run(checkpoint=folder / "state", progress=False)
          hint: make new columns nullable and keep the types of the others; or use another subject, registry={{"url": ..., "subject": ...}}; or change the compatibility level of this one in the registry
          more: headrace error REGISTRY_INCOMPATIBLE
        """,
        lambda: written([(2, 5)], "id bigint, name int", topic, tmp_path / "2", **at),
    )
    assert not (tmp_path / "2").exists()
    assert (len(broker.consume(topic)), len(registry.schemas)) == (1, 1)


@pytest.mark.parametrize("format", FORMATS)
def test_what_a_registry_says_is_known_when_the_job_is_made(registry: Registry, tmp_path: Path, format: str) -> None:
    options: dict[str, Any] = {"servers": "127.0.0.1:1", "value": format, "key": "id", "key_format": format, "registry": registry.url}

    def build(schema: str, rows: list[Any]) -> hr.Job:
        return hr.job("suits", hr.read.memory(rows, schema, name="rows").write.kafka("orders", name="out", **options))

    build("id bigint, name string", [(1, "a")])
    assert registry.subjects == {}
    client = Client.of("write.kafka", registry.url)
    assert client is not None
    for part, columns in {"key": "id bigint", "value": "id bigint, name string"}.items():
        writing = Writing(client, True, part, format, "orders", record_of("orders", part))
        writing.document(parse_schema(columns))
    build("id bigint, name string", [(1, "a")])
    build("id bigint, name string, more int", [(1, "a", 1)])
    # The value would do; the key is looked at before anything is registered.
    with pytest.raises(hr.HeadraceError) as raised:
        build("id string, name string", [("1", "a")])
    assert (raised.value.code, len(registry.schemas)) == ("REGISTRY_INCOMPATIBLE", 2)
    # A plan can be made where its registry is out of reach.
    registry.broken = True
    job = build("id bigint, name string", [(1, "a")])
    with pytest.raises(hr.HeadraceError) as raised:
        job.run(checkpoint=tmp_path / "state", fresh=True, progress=False)
    assert raised.value.code == "REGISTRY_UNREACHABLE"
    assert not (tmp_path / "state" / "job.json").exists()


def test_a_schema_that_was_there_before_the_newest(registry: Registry) -> None:
    client = Client.of("write.kafka", registry.url)
    assert client is not None
    first, second = (json.dumps({"fields": [{"name": "id", "type": type}]}) for type in ("int", "long"))
    registry.register("orders-value", first, "AVRO")
    registry.register("orders-value", second, "AVRO")
    client.allows("orders-value", "avro", first)
    with pytest.raises(hr.HeadraceError) as raised:
        client.allows("orders-value", "avro", json.dumps({"fields": [{"name": "id", "type": "string"}]}))
    assert raised.value.code == "REGISTRY_INCOMPATIBLE"


@pytest.mark.parametrize("format", FORMATS)
def test_rows_that_replace_each_other(broker: Broker, registry: Registry, tmp_path: Path, format: str) -> None:
    topic = broker.create_topic(f"formats-upsert-{format}", 2)
    with Harness(partitions=2) as h:
        stream = h.source("rows", "id int, v string", changes=True)
        at: dict[str, Any] = {"servers": broker.servers, "value": format, "key_format": format, "registry": registry.url}
        h._sinks.append(stream.write.kafka(topic, key="id", name="out", **at)._use())
        h.commit({"rows": [("+", (n, "a")) for n in range(6)]})
        h.commit({"rows": [("-", (n, "a")) for n in range(4)] + [("+", (n, "b")) for n in range(2)]})
    assert {subject: len(of) for subject, of in registry.subjects.items()} == {f"{topic}-value": 1, f"{topic}-key": 1}
    records = broker.consume(topic)
    assert (len(records), sum(record.value is None for record in records)) == (10, 2)
    users = read(broker, registry, topic, format, change_format="upsert", key="id")
    kept = users.write.memory(key="id")
    hr.job("kept", kept).run(checkpoint=tmp_path / "state", progress=False)
    assert sorted(kept.rows()) == [(0, "b"), (1, "b"), (4, "a"), (5, "a")]


@pytest.mark.parametrize("strategy", ["{record}", "{topic}-{record}"])
def test_subjects_by_the_name_of_the_record(broker: Broker, registry: Registry, tmp_path: Path, strategy: str) -> None:
    topic = broker.create_topic(f"formats-subject-{len(strategy)}")
    settings = {"url": registry.url, "subject": strategy}
    written([(1,)], "id int", topic, tmp_path, servers=broker.servers, value="avro", registry=settings, record="shop.Order")
    assert list(registry.subjects) == [strategy.replace("{topic}", topic).replace("{record}", "shop.Order")]


def test_a_registry_that_does_not_take_a_schema(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client.of("write.kafka", registry.url)
    assert client is not None
    check_error(
        """
        REGISTRY_SCHEMA: the registry rejected the schema of orders-value: Invalid schema: it has no fields
          at test_kafka_formats.py:*: lambda: client.register("orders-value", "avro", '{"fields": []}'),
          hint: check the names and types of the columns
          more: headrace error REGISTRY_SCHEMA
        """,
        lambda: client.register("orders-value", "avro", '{"fields": []}'),
    )
    registry.locked = True
    with pytest.raises(hr.HeadraceError) as raised:
        client.register("orders-value", "avro", "{}")
    assert (raised.value.code, raised.value.message) == (
        "REGISTRY_UNREACHABLE", f"the registry {registry.url} cannot be used: it returned HTTP 401 Unauthorized",
    )  # fmt: skip
    monkeypatch.setenv("REGISTRY_PASSWORD", "geheim")
    opened = Client.of("write.kafka", {"url": registry.url, "user": "me", "password": hr.secret("REGISTRY_PASSWORD")})
    assert opened is not None
    assert opened.register("orders-value", "avro", '{"fields": [{"name": "id", "type": "int"}]}').id == 1


THEIRS: dict[str, Any] = {
    "avro": {
        "type": "record", "name": "Order", "namespace": "theirs",
        "fields": [{"name": "size", "type": {"type": "enum", "name": "Size", "symbols": ["S", "L"]}}, {"name": "note", "type": ["string", "null"], "default": ""}, {"name": "id", "type": "long"}],
    },
    "json_schema": {"type": "object", "properties": {"id": {"type": "number"}, "size": {"enum": ["S", "L"]}, "note": {"type": "string"}}},
    "protobuf": 'syntax = "proto2"; package theirs; message Other {} message Order { required uint32 id = 9; optional Size size = 3; enum Size { S = 0; L = 1; } }',
}  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_a_schema_that_is_there(broker: Broker, registry: Registry, tmp_path: Path, format: str) -> None:
    topic = broker.create_topic(f"formats-theirs-{format}")
    at: dict[str, Any] = {"servers": broker.servers, "value": format, "registry": registry.url, "register": False}
    if format == "protobuf":
        at["record"] = "theirs.Order"
    check_error(
        f"""
        REGISTRY_SUBJECT: the registry <registry> has no subject {topic}-value
          at test_kafka_formats.py:*: hr.job("formats", stream.write.kafka(topic, name="out", **options)).run(checkpoint=folder / "state", progress=False)
          hint: register the schema first, or name its subject: registry={{"url": ..., "subject": "{{topic}}-value"}}
          more: headrace error REGISTRY_SUBJECT
        """,
        lambda: written([(1, "S")], "id bigint not null, size string", topic, tmp_path / "1", **at),
        hide={registry.url: "<registry>"},
    )
    registry.register(f"{topic}-value", THEIRS[format], {"json_schema": "JSON"}.get(format, format.upper()))
    written([(1, "S"), (2, "L")], "id bigint not null, size string", topic, tmp_path / "2", **at)
    assert len(registry.schemas) == 1
    theirs = hr.collect(
        read(broker, registry, topic, format, schema="id bigint, size string" if format != "json_schema" else "id int, size string")
    )
    assert sorted(theirs.rows()) == [(1, "S"), (2, "L")]
    why = {
        "avro": "Cannot convert SQL field 'id' to Avro field 'id' because schema is incompatible (sqlType = DATE, avroType = \"long\")",
        "json_schema": "`id` is date, which is written as string, but it allows number",
        "protobuf": "the column `id` is DATE, but the field is uint32",
    }[format]
    check_error(
        f"""
        REGISTRY_SCHEMA: the columns cannot be written with the schema 1 of {topic}-value: {why}
          at test_kafka_formats.py:*: hr.job("formats", stream.write.kafka(topic, name="out", **options)).run(checkpoint=folder / "state", progress=False)
          hint: rename and cast the columns to match it, or let the sink register their schema: register=True
          more: headrace error REGISTRY_SCHEMA
        """,
        lambda: written([("2026-01-01", "S")], "id date, size string", topic, tmp_path / "3", **at),
    )


@pytest.mark.parametrize("format", FORMATS)
def test_a_null_where_the_schema_has_none(broker: Broker, registry: Registry, tmp_path: Path, format: str) -> None:
    topic = broker.create_topic(f"formats-filled-{format}")
    registry.register(f"{topic}-value", THEIRS[format], {"json_schema": "JSON"}.get(format, format.upper()))
    at: dict[str, Any] = {"servers": broker.servers, "value": format, "registry": registry.url, "register": False}
    if format == "protobuf":
        at["record"] = "Order"
    why = "its field is required" if format == "protobuf" else "the schema does not allow null"
    written([(None, "S"), (1, "S")], "id bigint, size string", topic, tmp_path, **at)
    assert letters(tmp_path) == [(f"id is null, but {why}", {"id": None, "size": "S"})]
    assert len(broker.consume(topic)) == 1


def letters(folder: Path) -> list[tuple[str, Any]]:
    """The rows that the sink has put aside, each with its reason."""
    files = sorted((folder / "state" / "refused" / "out").glob("*.json"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return sorted((one["reason"], json.loads(one["raw"])) for one in rows)


def test_nulls_that_protobuf_has_no_place_for(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    topic = broker.create_topic("formats-null")
    at: dict[str, Any] = {"servers": broker.servers, "value": "protobuf", "registry": registry.url}
    schema = "id int, tags array<string>, of map<string, int>"
    written([(0, ["a"], {"b": 1}), (1, None, {}), (2, ["a", None], {}), (3, [], {"a": None}), (4, [], None)], schema, topic, tmp_path, **at)
    assert [(reason, row["id"]) for reason, row in letters(tmp_path)] == [
        ("of has a null value, which a Protobuf map cannot contain", 3),
        ("of is null, which Protobuf cannot distinguish from an empty map", 4),
        ("tags has a null element, which a repeated Protobuf field cannot contain", 2),
        ("tags is null, which Protobuf cannot distinguish from an empty array", 1),
    ]
    assert len(broker.consume(topic)) == 1
    check_error(
        """
        KAFKA_RECORD: out: tags is null, which Protobuf cannot distinguish from an empty array
          hint: replace it upstream of the sink: coalesce(tags, array())
          more: headrace error KAFKA_RECORD
        """,
        lambda: written([(1, None, {})], schema, topic, tmp_path / "upsert", key="id", mode="upsert", on_refused="fail", **at),
    )


# Options that only those know who made them: `protoc` wants to see where.
_HTTP = 'option (google.api.http) = { get: "/v1/{name=orders/*}" additional_bindings { get: "/x" } };'
_NOTE = "[(x.y).z = { a: 1, b: [1, -2] }]"
SHOP = f"""\
/* A file as people write them. */
syntax = "proto3";
package shop.v1;
import "shop/size.proto";
import public "google/protobuf/wrappers.proto";
import 'google/protobuf/duration.proto';
option java_package = "com."  "example" /* not for us */;
message Note {{ string text = 1; }}
message Order {{
  reserved 2, 15, 9 to 11; reserved "foo", "bar";
  option deprecated = true;
  uint64 id = 1 [deprecated = true, json_name = "i\\x64"];
  repeated sint32 counts = 3 [packed = false];
  Size size = 4;
  oneof paid {{ string card = 5; .shop.v1.Order.Cash cash = 6; }}
  google.protobuf.Int64Value maybe = 7;
  map<int32, Cash> by_day = 8;
  message Cash {{
    optional double given = 1; float back = 2; fixed32 till = 3; Deep.Deeper deeper = 4;
    message Deep {{ message Deeper {{ sfixed64 x = 1; }} }}
  }}
  google.protobuf.Duration took = 12;
  bytes raw = 0x10;
}}
service Orders {{ rpc Get (Note) returns (stream Order) {{ {_HTTP} }} }}
"""
SIZE = f'syntax = "proto3"; package shop.v1; enum Size {{ option allow_alias = true; S = 0; SMALL = 0; L = 7 {_NOTE}; }}'


def shop() -> bytes:
    """Its descriptors, of `protoc`."""
    return compiled(SHOP.replace(_HTTP, ""), **{"shop/size": SIZE.replace(_NOTE, "")})


def shop_order(order: Any) -> bytes:
    instance = order(id=2**64 - 1, counts=[-1, 0, 1], size=7, card="c", took={"seconds": 90}, raw=b"\xff")
    instance.maybe.value = 0
    instance.by_day[-5].given = 0.0
    instance.by_day[-5].till = 2**32 - 1
    instance.by_day[-5].deeper.x = -1
    return bytes(instance.SerializeToString())


SHOP_ROW = (
    Decimal(2**64 - 1), [-1, 0, 1], "L", "c", None, 0, {-5: (0.0, 0.0, 2**32 - 1, (-1,))}, b"\xff",
)  # fmt: skip
SHOP_COLUMNS = (
    "id decimal(20,0), counts array<int>, size string, card string, "
    "cash struct<given: double, back: float, till: bigint, deeper: struct<x: bigint>>, maybe bigint, "
    "by_day map<int, struct<given: double, back: float, till: bigint, deeper: struct<x: bigint>>>, "
    "took interval day to second, raw binary"
)


def test_protobuf_of_others(broker: Broker, registry: Registry) -> None:
    topic = broker.create_topic("formats-shop")
    order = message(shop(), "shop.v1.Order")
    registry.register("sizes", SIZE, "PROTOBUF")
    number = registry.register(f"{topic}-value", SHOP, "PROTOBUF", (("shop/size.proto", "sizes"),))
    head = b"\0" + number.to_bytes(4, "big")
    # The second message of the file: one number, which is 1, both zigzag.
    broker.produce(topic, [head + b"\x02\x02" + shop_order(order), head + b"\x02\x02"])
    orders = read(broker, registry, topic, "protobuf", message="Order")
    assert orders.schema.ddl == SHOP_COLUMNS
    rows = hr.collect(orders.drop("took")).rows()
    assert by_id(rows) == [(Decimal(0), [], "S", None, None, None, {}, b""), SHOP_ROW]
    (seconds,) = hr.collect(
        orders.filter("id > 0").select(s="CAST(extract(SECOND FROM took) + 60 * extract(MINUTE FROM took) AS int)")
    ).rows()
    assert seconds == (90,)


def test_a_message_of_a_file(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("formats-file")
    descriptors = shop()
    file = tmp_path / "shop.desc"
    file.write_bytes(descriptors)
    good = shop_order(message(descriptors, "shop.v1.Order"))
    broker.produce(topic, [good, good[:-1], b"\x0a\xff", b""])
    options: dict[str, Any] = {"servers": broker.servers, "value": "protobuf", "descriptor": str(file), "end": "latest"}
    orders = hr.read.kafka(topic, message="Order", name="orders", **options)
    assert orders.schema.ddl == SHOP_COLUMNS
    out, dead = orders.drop("took").write.memory(name="out"), orders.output("dead_letter").write.memory(name="dead")
    hr.job("file", out, dead).run(checkpoint=tmp_path / "state", progress=False)
    # No bytes are a message of nothing.
    assert by_id(out.rows()) == [(Decimal(0), [], "S", None, None, None, {}, b""), SHOP_ROW]
    letters = sorted(dead.rows(), key=lambda letter: letter[3])
    assert [(letter[3], letter[4][:7]) for letter in letters] == [(1, "base64:"), (2, "base64:")]
    assert all(letter[1] for letter in letters)
    check_error(
        """
        DESCRIPTOR_UNREADABLE: the descriptor file is invalid: it has no message Odrer; it has shop.v1.Note, shop.v1.Order, shop.v1.Order.Cash, shop.v1.Order.Cash.Deep, shop.v1.Order.Cash.Deep.Deeper
          at test_kafka_formats.py:*: lambda: hr.read.kafka(topic, message="Odrer", **options),
          hint: create it with protoc --include_imports --descriptor_set_out=orders.desc orders.proto; message= names one of its messages
          more: headrace error DESCRIPTOR_UNREADABLE
        """,
        lambda: hr.read.kafka(topic, message="Odrer", **options),
    )
    misfit = hr.read.kafka(topic, message="Order", schema="id date", **options)
    with pytest.raises(hr.HeadraceError) as raised:
        hr.collect(misfit)
    assert (raised.value.code, raised.value.message) == (
        "DESCRIPTOR_UNREADABLE", "the message Order cannot be read as the given columns: the field `id` is uint64, but the column is DATE",
    )  # fmt: skip


def test_a_schema_of_avro_in_a_file(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("formats-avsc")
    record = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}]}
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(record), encoding="utf-8")
    good = [avro(record, {"id": 1, "note": "ä"}), avro(record, {"id": -(2**63), "note": None})]
    broker.produce(topic, [good[0], good[0] + b"\0", b"\x02", good[1]])
    options: dict[str, Any] = {"servers": broker.servers, "value": "avro", "descriptor": str(file), "end": "latest"}
    orders = hr.read.kafka(topic, name="orders", metadata="offset", **options)
    assert orders.schema.ddl == "id bigint, note string, offset bigint"
    out, dead = orders.write.memory(name="out"), orders.output("dead_letter").write.memory(name="dead")
    hr.job("file", out, dead).run(checkpoint=tmp_path / "state", progress=False)
    assert by_id(out.rows()) == [(-(2**63), None, 3), (1, "ä", 0)]
    letters = sorted(dead.rows(), key=lambda letter: letter[3])
    assert [(letter[3], letter[4][:7]) for letter in letters] == [(1, "base64:"), (2, "base64:")]
    assert letters[0][1] == "there are bytes after the record"
    with pytest.raises(hr.HeadraceError) as raised:
        hr.collect(hr.read.kafka(topic, schema="id boolean", **options))
    assert (raised.value.code, raised.value.message.partition(":")[0]) == (
        "DESCRIPTOR_UNREADABLE", f"the schema in {file} cannot be read as the given columns",
    )  # fmt: skip
    for text, why in {'"int"': "it is not a record with fields", "{": "*"}.items():
        file.write_text(text, encoding="utf-8")
        with pytest.raises(hr.HeadraceError) as raised:
            hr.read.kafka(topic, **options)
        assert raised.value.code == "DESCRIPTOR_UNREADABLE"
        assert fnmatchcase(raised.value.message, f"the schema in {file} is not valid: {why}")


def avro(schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    import fastavro

    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def test_what_is_no_protobuf_of_the_registry_is_a_dead_letter(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    topic = broker.create_topic("formats-dead")
    number = registry.register(
        f"{topic}-value",
        'syntax = "proto3"; message M { int32 id = 1; confluent.type.Decimal m = 2; } import "confluent/type/decimal.proto";',
        "PROTOBUF",
    )
    broken = registry.register("other", "message M { group", "PROTOBUF")
    lacks = registry.register("third", 'import "no.proto"; message M {}', "PROTOBUF")
    other = registry.register("fourth", 'syntax = "proto3"; message M { string id = 1; }', "PROTOBUF")
    text = registry.register("fifth", {"type": "object"}, "JSON")

    def record(id: int, body: bytes) -> Record:
        return Record(b"\0" + id.to_bytes(4, "big") + body)

    # A decimal whose scale would fill the memory when written out.
    huge = b"\x12\x0e" + b"\x0a\x01\x01" + b"\x18\x80\x80\x80\x80\xf8\xff\xff\xff\xff\x01"
    bad = [
        Record(b"{}"), record(77, b"\0"), record(text, b"{}"), record(number, b""), record(number, b"\x02\x06\x08\x05"), record(number, b"\0\x08"),
        record(broken, b"\0"), record(lacks, b"\0"), record(other, b"\0"), record(number, b"\x09"), record(number, b"\0" + huge),
    ]  # fmt: skip
    broker.produce(topic, [record(number, b"\0\x08\x05"), *bad])
    orders = hr.read.kafka(topic, servers=broker.servers, value="protobuf", registry=registry.url, end="latest", name="orders")
    assert orders.schema.ddl == "id int, m decimal(38,18)"
    out, dead = orders.write.memory(name="out"), orders.output("dead_letter").write.memory(name="dead")
    hr.job("dead", out, dead).run(checkpoint=tmp_path / "state", progress=False)
    assert out.rows() == [(5, None)]
    letters = sorted(dead.rows(), key=lambda letter: letter[3])
    assert [letter[3] for letter in letters] == list(range(1, len(bad) + 1))
    assert [letter[1] for letter in letters][:3] == [
        "not in the wire format of a schema registry: it does not begin with a zero byte and a schema id",
        "the registry has no schema with the id 77",
        "schema 5 is JSON, not PROTOBUF",
    ]
    assert [letters[i][1] for i in (4, 6, 7, 8, 9)] == [
        "schema 1: the file has no message 3",
        "schema 2: schema.proto, line 1: it has a group",
        "schema 3: it imports no.proto, which does not exist",
        "schema 4: the field `id` is string, but the column is INT",
        "schema 1: it does not say which message it is",
    ]
