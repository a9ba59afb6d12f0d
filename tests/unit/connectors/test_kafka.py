"""Topics as sources, as far as they need no broker."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors.kafka.cluster import Cluster
from headrace.connectors.kafka.jsonschema import columns_of
from headrace.connectors.kafka.look import read_before
from headrace.connectors.kafka.messages import of_file
from headrace.connectors.kafka.values import schema_in
from headrace.plan import Plan
from headrace.spark.compile.levels import cut
from headrace.spark.compile.placing import deals_out
from headrace.sql.catalogue import Catalogue
from headrace.syntax.script import statements
from tests.unit.connectors.served import self_signed
from tests.unit.errors import check_error

SERVERS = "localhost:9092"


def read(*topics: Any, **options: Any) -> hr.Stream:
    return hr.read.kafka(*topics, **{"servers": SERVERS, "schema": "id bigint", **options})


def test_a_plan_stores_all_but_secrets() -> None:
    security = {"user": "me", "password": hr.secret("NO_SUCH_VARIABLE"), "ca": "ca.pem"}
    stream = read(["a", "b"], metadata={"written": "timestamp"}, start={"a": {0: 5}}, security=security, options={"fetch.min.bytes": 5})
    plan = Plan.of("j", [stream.write.memory(name="out")._use()])
    (source,) = [node for node in json.loads(json.dumps(plan.to_json()))["nodes"] if node["op"] == "source"]
    assert source["schema"] == "id bigint, written timestamp"
    assert source["options"] == {
        "topics": ["a", "b"],
        "servers": SERVERS,
        "security": {"ca": "ca.pem", "mechanism": "PLAIN", "password": {"env": "NO_SUCH_VARIABLE"}, "protocol": "SASL_SSL", "user": "me"},
        "options": {"fetch.min.bytes": "5"},
        "value": "json",
        "metadata": {"written": "timestamp"},
        "start": {"offsets": {"a": {"0": 5}}},
        "end": None,
        "rows_per_epoch": None,
        "on_gap": "fail",
        "tombstones": "dead_letter",
        "deletes": [],
        "group": None,
        "malformed": "dead_letter",
    }
    again = hr.Plan.from_json(plan.to_json())
    assert again.fingerprint == plan.fingerprint


def test_its_name_is_that_of_the_topic() -> None:
    names = [str(read(topics)).split(":")[0] for topics in ("orders", ["a.b-c", "d"])]
    assert names == ["<Stream orders", "<Stream a_b_c_d"]
    assert str(read(pattern="orders-.*")) == "<Stream orders: id>"


def test_upserts_know_which_key_a_record_without_value_takes_away() -> None:
    stream = read("users", schema="id bigint, name string not null", change_format="upsert", key="id")
    source = stream._node.inputs[0]
    assert (source.connect().deletes, source.schema, source.connect().traits.changes) == (("id",), "id bigint, name string", "changes")
    assert read("users", change_format="debezium")._node is not None


def test_where_it_begins() -> None:
    for start, stored in (
        ("latest", "latest"),
        ("2026-01-02", {"time": "2026-01-02T00:00:00"}),
        ({0: 1}, {"offsets": {"t": {"0": 1}}}),
        ({"t": {"0": 1}}, {"offsets": {"t": {"0": 1}}}),
    ):
        source = read("t", start=start)._node.connect()
        assert source.options()["start"] == stored
        assert type(source).from_options(source.options(), source.schema).options() == source.options()


@pytest.mark.parametrize(
    ("arguments", "options", "message", "hint"),
    [
        ((), {}, "either topics or a pattern is required", 'read.kafka("orders", ...) or read.kafka(pattern="orders-.*", ...)'),
        (("a b",), {}, "the topics cannot be 'a b'", 'it is the name of a topic, or several: ["orders", "returns"]'),
        ((), {"pattern": "("}, "the pattern '(' is not valid: missing ), unterminated subpattern at position 0", 'it is a regular expression: "orders-.*"'),
        (("t",), {"servers": "localhost"}, "servers cannot be 'localhost'", 'it is "host:9092", or several of them'),
        (("t",), {"value": "jason"}, "value cannot be 'jason'", "did you mean 'json'? It is one of: json, csv, text, raw, avro, json_schema, protobuf"),
        (("t",), {"value": "raw"}, "value='raw' has one column, `value`, and allows no schema", "remove it"),
        (("t",), {"metadata": "ofset"}, "metadata cannot be 'ofset'", "did you mean 'offset'? It is one of: key, key_bytes, topic, partition, offset, timestamp, headers"),
        (("t",), {"metadata": {"id": "offset"}}, "`id` is in the schema and in the metadata", 'give it another name: metadata={"kafka_id": "offset"}'),
        (("t",), {"start": "now"}, "start cannot be 'now'", 'it is "earliest", "latest", a time ("2026-01-01 00:00:00"), or offsets: {"orders": {0: 5}}'),
        (("t",), {"start": {0: -1}}, "start cannot be {0: -1}", 'it is "earliest", "latest", a time ("2026-01-01 00:00:00"), or offsets: {"orders": {0: 5}}'),
        (("t",), {"end": "2026-01-01"}, "end cannot be '2026-01-01'", 'it is "latest", or offsets: {"orders": {0: 100}}'),
        (("t",), {"security": {"pasword": "x"}}, "security cannot have pasword", "it is a dict of: protocol, mechanism, user, password, ca, certificate, key, key_password"),
        (("t",), {"security": {"user": "me"}}, "security needs both a user and a password, or neither", "give both"),
        (("t",), {"security": {"protocol": "SASL_SSL"}}, "SASL_SSL needs a user and a password", 'security={"user": ..., "password": hr.secret("NAME")}'),
        (("t",), {"value": "avro"}, "value='avro' needs a registry", 'registry="http://localhost:8081" is for value: avro, json_schema, protobuf'),
        (("t",), {"registry": "http://r"}, "value='json' does not use a registry", 'registry="http://localhost:8081" is for value: avro, json_schema, protobuf'),
        (("t",), {"value": "protobuf"}, "value='protobuf' needs a registry, or a descriptor and a message", 'registry="http://localhost:8081" or descriptor="orders.desc", message="Order"'),
        (("t",), {"value": "protobuf", "descriptor": "d"}, "value='protobuf' needs a registry, or a descriptor and a message", 'registry="http://localhost:8081" or descriptor="orders.desc", message="Order"'),
        (("t",), {"value": "protobuf", "descriptor": "d", "message": "M", "registry": "http://r"}, "registry= and descriptor= cannot both be set", "remove one of them"),
        (("t",), {"message": "M"}, "message cannot be 'M'", 'it is a string, with value="protobuf": descriptor="orders.desc", message="Order"'),
        (("t",), {"registry": {"url": "http://r", "subject": "{name}-value"}, "value": "avro"}, "subject cannot be '{name}-value'", 'it is a name, like "{topic}-value", "{record}" or "{topic}-{record}"'),
        (("t",), {"registry": "r:80", "value": "avro"}, "registry cannot be 'r:80'", 'its address is like "http://localhost:8081"'),
        (("t",), {"registry": {"url": "https://r", "ca": "no.crt"}, "value": "avro"}, "the file no.crt of `ca` cannot be read: No such file or directory", 'it is a PEM file with certificates: ca="ca.pem"'),
        (("t",), {"registry": {"url": "https://r", "ca": os.devnull}, "value": "avro"}, "the file /dev/null of `ca` has no certificate", 'it is a PEM file with certificates: ca="ca.pem"'),
        (("t",), {"registry": {"url": "http://r", "ca": "no.crt"}, "value": "avro"}, "ca is for a registry with TLS", 'its address is like "https://localhost:8081"'),
        (("t",), {"registry": {"url": "http://r", "user": "x"}, "value": "avro"}, "registry needs both a user and a password, or neither", "give both"),
        (("t",), {"options": {"sasl.jaas.config": "x"}}, "`sasl.jaas.config` cannot be set in options", 'use security={"password": hr.secret("NAME")}'),
    ],
)  # fmt: skip
def test_options_that_do_not_do(arguments: tuple[Any, ...], options: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(hr.ConnectorError) as raised:
        read(*arguments, **options)
    assert (raised.value.code, raised.value.message, raised.value.hint) == ("BAD_OPTION", f"read.kafka: {message}", hint)
    assert raised.value.site is not None


def test_a_password_that_is_written_down_is_refused() -> None:
    with pytest.raises(hr.ConnectorError) as raised:
        read("t", security={"user": "me", "password": "geheim"})
    assert raised.value.code == "BAD_OPTION"
    assert "geheim" not in str(raised.value)


SECRET_OPTIONS = (
    "sasl.jaas.config",
    "ssl.key.password",
    "ssl.keystore.key",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "delegation.token",
)


@pytest.mark.parametrize("name", SECRET_OPTIONS)
def test_secrets_among_the_options_are_refused(name: str) -> None:
    check_error(
        """
        BAD_OPTION: read.kafka: `<name>` cannot be set in options
          at test_kafka.py:*: lambda: Cluster.of("read.kafka", "a:1", None, {name: "geheim"}),
          hint: use security={"password": hr.secret("NAME")}
          more: headrace error BAD_OPTION
        """,
        lambda: Cluster.of("read.kafka", "a:1", None, {name: "geheim"}),
        hide={name: "<name>"},
    )


def test_where_a_token_comes_from_is_no_secret() -> None:
    options = {"sasl.oauthbearer.token.endpoint.url": "https://login.example.com"}
    assert Cluster.of("read.kafka", "a:1", None, options).clients == options


def test_rows_stay_in_their_tasks_where_no_partition_is_left_out() -> None:
    def dealt_out(on_gap: str) -> bool:
        (query,) = cut(Plan.of("j", [read("t", on_gap=on_gap).write.kafka("copy", servers=SERVERS)._use()]), {})
        return deals_out(query)

    assert (dealt_out("fail"), dealt_out("skip")) == (False, True)


def test_settings_of_the_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", 'a"b\\')
    for name in ("ca", "certificate", "key"):
        (tmp_path / f"{name}.pem").write_text(f"the {name}")
    files = {name: str(tmp_path / f"{name}.pem") for name in ("ca", "certificate", "key")}
    security = {"user": "me", "password": hr.secret("PASSWORD"), "mechanism": "SCRAM-SHA-256", **files}
    assert Cluster.of("read.kafka", ["a:1", "b:2"], security, {"x": 1}).properties() == {
        "bootstrap.servers": "a:1,b:2",
        "x": "1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="a\\"b\\\\";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "the ca",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "the certificate",
        "ssl.keystore.key": "the key",
    }
    check_error(
        """
        KAFKA_TLS: the file no.pem of `ca` cannot be read: No such file or directory
          hint: it must be a PEM file
          more: headrace error KAFKA_TLS
        """,
        lambda: Cluster.of("read.kafka", "a:1", {"ca": "no.pem"}, None).properties(),
    )


def test_how_far_a_checkpoint_has_come(tmp_path: Path) -> None:
    context = ports.SourceContext("my orders", tmp_path)
    assert read_before(context) == {}
    (tmp_path / "offsets").mkdir()
    for number, at in ((9, 4), (10, 5)):
        (tmp_path / "offsets" / str(number)).write_text(f'v2\n{{}}\nother:{{"t":{{"0":1}}}}\nmy_20_orders:{{"t":{{"0":{at}}}}}')
    assert read_before(context) == {"t": {0: 5}}


def test_a_registry_in_a_plan() -> None:
    registry = {"url": "http://r:8081/", "user": "me", "password": hr.secret("REGISTRY"), "subject": "shop.Order"}
    source = read("t", value="avro", registry=registry)._node.connect()
    stored = source.options()
    assert stored["registry"] == {"url": "http://r:8081", "user": "me", "password": {"env": "REGISTRY"}, "subject": "shop.Order"}
    assert type(source).from_options(stored, source.schema).options() == stored


def test_a_stored_plan_needs_no_file_of_certificates(tmp_path: Path) -> None:
    """It is looked at to be compared, where the file may have gone; what a sink of it wrote is the same whatever file it trusted."""
    ca = self_signed(tmp_path)
    registry = {"url": "https://r", "ca": str(ca)}
    source = read("t", value="avro", registry=registry)._node.connect()
    sink = hr.read.memory([], "id int", name="rows").write.kafka("t", servers="k:1", value="avro", registry=registry)._use().connect()
    ca.unlink()
    for connector in (type(source).from_options(source.options(), source.schema), type(sink).from_options(sink.options())):
        assert connector.options()["registry"]["ca"] == str(ca)
        with pytest.raises(hr.HeadraceError, match="cannot be read"):
            connector.registry.kernel()
    assert "ca" not in sink.lays_out()["registry"]


def test_a_message_in_a_plan() -> None:
    source = read("t", value="protobuf", descriptor="orders.desc", message="Order")._node.connect()
    stored = source.options()
    assert (stored["descriptor"], stored["message"], source.describe()) == ("orders.desc", "Order", "kafka t (protobuf)")
    assert type(source).from_options(stored, source.schema).options() == stored


def test_a_schema_of_avro_that_is_not_there() -> None:
    check_error(
        """
        DESCRIPTOR_UNREADABLE: the file order.avsc cannot be read: No such file or directory
          at test_kafka.py:*: lambda: schema_in("order.avsc"),
          hint: it is the schema of the values, as JSON: value="avro", descriptor="order.avsc"
          more: headrace error DESCRIPTOR_UNREADABLE
        """,
        lambda: schema_in("order.avsc"),
    )


def test_a_file_of_descriptors_that_is_not_there() -> None:
    check_error(
        """
        DESCRIPTOR_UNREADABLE: the file orders.desc cannot be read: No such file or directory
          at test_kafka.py:*: lambda: of_file("orders.desc"),
          hint: create it with protoc --include_imports --descriptor_set_out=orders.desc orders.proto; message= names one of its messages
          more: headrace error DESCRIPTOR_UNREADABLE
        """,
        lambda: of_file("orders.desc"),
    )


def test_the_password_of_a_registry_is_not_in_its_address() -> None:
    with pytest.raises(hr.ConnectorError) as raised:
        read("t", value="avro", registry="http://me:geheim@r")
    assert "geheim" not in str(raised.value)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"properties": {"a": {"type": "number"}, "b": {"type": "boolean"}}}, "a double, b boolean"),
        ({"properties": {"a": {"oneOf": [{"type": "null"}, {"type": "integer"}]}}}, "a bigint"),
        ({"properties": {"a": {"$ref": "#/definitions/d"}}, "definitions": {"d": {"type": "string", "format": "date"}}}, "a date"),
        ({"properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b c": {}}}}}}, "a array<struct<`b c`: string>>"),
        ({"properties": {"a": {"type": "object", "additionalProperties": {"type": "integer"}}}}, "a map<string, bigint>"),
    ],
)  # fmt: skip
def test_columns_of_a_json_schema(schema: dict[str, Any], expected: str) -> None:
    assert columns_of(json.dumps(schema)) == expected


def test_a_json_schema_without_columns() -> None:
    check_error(
        """
        SCHEMA_NEEDED: the columns cannot be derived from the JSON Schema: it does not describe an object with properties
          at test_kafka.py:*: lambda: columns_of('{"type": "string"}'),
          hint: give them: schema="id bigint, amount double"
          more: headrace error SCHEMA_NEEDED
        """,
        lambda: columns_of('{"type": "string"}'),
    )


def test_as_a_script_of_sql_has_it() -> None:
    catalogue = Catalogue()
    text = """CREATE SOURCE orders (id BIGINT) WITH (connector = 'kafka', topics = 'a, b', servers = 'h:1', metadata = 'offset, key',
        security.user = 'me', security.password.env = 'PW', rows_per_epoch = 5, end = 'latest', options.fetch.min.bytes = 5);"""
    for statement in statements(text, "job.sql"):
        catalogue.add(statement)
    node = catalogue.streams["orders"]._node
    assert node.schema == "id bigint, offset bigint, key string"
    expected = {
        "topics": ["a", "b"],
        "security": {"mechanism": "PLAIN", "password": {"env": "PW"}, "protocol": "SASL_SSL", "user": "me"},
        "options": {"fetch.min.bytes": "5"},
        "rows_per_epoch": 5,
        "end": "latest",
    }
    assert {name: node.options[name] for name in expected} == expected
