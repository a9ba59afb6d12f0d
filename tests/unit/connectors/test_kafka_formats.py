"""Schemas of a sink's columns in Avro, JSON Schema and Protobuf, and what the sink says of a registry, without one."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import jsonschema
import pytest

import headrace as hr
from headrace.connectors.kafka.avro import avro_schema
from headrace.connectors.kafka.formats import record_of
from headrace.connectors.kafka.jsonschema import columns_of, json_schema, unfit
from headrace.connectors.kafka.layout import Layout
from headrace.connectors.kafka.protobuf import Numbers, protobuf_schema
from headrace.connectors.kafka.registry import Registry
from headrace.connectors.kafka.sink import Sink
from headrace.errors import HeadraceError
from headrace.schema import parse_schema
from tests.unit.errors import check_error

ALL = parse_schema(
    "id bigint not null, b boolean, t tinyint, s smallint, i int, f float, d double, m decimal(20,3), n varchar(5), x binary, day date, "
    "at timestamp, ntz timestamp_ntz, tags array<string>, of map<string, double>, item struct<sku: string, at: timestamp not null>, "
    "items array<struct<sku: string, inner: struct<n: int>>>, by map<string, struct<n: decimal(4,1)>>"
)
REGISTRY = "http://localhost:8081"


def written(**options: Any) -> Any:
    rows = hr.read.memory([(1, "a")], "id int, card string", name="rows")
    return rows.write.kafka("t", servers="broker:9092", name="out", **options)


def test_avro() -> None:
    schema = json.loads(avro_schema(ALL, "shop.Order"))
    fastavro.parse_schema(schema)
    fields = {field["name"]: field for field in schema["fields"]}
    assert (schema["name"], schema["namespace"], list(fields)) == ("Order", "shop", list(ALL.names))
    assert fields["id"] == {"name": "id", "type": "long"}
    assert fields["t"] == {"name": "t", "type": ["null", "int"], "default": None}
    assert fields["ntz"]["type"][1] == {"type": "long", "logicalType": "local-timestamp-micros"}
    item = fields["items"]["type"][1]["items"][1]
    assert (item["namespace"], item["name"], item["fields"][1]["type"][1]["namespace"]) == ("shop.Order", "items", "shop.Order.items")


def test_json_schema_gives_the_columns_back() -> None:
    schema = json_schema(ALL, "Order")
    jsonschema.Draft7Validator.check_schema(json.loads(schema))
    assert json.loads(schema)["required"] == ["id"]
    # That a column is never null, and how long a text is, is not read.
    assert columns_of(schema) == ALL.ddl.replace(" not null", "").replace("varchar(5)", "string")


def test_protobuf() -> None:
    assert protobuf_schema(
        parse_schema("id bigint not null, m decimal(20,3), x binary, Item struct<day: date>, by map<int, double>"), "Order"
    ) == (
        'syntax = "proto3";\n'
        'import "confluent/meta.proto";\n'
        'import "confluent/type/decimal.proto";\n'
        'import "google/type/date.proto";\n'
        "message Order {\n"
        "  int64 id = 1;\n"
        '  confluent.type.Decimal m = 2 [(confluent.field_meta) = {params: [{key: "precision", value: "20"}, {key: "scale", value: "3"}]}];\n'
        "  optional bytes x = 3;\n"
        "  message Item_ {\n"
        "    google.type.Date day = 1;\n"
        "  }\n"
        "  Item_ Item = 4;\n"
        "  map<int32, double> by = 5;\n"
        "}"
    )


def test_fields_of_protobuf_keep_their_numbers() -> None:
    within = {"item": Numbers({"sku": 3}, ())}
    known = Numbers.of(
        {
            "fields": {"id": 1, "gone": 2, "item": 18_999},
            "reserved": [7],
            "within": {"item": {"fields": {"sku": 3}, "reserved": [], "within": {}}},
        }
    )
    assert known == Numbers({"id": 1, "gone": 2, "item": 18_999}, (7,), within)
    text = protobuf_schema(parse_schema("new string, item struct<n: int, sku: string>, id int"), "R", known)
    assert [line.strip() for line in text.split("\n")[2:-1]] == [
        "reserved 2, 7;", "optional string new = 20000;", "message Item {", "optional int32 n = 4;", "optional string sku = 3;", "}",
        "Item item = 18999;", "optional int32 id = 1;",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "ddl", "says", "hint"),
    [
        (avro_schema, "v variant", "the column v cannot be avro: it has no type for variant", 'write it as a string: .with_columns(v="CAST(v AS string)")'),
        (avro_schema, "m map<int, string>", "the column m cannot be avro: its map keys are strings, not int", "convert them to strings: transform_keys(m, (k, v) -> CAST(k AS string))"),
        (json_schema, "a struct<m: map<date, int>>", "the column a.m cannot be json_schema: its map keys are strings, not date", "convert them to strings: transform_keys(a, (k, v) -> CAST(k AS string))"),
        (json_schema, "a array<interval day to second>", "the column a cannot be json_schema: it has no type for interval day to second", 'write it as a string: .with_columns(a="CAST(a AS string)")'),
        (protobuf_schema, "m map<double, int>", "the column m cannot be protobuf: its map keys are whole numbers, strings or booleans, not double", "convert them to strings: transform_keys(m, (k, v) -> CAST(k AS string))"),
        (protobuf_schema, "a array<array<int>>", "the column a cannot be protobuf: it has no type for an array within an array", "put a struct between them: transform(a, x -> named_struct('items', x))"),
        (protobuf_schema, "s struct<v: variant>", "the column s.v cannot be protobuf: it has no type for variant", 'write it as a string: .with_columns(s="CAST(s AS string)")'),
    ],
)  # fmt: skip
def test_types_that_a_format_does_not_have(make: Any, ddl: str, says: str, hint: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        make(parse_schema(ddl), "R")
    assert (raised.value.code, raised.value.message, raised.value.hint) == ("WRONG_TYPE", f"write.kafka: {says}", hint)


@pytest.mark.parametrize("make", [avro_schema, protobuf_schema])
def test_names_that_a_format_does_not_have(make: Any) -> None:
    for ddl in ("größe int", "a array<struct<`b c`: int>>"):
        with pytest.raises(HeadraceError) as raised:
            make(parse_schema(ddl), "R")
        assert raised.value.code == "BAD_NAME"
    assert json.loads(json_schema(parse_schema("größe int"), "R"))["properties"]["größe"]


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"properties": {"id": {"type": "number"}, "name": {"type": ["null", "string"]}}}, None),
        ({"properties": {"id": {"type": "integer"}, "name": {"oneOf": [{"type": "null"}, {"type": "string"}]}}}, None),
        ({"properties": {"id": {}}}, None),
        ({"properties": {"id": {}}, "additionalProperties": False}, "it has no `name`, and allows no other properties"),
        ({"properties": {}, "required": ["at"]}, "it requires `at`, which is not a column"),
        ({"properties": {"id": {"type": "string"}}}, "`id` is int, which is written as integer, but it allows string"),
        ({"properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}, None),
    ],
)  # fmt: skip
def test_what_a_json_schema_has_against_columns(schema: dict[str, Any], says: str | None) -> None:
    assert unfit(json.dumps({"type": "object", **schema}), parse_schema("id int not null, name string")) == says


def test_records_are_named_after_topics() -> None:
    assert [record_of(topic, "value") for topic in ("orders", "shop.orders-eu", "1st")] == ["orders", "shop_orders_eu", "_1st"]
    assert record_of("orders", "key") == "orders_key"


def test_subjects_of_the_three_strategies() -> None:
    for template, named in (("{topic}-value", "t-value"), ("{record}", "shop.Order"), ("{topic}-{record}", "t-shop.Order")):
        registry = Registry.of("write.kafka", {"url": REGISTRY, "subject": template})
        assert registry is not None
        assert (registry.named("value", "t", "shop.Order"), registry.named("key", "t", "shop.Order_key")) == (named, "t-key")


def test_a_subject_of_a_record_that_a_reader_does_not_know() -> None:
    check_error(
        """
        BAD_OPTION: the subject {record} of the registry cannot be determined: a source has no `record`
          at test_kafka_formats.py:*: lambda: Registry(REGISTRY, subject="{record}").named("value", "t"),
          hint: write the name of the record instead
          more: headrace error BAD_OPTION
        """,
        lambda: Registry(REGISTRY, subject="{record}").named("value", "t"),
    )


def test_a_plan_gives_the_sink_back() -> None:
    registry = {"url": REGISTRY, "subject": "{record}", "key_subject": "k", "user": "me", "password": hr.secret("WORD")}
    sink = Sink("t", servers="a:1", value="protobuf", key="id", key_format="avro", registry=registry, register=False, record="shop.Order")
    stored = json.loads(json.dumps(sink.options()))
    again = Sink.from_options(stored)
    assert (again.options(), again.registry, again.register, again.record) == (stored, sink.registry, False, "shop.Order")
    assert stored["registry"]["password"] == {"env": "WORD"}
    plain = Sink("t", servers="a:1").options()
    assert not {"registry", "register", "record"} & set(plain)


def test_what_is_written_elsewhere_is_no_business_of_the_registry(tmp_path: Any) -> None:
    sink = Sink("t", servers="a:1", value="avro", key="id", key_format="avro", registry=REGISTRY, register=False)
    other = sink.elsewhere(hr.ports.Elsewhere("x", tmp_path, "b:1"))
    assert isinstance(other, Sink)
    assert (other.registry, other.layout.value, other.layout.key_format, other.topic) == (None, "json", "json", "x")


def test_parts_that_have_a_schema() -> None:
    layout = Layout(value="avro", columns=("b", "a"), key=("a",), key_format="protobuf")
    schemas = {part: (format, of.ddl) for part, (format, of) in layout.parts(parse_schema("a int, b string, c date")).items()}
    assert schemas == {"value": ("avro", "b string, a int"), "key": ("protobuf", "a int")}
    document = layout.document(parse_schema("a string, b string"), "append", {"value": {"id": 1}})
    assert (document["encodings"], document["plain_key"]) == ({"value": {"id": 1}}, False)
    assert Layout(key=("a",)).parts(parse_schema("a int")) == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"value": "avro"}, "value='avro' needs a registry"),
        ({"key": "id", "key_format": "protobuf"}, "key_format='protobuf' needs a registry"),
        ({"registry": REGISTRY}, "value='json' does not use a registry"),
        ({"value": "avro", "registry": REGISTRY, "key_format": "avro"}, "key_format='avro' needs a key"),
        ({"value": "avro", "registry": REGISTRY, "record": "my order"}, "record cannot be 'my order'"),
        ({"record": "Order"}, "record cannot be 'Order'"),
        ({"register": False}, "register=False needs a registry"),
        ({"value": "avro", "registry": REGISTRY, "register": "no"}, "register cannot be 'no'"),
        ({"value": "avro", "registry": {"url": REGISTRY, "key_subject": ""}}, "key_subject cannot be ''"),
    ],
)
def test_options_that_do_not_do(options: dict[str, Any], says: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        written(**options)
    assert (raised.value.code, raised.value.message) == ("BAD_OPTION", f"write.kafka: {says}")
