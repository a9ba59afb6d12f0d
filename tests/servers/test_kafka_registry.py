"""Records whose schemas lie in a registry, written by another library than the one that reads them."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.kafka.registry import Registry as Client
from headrace.jvm.session import log_file
from headrace.testing import Harness
from tests.servers import certificate
from tests.servers.kafka import Broker, Record
from tests.servers.problems import letters
from tests.servers.registry import WORD, Registry
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "of", "type": ["null", {"type": "map", "values": "double"}], "default": None},
        {"name": "size", "type": {"type": "enum", "name": "Size", "symbols": ["S", "L"]}, "default": "S"},
    ],
}
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


def avro(number: int, schema: Any, row: Any) -> bytes:
    import fastavro

    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def order(n: int) -> dict[str, Any]:
    return {"id": n, "amount": Decimal(n) / 100, "at": AT, "day": date(1969, 12, 31), "tags": ["ä", ""], "of": {"x": 0.5}, "size": "L"}


def row(n: int) -> tuple[Any, ...]:
    return (n, Decimal(n).scaleb(-2), AT, date(1969, 12, 31), ["ä", ""], {"x": 0.5}, "L")


def test_avro_with_the_columns_of_the_registry(broker: Broker, registry: Registry) -> None:
    topic = broker.create_topic("registry-avro", 2)
    first = registry.register(f"{topic}-value", ORDER)
    wider = {**ORDER, "fields": [{"name": "new", "type": "int"}, *reversed(ORDER["fields"])]}
    second = registry.register("elsewhere", wider)
    older = {**ORDER, "fields": [{"name": "id", "type": "int"}, *ORDER["fields"][1:3]]}
    third = registry.register("elsewhere", older)
    broker.produce(topic, [Record(avro(first, ORDER, order(n)), partition=n % 2) for n in range(100)])
    broker.produce(topic, [avro(second, wider, {**order(100), "new": 7}), avro(third, older, order(101))])
    read = hr.read.kafka(topic, servers=broker.servers, value="avro", registry=registry.url, end="latest", malformed="fail")
    assert sorted(hr.collect(read).rows()) == [*map(row, range(101)), (101, Decimal("1.01"), AT, None, [], None, "S")]
    assert registry.requested_paths.count(f"/schemas/ids/{first}") == 1


def test_debezium_in_avro(broker: Broker, registry: Registry) -> None:
    topic = broker.create_topic("registry-debezium")
    row = {
        "type": "record",
        "name": "Value",
        "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"], "default": None}],
    }
    envelope = {
        "type": "record",
        "name": "Envelope",
        "namespace": "shop.customers",
        "fields": [
            {"name": "before", "type": ["null", row], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "source", "type": {"type": "record", "name": "Source", "fields": [{"name": "table", "type": "string"}]}},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
    }
    number = registry.register(f"{topic}-value", envelope)
    a, b, c = ({"id": id, "name": name} for id, name in ((1, "a"), (1, None), (2, "c")))
    changes = [("c", None, a), ("u", a, b), ("r", None, c), ("d", c, None)]
    records = [avro(number, envelope, {"op": op, "before": old, "after": new, "source": {"table": "t"}}) for op, old, new in changes]
    broker.produce(topic, [*records, None])
    for schema in (None, "id bigint, name string"):
        read = hr.read.kafka(
            topic,
            servers=broker.servers,
            value="avro",
            registry=registry.url,
            schema=schema,
            change_format="debezium",
            end="latest",
            malformed="fail",
        )
        assert (read.columns, hr.collect(read).rows()) == (("id", "name"), [(1, None)])


@pytest.mark.full
def test_avro_with_columns_of_ones_own(broker: Broker, registry: Registry) -> None:
    topic = broker.create_topic("registry-own")
    number = registry.register(f"{topic}-value", ORDER)
    broker.produce(topic, [avro(number, ORDER, order(5))])
    options = {"servers": broker.servers, "value": "avro", "registry": registry.url, "end": "latest"}
    read = hr.read.kafka(topic, schema="size string, id bigint, more int", metadata="offset", malformed="fail", **options)
    assert hr.collect(read).rows() == [("L", 5, None, 0)]
    misfit = hr.read.kafka(topic, schema="id boolean", **options)
    check_error(
        """
        REGISTRY_SCHEMA: the schema 1 of registry-own cannot be read as the given columns: Cannot convert Avro field 'id' to SQL field 'id' because schema is incompatible (avroType = "long", sqlType = BOOLEAN)
          at test_kafka_registry.py:*: misfit = hr.read.kafka(topic, schema="id boolean", **options)
          hint: remove `schema` to use the registry's, or give columns that it has
          more: headrace error REGISTRY_SCHEMA
        """,
        lambda: hr.collect(misfit),
    )


def test_what_is_no_record_of_the_registry_is_a_dead_letter(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    topic = broker.create_topic("registry-dead")
    number = registry.register(f"{topic}-value", ORDER)
    text = registry.register("other", {"type": "object"}, "JSON")
    good = avro(number, ORDER, order(1))
    bad = [b'{"id": 1}', b"", b"\0\0\0\0\x4d" + good[5:], b"\0" + text.to_bytes(4, "big") + b"{}", good[:9], good + b"x", None]
    broker.produce(topic, [good, *bad])
    read = hr.read.kafka(topic, servers=broker.servers, value="avro", registry=registry.url, end="latest", name="orders")
    out, dead = read.write.memory(name="out"), read.output("dead_letter").write.memory(name="dead")
    hr.job("dead", out, dead).run(checkpoint=tmp_path / "state", progress=False)
    assert out.rows() == [row(1)]
    letters = sorted(dead.rows(), key=lambda letter: letter[3])
    assert [(letter[1], letter[3]) for letter in letters] == [
        ("not in the wire format of a schema registry: it does not begin with a zero byte and a schema id", 1),
        ("not in the wire format of a schema registry: it does not begin with a zero byte and a schema id", 2),
        ("the registry has no schema with the id 77", 3),
        ("schema 2 is JSON, not AVRO", 4),
        (letters[4][1], 5),
        ("schema 1: there are bytes after the record", 6),
        ("no row: the value is null", 7),
    ]
    assert letters[4][1].startswith("schema 1: ")
    assert letters[0][4] == "base64:eyJpZCI6IDF9"


@pytest.mark.full
def test_upserts_with_avro_keys(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    topic = broker.create_topic("registry-upserts")
    value = {"type": "record", "name": "User", "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]}
    key = {"type": "record", "name": "UserKey", "fields": [{"name": "id", "type": "int"}]}
    of_value, of_key = registry.register(f"{topic}-value", value), registry.register(f"{topic}-key", key)

    def change(n: int, name: str | None) -> Record:
        return Record(None if name is None else avro(of_value, value, {"id": n, "name": name}), avro(of_key, key, {"id": n}))

    broker.produce(topic, [change(1, "a"), change(2, "b"), change(1, None), change(3, "c"), change(2, "d"), change(4, None)])
    options = {"servers": broker.servers, "value": "avro", "registry": registry.url, "end": "latest"}
    read = hr.read.kafka(topic, change_format="upsert", key="id", malformed="fail", **options)
    kept = read.write.memory(key="id")
    hr.job("upserts", kept).run(checkpoint=tmp_path / "state", progress=False)
    assert sorted(kept.rows()) == [(2, "d"), (3, "c")]


FORMATS = ("avro", "json_schema", "protobuf")


KEYS = {("json", "string"), ("avro", "int"), ("json_schema", "date"), ("protobuf", "string")}


@pytest.mark.parametrize(
    ("format", "type"),
    [
        pytest.param(format, type, marks=() if (format, type) in KEYS else pytest.mark.full)
        for format in ("json", *FORMATS)
        for type in ("string", "int", "date")
    ],
)
def test_what_the_sink_writes_of_keys_without_a_format_is_read_back(
    broker: Broker, registry: Registry, tmp_path: Path, format: str, type: str
) -> None:
    """A text is the key as it is, and may look as if it were more; all others are an object of JSON."""
    keys: dict[str, tuple[Any, ...]] = {
        "string": ("a", "{b", '{"c": 1}', '{"id', "", "7", "ä\\"),
        "int": (1, -2, 3, 4),
        "date": (date(2026, 1, 2), date(1969, 12, 31)),
    }
    topic = broker.create_topic(f"registry-plain-{format.replace('_', '-')}-{type}", 2)
    options: dict[str, Any] = {"servers": broker.servers, "value": format, "registry": None if format == "json" else registry.url}
    columns = f"id {type}, v string"
    with Harness(partitions=2) as h:
        stream = h.source("rows", columns, changes=True)
        h._sinks.append(stream.write.kafka(topic, key="id", name="out", **options)._use())
        h.commit({"rows": [("+", (key, "v")) for key in keys[type]]})
        schema = columns if format == "json" else None
        read = hr.read.kafka(topic, schema=schema, change_format="upsert", key="id", end="latest", name="users", **options)
        kept = read.write.memory(key="id", name="kept")
        job = hr.job("kept", kept)
        job.run(checkpoint=tmp_path / "state", progress=False, flush=False)
        assert sorted(kept.rows()) == sorted((key, "v") for key in keys[type])
        h.commit({"rows": [("-", (key, "v")) for key in keys[type][1:]]})
    assert sum(record.value is None for record in broker.consume(topic)) == len(keys[type]) - 1
    job.run(checkpoint=tmp_path / "state", progress=False)
    assert (kept.rows(), letters(tmp_path / "state")) == ([(keys[type][0], "v")], [])


def test_tombstones_of_other_writers(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    """A key is a record of the registry, an object, or the text of its one column; what is none of these is told as it is."""
    topic = broker.create_topic("registry-tombstones")
    value = {"type": "record", "name": "User", "fields": [{"name": "id", "type": ["null", "long"]}, {"name": "name", "type": "string"}]}
    key = {"type": "record", "name": "UserKey", "fields": [{"name": "id", "type": "long"}]}
    of_value, of_key = registry.register(f"{topic}-value", value), registry.register(f"{topic}-key", key)
    rows = [Record(avro(of_value, value, {"id": n, "name": f"n{n}"}), str(n)) for n in range(5)]
    gone = [Record(None, "0"), Record(None, '{"id": 1}'), Record(None, avro(of_key, key, {"id": 2})), Record(None, b'{"id":3}')]
    bad = [Record(None, "x"), Record(None, '{"id": "x"}'), Record(None, None)]
    broker.produce(topic, [*rows, *gone, *bad])
    options: dict[str, Any] = {"servers": broker.servers, "value": "avro", "registry": registry.url, "end": "latest", "name": "users"}
    kept = hr.read.kafka(topic, change_format="upsert", key="id", **options).write.memory(key="id")
    hr.job("upserts", kept).run(checkpoint=tmp_path / "state", progress=False)
    assert kept.rows() == [(4, "n4")]
    assert letters(tmp_path / "state") == [
        ("users", "field id: cannot read 'x' as BIGINT", f"{topic}-0", 10, '{"id": "x"}'),
        ("users", "no row: the value is null", f"{topic}-0", 11, "base64:"),
        ("users", "not JSON: Unrecognized token 'x'", f"{topic}-0", 9, "x"),
    ]


PRICE = {"type": "record", "name": "Price", "namespace": "shop", "fields": [{"name": "amount", "type": "int"}]}
ITEM = {
    "type": "record",
    "name": "Item",
    "namespace": "shop",
    "fields": [{"name": "sku", "type": "string"}, {"name": "price", "type": "Price"}],
}
SALE = {
    "type": "record",
    "name": "Sale",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "items", "type": {"type": "array", "items": "Item"}},
        {"name": "sum", "type": "Price"},
    ],
}


def test_avro_that_refers_to_other_schemas(broker: Broker, registry: Registry, tmp_path: Path) -> None:
    """Types of a schema may be in other schemas of the registry, and theirs in others again."""
    topic = broker.create_topic("registry-refers")
    registry.register("prices", PRICE)
    item = registry.register("items", ITEM, references=(("shop.Price", "prices"),))
    number = registry.register(f"{topic}-value", SALE, references=(("shop.Item", "items"), ("shop.Price", "prices")))
    assert item == 2
    # Each type is where it is first named, as one text has it.
    inner = {**ITEM, "fields": [ITEM["fields"][0], {"name": "price", "type": PRICE}]}
    whole = {**SALE, "fields": [SALE["fields"][0], {"name": "items", "type": {"type": "array", "items": inner}}, SALE["fields"][2]]}

    def sale(n: int) -> dict[str, Any]:
        return {"id": n, "items": [{"sku": f"s{n}", "price": {"amount": n}}], "sum": {"amount": n}}

    broker.produce(topic, [avro(number, whole, sale(n)) for n in range(3)])
    options: dict[str, Any] = {"servers": broker.servers, "value": "avro", "registry": registry.url, "end": "latest", "malformed": "fail"}
    sales = hr.read.kafka(topic, **options)
    assert sales.schema.ddl == "id bigint, items array<struct<sku: string, price: struct<amount: int>>>, sum struct<amount: int>"
    assert sorted(hr.collect(sales).rows()) == [(n, [(f"s{n}", (n,))], (n,)) for n in range(3)]
    own = hr.read.kafka(topic, schema="id bigint, sum struct<amount: int>", name="own", **options)
    assert sorted(hr.collect(own).rows()) == [(n, (n,)) for n in range(3)]
    written = hr.read.memory([(3, [("s3", (3,))], (3,))], sales.schema.ddl, name="rows")
    sink = written.write.kafka(topic, servers=broker.servers, value="avro", registry=registry.url, register=False, name="out")
    hr.job("refers", sink).run(checkpoint=tmp_path / "state", progress=False)
    assert broker.consume(topic)[-1].value == avro(number, whole, sale(3))


def test_avro_that_holds_itself(broker: Broker, registry: Registry) -> None:
    topic = broker.create_topic("registry-endless")
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "id", "type": "int"}, {"name": "next", "type": ["null", "Node"], "default": None}],
    }
    number = registry.register(f"{topic}-value", node)
    broker.produce(topic, [avro(number, node, {"id": 1, "next": {"id": 2, "next": {"id": 3, "next": None}}})])
    options: dict[str, Any] = {"servers": broker.servers, "value": "avro", "registry": registry.url, "end": "latest", "malformed": "fail"}
    check_error(
        """
        REGISTRY_SCHEMA: the schema 1 in the registry cannot be read: a record contains itself: list the columns to read with `schema`
          at test_kafka_registry.py:*: lambda: hr.read.kafka(topic, **options),
          hint: correct it there, or read the values as bytes: value="raw"
          more: headrace error REGISTRY_SCHEMA
        """,
        lambda: hr.read.kafka(topic, **options),
    )
    read = hr.read.kafka(topic, schema="id int, next struct<id: int>", **options)
    assert hr.collect(read).rows() == [(1, (2,))]


def test_avro_that_is_none(registry: Registry) -> None:
    registry.register("orders-value", {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "Missing"}]})
    check_error(
        """
        REGISTRY_SCHEMA: the schema 1 in the registry cannot be read: Undefined schema: Missing
          at test_kafka_registry.py:*: lambda: hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=registry.url),
          hint: correct it there, or read the values as bytes: value="raw"
          more: headrace error REGISTRY_SCHEMA
        """,
        lambda: hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=registry.url),
    )


@pytest.mark.full
def test_json_schema(broker: Broker, registry: Registry) -> None:
    topic = broker.create_topic("registry-json")
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}}
    number = registry.register(f"{topic}-value", schema, "JSON")
    head = b"\0" + number.to_bytes(4, "big")
    broker.produce(topic, [head + json.dumps({"id": 1, "tags": ["x"]}).encode(), head + b'{"id": 2}'])
    read = hr.read.kafka(topic, servers=broker.servers, value="json_schema", registry=registry.url, end="latest", malformed="fail")
    assert sorted(hr.collect(read).rows(), key=lambda one: one[0]) == [(1, ["x"]), (2, None)]


@pytest.mark.full
def test_a_registry_with_a_password(broker: Broker, registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    topic = broker.create_topic("registry-password")
    registry.locked = True
    number = registry.register(f"{topic}-value", ORDER)
    broker.produce(topic, [avro(number, ORDER, order(1))])
    monkeypatch.setenv("REGISTRY_PASSWORD", "geheim")
    opened = {"url": registry.url, "user": "me", "password": hr.secret("REGISTRY_PASSWORD")}
    read = hr.read.kafka(topic, servers=broker.servers, value="avro", registry=opened, end="latest", malformed="fail")
    out = read.write.memory(name="out")
    job = hr.job("opened", out)
    job.run(checkpoint=tmp_path / "state", progress=False)
    assert out.rows() == [row(1)]
    assert not [text for text in (json.dumps(job.plan.to_json()), str(job.explain(verbose=True)), repr(read)) if "geheim" in text]
    written = [log_file(), *(file for file in (tmp_path / "state").rglob("*") if file.is_file())]
    # What the registry is sent has the password in it, too.
    words = (b"geheim", WORD.rpartition(" ")[2].encode())
    assert not [file for file in written if file is not None and any(word in file.read_bytes() for word in words)]
    monkeypatch.setenv("REGISTRY_PASSWORD", "falsch")
    check_error(
        """
        REGISTRY_UNREACHABLE: the registry <registry> cannot be used: it returned HTTP 401 Unauthorized
          at test_kafka_registry.py:*: lambda: hr.read.kafka(topic, servers=broker.servers, value="avro", registry=opened),
          hint: check its user and password
          more: headrace error REGISTRY_UNREACHABLE
        """,
        lambda: hr.read.kafka(topic, servers=broker.servers, value="avro", registry=opened),
        hide={registry.url: "<registry>"},
    )


def test_a_subject_that_is_not_there(registry: Registry) -> None:
    check_error(
        """
        REGISTRY_SUBJECT: the registry <registry> has no subject orders-value
          at test_kafka_registry.py:*: lambda: hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=registry.url),
          hint: register the schema first, or name its subject: registry={"url": ..., "subject": "{topic}-value"}
          more: headrace error REGISTRY_SUBJECT
        """,
        lambda: hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=registry.url),
        hide={registry.url: "<registry>"},
    )


@pytest.mark.parametrize("closed", [403, 500])
def test_a_registry_that_keeps_its_schemas_to_itself(broker: Broker, registry: Registry, closed: int) -> None:
    """The subject is found, and the kernel, which asks for the schema by its number, is refused."""
    topic = broker.create_topic(f"registry-closed-{closed}")
    registry.register(f"{topic}-value", 'syntax = "proto3"; message Order { int32 id = 1; }', "PROTOBUF")
    registry.closed = closed
    cure = "check its user and password" if closed == 403 else "check the log of the registry"
    options: dict[str, Any] = {"servers": broker.servers, "value": "protobuf", "registry": registry.url, "end": "latest"}
    check_error(
        """
        REGISTRY_UNREACHABLE: the registry <registry> cannot be used: <status>
          at test_kafka_registry.py:*: lambda: hr.read.kafka(topic, **options),
          hint: <cure>
          more: headrace error REGISTRY_UNREACHABLE
        """,
        lambda: hr.read.kafka(topic, **options),
        hide={registry.url: "<registry>", f"it returned HTTP {closed}": "<status>", cure: "<cure>"},
    )
    read = hr.read.kafka(topic, schema="id int", **options)
    check_error(
        """
        REGISTRY_UNREACHABLE: the registry <registry> cannot be used: <status>
          at test_kafka_registry.py:*: read = hr.read.kafka(topic, schema="id int", **options)
          hint: <cure>
          more: headrace error REGISTRY_UNREACHABLE
        """,
        lambda: hr.collect(read),
        hide={registry.url: "<registry>", f"it returned HTTP {closed}": "<status>", cure: "<cure>"},
    )


PAGE = b"<html>Sign in</html>"
NO_JSON, NO_SCHEMA = "its response is not JSON", "its response has no schema"


@pytest.mark.parametrize(
    ("answer", "status", "headers", "why"),
    [
        (PAGE, 200, {}, NO_JSON),
        pytest.param(b"", 200, {}, NO_JSON, marks=pytest.mark.full),
        pytest.param(b"{}", 200, {}, NO_SCHEMA, marks=pytest.mark.full),
        pytest.param(b'{"schema": 7}', 200, {}, NO_SCHEMA, marks=pytest.mark.full),
        (b"null", 200, {}, NO_SCHEMA),
        pytest.param(PAGE, 404, {}, "it returned HTTP 404", marks=pytest.mark.full),
        (b'{"error_code": 404, "message": "HTTP 404 Not Found"}', 404, {}, "it returned HTTP 404"),
        (b"", 302, {"Location": "http://127.0.0.1:1/"}, "it redirects to http://127.0.0.1:1/"),
    ],
    ids=["page", "nothing", "object", "number", "null", "no-page", "no-path", "redirect"],
)  # fmt: skip
def test_somebody_in_between_answers_the_kernel(
    broker: Broker, registry: Registry, tmp_path: Path, request: pytest.FixtureRequest, answer: bytes, status: int, headers: dict[str, str],
    why: str,
) -> None:  # fmt: skip
    """The record is good: it is no dead letter, and is read when the registry answers."""
    topic = broker.create_topic(f"registry-between-{request.node.callspec.id}")
    number = registry.register(f"{topic}-value", ORDER)
    broker.produce(topic, [avro(number, ORDER, order(1))])
    out = hr.read.kafka(topic, servers=broker.servers, value="avro", registry=registry.url, end="latest", name="orders").write.memory()
    registry.answers, registry.answers_to, registry.status, registry.headers = answer, "/schemas/ids", status, headers
    check_error(
        f"""
        REGISTRY_UNREACHABLE: the registry <registry> cannot be used: {why}
          hint: check that the address is that of the registry, not of a proxy; the next start continues after the last committed epoch
          more: headrace error REGISTRY_UNREACHABLE
        """,
        lambda: hr.job("between", out).run(checkpoint=tmp_path / "state", progress=False),
        hide={registry.url: "<registry>"},
    )
    registry.answers = None
    hr.job("between", out).run(checkpoint=tmp_path / "state", progress=False)
    assert (out.rows(), letters(tmp_path / "state")) == ([row(1)], [])


@pytest.mark.parametrize(
    ("answer", "status", "headers", "why"),
    [
        (PAGE, 200, {}, NO_JSON),
        (b"", 200, {}, NO_JSON),
        (b"\xff", 200, {}, NO_JSON),
        (b"[]", 200, {}, "its response is not a JSON object"),
        (b'"text"', 200, {}, "its response is not a JSON object"),
        (b"{}", 200, {}, NO_SCHEMA),
        (b'{"schema": "{}", "id": "x"}', 200, {}, "its response has no schema id"),
        (b"{}", 200, {"Content-Length": "99"}, "its response is incomplete"),
        (PAGE, 404, {}, "it returned HTTP 404 Not Found"),
        (b"{}", 404, {"Content-Length": "99"}, "its response is incomplete"),
        (b"", 302, {"Location": "http://127.0.0.1:1/"}, "it redirects to http://127.0.0.1:1/"),
        (b"", 302, {}, "it returned HTTP 302 Found"),
    ],
)
def test_somebody_in_between_answers(registry: Registry, answer: bytes, status: int, headers: dict[str, str], why: str) -> None:
    registry.answers, registry.status, registry.headers = answer, status, headers
    check_error(
        f"""
        REGISTRY_UNREACHABLE: the registry <registry> cannot be used: {why}
          at test_kafka_registry.py:*: lambda: hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=registry.url),
          hint: check that the address is that of the registry, not of a proxy
          more: headrace error REGISTRY_UNREACHABLE
        """,
        lambda: hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=registry.url),
        hide={registry.url: "<registry>"},
    )
    client = Client.of("write.kafka", registry.url)
    assert client is not None
    with pytest.raises(hr.HeadraceError) as raised:
        client.register("orders-value", "avro", json.dumps(ORDER))
    reason = why if why != NO_SCHEMA else "its response has no schema id"
    assert (raised.value.code, raised.value.message) == ("REGISTRY_UNREACHABLE", f"the registry {registry.url} cannot be used: {reason}")


def test_reasons_that_are_none(registry: Registry) -> None:
    """What a registry has against a schema is told, also where what it answers to the question why is odd."""
    client = Client.of("write.kafka", registry.url)
    assert client is not None
    registry.register("orders-value", ORDER)
    registry.answers_to = "/compatibility"
    for registry.answers in (PAGE, b"[]", b'{"messages": 7}'):
        with pytest.raises(hr.HeadraceError) as raised:
            client.register("orders-value", "avro", json.dumps({**ORDER, "fields": [{"name": "id", "type": "string"}]}))
        assert raised.value.message == (
            "the columns are incompatible with the registered schema orders-value: "
            'Schema being registered is incompatible with an earlier schema for subject "orders-value"'
        )


def test_what_is_no_registry_at_all() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with server.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(b"220 mail.example.com ready\r\n")

        threading.Thread(target=greet, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        check_error(
            """
            REGISTRY_UNREACHABLE: the registry <registry> cannot be used: its response is not HTTP
              at test_kafka_registry.py:*: lambda: hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=url),
              hint: check that the address is that of the registry, not of a proxy
              more: headrace error REGISTRY_UNREACHABLE
            """,
            lambda: hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=url),
            hide={url: "<registry>"},
        )


def test_no_other_address_is_told_the_password(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "geheim")
    elsewhere = Registry()
    try:
        registry.answers, registry.status, registry.headers = b"", 307, {"Location": f"{elsewhere.url}/subjects"}
        opened = {"url": registry.url, "user": "me", "password": hr.secret("REGISTRY_PASSWORD")}
        with pytest.raises(hr.HeadraceError, match="it redirects to"):
            hr.read.kafka("orders", servers="localhost:9092", value="avro", registry=opened)
    finally:
        elsewhere.close()
    assert (registry.words, elsewhere.requested_paths) == ([WORD], [])


@pytest.fixture
def secured(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Registry]:
    """A registry with TLS, whose certificate is its own authority: for its address, or for another name."""
    certificate(tmp_path, getattr(request, "param", "IP:127.0.0.1"))
    server = Registry(tmp_path)
    yield server
    server.close()


def test_a_registry_with_tls(broker: Broker, secured: Registry, tmp_path: Path) -> None:
    topic = broker.create_topic("registry-tls")
    number = secured.register(f"{topic}-value", ORDER)
    broker.produce(topic, [avro(number, ORDER, order(1))])
    settings = {"url": secured.url, "ca": str(tmp_path / "authority.pem")}
    at: dict[str, Any] = {"servers": broker.servers, "value": "avro", "end": "latest", "malformed": "fail"}
    read = hr.read.kafka(topic, registry=settings, **at)
    assert hr.collect(read).rows() == [row(1)]
    assert read._node.connect().options()["registry"] == {**settings, "subject": "{topic}-value"}
    certificate(tmp_path, "DNS:elsewhere", key="other.pem", authority="elsewhere.pem")
    wrong = {"url": secured.url, "ca": str(tmp_path / "elsewhere.pem")}
    for registry in (wrong, secured.url):
        check_error(
            """
            REGISTRY_UNREACHABLE: the registry <registry> cannot be used: its certificate is not trusted: self-signed certificate
              at test_kafka_registry.py:*: lambda registry=registry: hr.read.kafka(topic, registry=registry, **at),
              hint: check that the certificate is for this host, and signed by the authority in registry={"url": ..., "ca": "root.crt"}
              more: headrace error REGISTRY_UNREACHABLE
            """,
            lambda registry=registry: hr.read.kafka(topic, registry=registry, **at),
            hide={secured.url: "<registry>", "self signed": "self-signed"},
        )
    # Of topics by a pattern nothing is asked before the kernel asks.
    by_pattern = hr.read.kafka(pattern=topic, schema="id bigint", registry=wrong, name="sales", **at)
    check_error(
        """
        REGISTRY_UNREACHABLE: the registry <registry> cannot be used: its certificate is not trusted: PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException: unable to find valid certification path to requested target
          hint: check that the certificate is for this host, and signed by the authority in registry={"url": ..., "ca": "root.crt"}; the next start continues after the last committed epoch
          more: headrace error REGISTRY_UNREACHABLE
        """,
        lambda: hr.collect(by_pattern),
        hide={secured.url: "<registry>"},
    )


@pytest.mark.parametrize("secured", ["DNS:elsewhere"], indirect=True)
def test_a_registry_with_the_certificate_of_another(broker: Broker, secured: Registry, tmp_path: Path) -> None:
    topic = broker.create_topic("registry-tls-other")
    number = secured.register(f"{topic}-value", ORDER)
    broker.produce(topic, [avro(number, ORDER, order(1))])
    settings = {"url": secured.url, "ca": str(tmp_path / "authority.pem")}
    at: dict[str, Any] = {"servers": broker.servers, "value": "avro", "end": "latest", "malformed": "fail", "registry": settings}
    check_error(
        """
        REGISTRY_UNREACHABLE: the registry <registry> cannot be used: its certificate is not trusted: IP address mismatch, certificate is not valid for '127.0.0.1'
          at test_kafka_registry.py:*: lambda: hr.read.kafka(topic, **at),
          hint: check that the certificate is for this host, and signed by the authority in registry={"url": ..., "ca": "root.crt"}
          more: headrace error REGISTRY_UNREACHABLE
        """,
        lambda: hr.read.kafka(topic, **at),
        hide={secured.url: "<registry>"},
    )
    by_pattern = hr.read.kafka(pattern=topic, schema="id bigint", name="sales", **at)
    check_error(
        """
        REGISTRY_UNREACHABLE: the registry <registry> cannot be used: its certificate is not trusted: No subject alternative names matching IP address 127.0.0.1 found
          hint: check that the certificate is for this host, and signed by the authority in registry={"url": ..., "ca": "root.crt"}; the next start continues after the last committed epoch
          more: headrace error REGISTRY_UNREACHABLE
        """,
        lambda: hr.collect(by_pattern),
        hide={secured.url: "<registry>"},
    )
