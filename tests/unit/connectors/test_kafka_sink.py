"""What the Kafka sink says of its options, without a broker."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors.kafka.cluster import Cluster
from headrace.connectors.kafka.layout import Layout
from headrace.connectors.kafka.problems import problem
from headrace.connectors.kafka.sink import Sink
from headrace.errors import HeadraceError
from headrace.ops import Upserts
from headrace.plan import Plan
from headrace.schema import parse_schema
from tests.unit.errors import check_error

AT: dict[str, Any] = {"servers": "broker:9092", "name": "out"}


def rows() -> Any:
    return hr.read.memory([(1, "a", "b")], "id int, card string, body string", name="rows")


def counted() -> Any:
    return rows().group_by("card").agg(n="count(*)")


def plan(stream: Any, **options: Any) -> Plan:
    return Plan.of("j", [stream.write.kafka("t", **AT, **options)._use()])


def upserted(job_plan: Plan) -> list[Upserts]:
    return [node for node in job_plan.nodes.values() if isinstance(node, Upserts)]


def test_modes_follow_the_rows() -> None:
    added = plan(rows(), key="card")
    assert (added.nodes["out"].mode, upserted(added)) == ("append", [])
    for options in ({}, {"mode": "upsert"}):
        kept = plan(counted(), key="card", **options)
        assert (kept.nodes["out"].mode, [node.last for node in upserted(kept)]) == ("upsert", [False])
    assert [node.last for node in upserted(plan(rows(), key="card", mode="upsert"))] == [True]
    debezium = plan(counted(), key="card", value="debezium")
    assert (debezium.nodes["out"].mode, debezium.nodes["out"].columns) == ("append", ("card", "n", "_change"))
    assert [node.pairs for node in upserted(debezium)] == [True]
    assert upserted(plan(counted(), value="debezium")) == []


def test_a_plan_gives_the_sink_back() -> None:
    options = {
        "key": ["card"], "value": "csv", "columns": ["id", "card"], "headers": {"h": "body"}, "timestamp": "id", "create": {"partitions": 3},
        "transaction_timeout": "1 minute", "end_markers": True, "options": {"linger.ms": "0"}, "prefix": "fraud",
        "security": {"user": "u", "password": hr.secret("WORD")},
    }  # fmt: skip
    sink = Sink("t", servers=["a:1", "b:2"], **options)  # type: ignore[arg-type]  # options of several types
    stored = json.loads(json.dumps(sink.options()))
    again = Sink.from_options(stored)
    assert again.options() == sink.options()
    assert again.layout == sink.layout
    assert stored["security"]["password"] == {"env": "WORD"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"key": "cart"}, "write.kafka: key names `cart`, which is not a column"),
        ({"key": ["card", "card"]}, "write.kafka: key names a column twice"),
        ({"headers": {"h": "x"}}, "write.kafka: headers names `x`, which is not a column"),
        ({"headers": "h"}, "write.kafka: headers cannot be 'h'"),
        ({"value": "jsn"}, "write.kafka: value cannot be 'jsn'"),
        ({"value": "raw"}, 'write.kafka: value="raw" writes one column, but there are id, card, body'),
        ({"key": ["id", "card"], "key_format": "raw"}, 'write.kafka: key_format="raw" needs exactly one key column'),
        ({"key": "id", "partition_by": "card"}, "write.kafka: partition_by names card, but the key is id"),
        ({"create": {"partition": 1}}, "write.kafka: create cannot be {'partition': 1}"),
        ({"create": {"partitions": 0}}, "write.kafka: create.partitions cannot be 0"),
        ({"options": {"transactional.id": "x"}}, "write.kafka: options cannot set transactional.id"),
        ({"options": {"acks": "1"}}, "write.kafka: options cannot set acks"),
        ({"columns": 3}, "write.kafka: columns cannot be 3"),
        ({"topic": "x"}, "write.kafka: "),
    ],
)
def test_options_that_do_not_do(options: dict[str, Any], says: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        rows().write.kafka("t", **AT, **options)
    assert caught.value.code == "BAD_OPTION"
    assert caught.value.message.startswith(says)


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (Layout(headers={"h": "id"}), "headers needs a column of type string or binary, but id is int"),
        (Layout(value="raw", columns=("id",)), "columns needs a column of type string or binary, but id is int"),
        (Layout(key=("id",), key_format="raw"), "key needs a column of type string or binary, but id is int"),
        (Layout(timestamp="card"), "timestamp needs a column of type timestamp, but card is string"),
    ],
)
def test_types_that_do_not_do(layout: Layout, says: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        layout.document(parse_schema("id int, card string"), "append")
    assert (caught.value.code, caught.value.message) == ("WRONG_TYPE", f"write.kafka: {says}")


def test_document_for_the_writer() -> None:
    schema = parse_schema("id int, card string, at timestamp")
    document = Layout(key=("card",), timestamp="at", headers={"h": "card"}).document(schema, "upsert")
    assert document == {
        "format": "json", "value": ["id", "card", "at"], "key": ["card"], "plain_key": True, "headers": {"h": "card"},
        "timestamp": "at", "partition_by": [], "change": None, "weight": "_weight",
    }  # fmt: skip
    changes = Layout(value="debezium", key=("id",)).document(parse_schema("id int, _change string"), "append")
    assert (changes["value"], changes["plain_key"], changes["change"], changes["weight"]) == (["id"], False, "_change", None)


class Target:
    """The topic as the JVM would open it; every call is written down."""

    def __init__(self, marked: bool, partitions: int) -> None:
        self.calls: list[str] = []
        self.marked = marked
        self.partitions = partitions

    def open(self, create: str | None, tasks: int) -> str:
        self.calls.append("open")
        return json.dumps({"marked": self.marked, "topic_id": "one", "partitions": self.partitions})

    def renew(self) -> str:
        self.calls.append("renew")
        return "{}"

    def mark(self, epoch: int, identity: str, end: Any) -> str:
        self.calls.append(f"mark {epoch}")
        return "{}"

    def close(self) -> None:
        self.calls.append("close")


def opened(checkpoint: Path, *, marked: bool, unfinished: int | None, partitions: int = 2) -> tuple[Sink, Target]:
    """A sink that was opened, or the error."""
    target = Target(marked, partitions)
    kafka = SimpleNamespace(Clients=SimpleNamespace(put=lambda *_: None), Target=lambda *_: target)
    session: Any = SimpleNamespace(_jvm=SimpleNamespace(headrace=SimpleNamespace(kafka=kafka)))
    sink = Sink("t", servers="broker:9092")
    context = ports.SinkContext("j", "out", parse_schema("id int"), session, checkpoint, "ck", unfinished=unfinished)
    try:
        sink.open(context)
    except BaseException:
        assert target.calls[-1] == "close"
        raise
    return sink, target


def test_what_was_opened_is_closed_whatever_goes_wrong(tmp_path: Path) -> None:
    (tmp_path / "kafka").write_text("no folder")
    with pytest.raises(OSError, match="kafka"):
        opened(tmp_path, marked=False, unfinished=None)


def test_the_marker_of_the_driver_stays_older_than_those_of_an_epoch_that_was_cut_off(tmp_path: Path) -> None:
    _, first = opened(tmp_path, marked=False, unfinished=None)
    assert first.calls == ["open", "renew"]
    sink, again = opened(tmp_path, marked=True, unfinished=0)
    assert again.calls == ["open"]
    for epoch in (0, 1):
        sink.commit(epoch, ports.Staged(()))
    assert again.calls == ["open", "mark 0"]


def test_markers_that_are_gone_stay_gone(tmp_path: Path) -> None:
    opened(tmp_path, marked=False, unfinished=None)
    with pytest.raises(HeadraceError) as caught:
        opened(tmp_path, marked=False, unfinished=3)
    assert caught.value.code == "KAFKA_MARKERS_GONE"
    (tmp_path / "kafka" / "out.json").unlink()
    assert opened(tmp_path, marked=False, unfinished=3)[1].calls == ["open", "renew"]


WITHOUT_IDS = "A" * 22


@pytest.mark.parametrize(
    ("noted", "there", "expected"),
    [
        (None, "one", ports.Mark(4, "x", fades=True)),
        ("t one", "one", ports.Mark(4, "x", fades=True)),
        ("t one", "two", "TABLE_REPLACED"),
        ("t one", None, "TOPIC_MISSING"),
        ("other one", "two", ports.Mark(4, "x", fades=True)),
        ("other one", None, ports.Mark(exists=False)),
        (f"t {WITHOUT_IDS}", "one", ports.Mark(4, "x", fades=True)),
        ("t one", WITHOUT_IDS, ports.Mark(4, "x", fades=True)),
        (f"t {WITHOUT_IDS}", None, "TOPIC_MISSING"),
    ],
)
def test_what_a_start_finds(tmp_path: Path, noted: str | None, there: str | None, expected: ports.Mark | str) -> None:
    topic_state = {} if there is None else {"topic_id": there, "epoch": 4, "identity": "x"}
    kafka = SimpleNamespace(Target=SimpleNamespace(look=lambda *_: json.dumps(topic_state)))
    session: Any = SimpleNamespace(_jvm=SimpleNamespace(headrace=SimpleNamespace(kafka=kafka)))
    if noted is not None:
        topic, _, id = noted.partition(" ")
        (tmp_path / "kafka").mkdir()
        (tmp_path / "kafka" / "out.json").write_text(json.dumps({"topic": topic, "topic_id": id}))
    context = ports.SinkContext("j", "out", parse_schema("id int"), session, tmp_path, "ck")
    try:
        mark: Any = Sink("t", servers="broker:9092").mark(context)
    except HeadraceError as error:
        mark = error.code
    assert mark == expected


def test_what_brokers_say() -> None:
    def now() -> None:
        raise problem("something else", Cluster.of("write.kafka", "broker:9092", None, None), "t", "the moon is in the wrong place")

    check_error(
        """
        KAFKA_FAILED: t at broker:9092: the moon is in the wrong place
          hint: check the log of the broker and start again: no row is lost or duplicated
          more: headrace error KAFKA_FAILED
        """,
        now,
    )


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("KAFKA_DENIED", "check the user and the password; each start reads the password again"),
        (
            "KAFKA_UNAUTHORIZED",
            "grant the user WRITE and READ on the topic, WRITE on transactional ids and READ on groups that begin with prefix=; "
            "with create=, also CREATE on the topic",
        ),
    ],
)
def test_a_login_and_a_right_that_brokers_deny(code: str, hint: str) -> None:
    denied = problem(code, Cluster.of("write.kafka", "broker:9092", None, None), "t", "the authorization service is away")
    assert (denied.code, denied.hint) == ("KAFKA_DENIED", hint)


def test_a_topic_that_gets_more_partitions(tmp_path: Path) -> None:
    """Keys stay among the partitions of the first start; an older note does not say how many there were."""
    note = tmp_path / "kafka" / "out.json"

    def partitions() -> tuple[str, int, int]:
        content = json.loads(note.read_text())
        return sink.stage()["options"]["partitions"], content["partitions"], content["seen"]

    sink, target = opened(tmp_path, marked=True, unfinished=None)
    assert partitions() == ("2", 2, 2)
    sink, target = opened(tmp_path, marked=True, unfinished=None, partitions=5)
    assert partitions() == ("2", 2, 5)
    note.write_text(json.dumps({"topic": "t", "topic_id": "one", "id": "headrace-ck-out"}))
    sink, target = opened(tmp_path, marked=True, unfinished=None, partitions=5)
    assert partitions() == ("5", 5, 5)
    assert target.calls == ["open", "renew"]
