"""Records of a topic and rows of a database with bytes changed at random: each is a row, a dead letter or a tombstone, by its position."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests import mutated
from tests.mutated import AVRO, AVRO_ALONE, CSV, DEBEZIUM, FLAT, JSON, SCHEMA, Format, Row
from tests.servers.kafka import Broker
from tests.servers.protos import compiled, message
from tests.servers.registry import Registry

pytestmark = pytest.mark.usefixtures("spark")

PROTO = 'syntax = "{syntax}"; package shop; message Row {{ {one} int64 id = 1; {one} string name = 2; repeated string tags = 3; }}'
FULL = pytest.param(20_000, 2, marks=pytest.mark.full)


def protobuf(message_class: Any) -> Format:
    def write(row: Row) -> bytes:
        encoded: bytes = message_class(id=row[0], name=row[1], tags=row[2]).SerializeToString()
        return encoded

    def read(record: bytes) -> Row:
        message = message_class.FromString(record)
        return message.id, message.name, tuple(message.tags)

    return Format(write, read)


def behind(number: int, format: Format, place: bytes = b"") -> Format:
    """The same behind the number of its schema in a registry."""
    head = b"\0" + number.to_bytes(4, "big") + place
    return Format(lambda row: head + format.write(row), lambda record: format.read(record.removeprefix(head)))


TEXT = Format(lambda row: row[1].encode(), lambda record: (record.decode(),))


@pytest.mark.parametrize(("count", "seed"), [(200, 1), FULL])
def test_each_record_of_a_topic_has_one_outcome(broker: Broker, registry: Registry, tmp_path: Path, count: int, seed: int) -> None:
    rng = random.Random(seed)
    (tmp_path / "row.avsc").write_text(json.dumps(AVRO))
    formats: dict[str, tuple[Format, dict[str, Any]]] = {
        "json": (JSON, {"value": "json", "schema": SCHEMA}),
        "csv": (CSV, {"value": "csv", "schema": FLAT}),
        "text": (TEXT, {"value": "text"}),
        "avro": (AVRO_ALONE, {"value": "avro", "descriptor": str(tmp_path / "row.avsc")}),
    }
    for syntax, one in (("proto2", "optional"), ("proto3", "")):
        text = PROTO.format(syntax=syntax, one=one)
        descriptors = compiled(text)
        (tmp_path / f"{syntax}.desc").write_bytes(descriptors)
        of = protobuf(message(descriptors, "shop.Row"))
        formats[syntax] = (of, {"value": "protobuf", "descriptor": str(tmp_path / f"{syntax}.desc"), "message": "shop.Row"})
        if syntax == "proto3":
            number = registry.register(f"mutated-registered-{syntax}-{count}-value", text, "PROTOBUF")
            formats[f"registered-{syntax}"] = (behind(number, of, b"\0"), {"value": "protobuf", "registry": registry.url})
    number = registry.register(f"mutated-registered-avro-{count}-value", AVRO)
    formats["registered-avro"] = (behind(number, AVRO_ALONE), {"value": "avro", "registry": registry.url})
    properties = {"id": {"type": "integer"}, "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}
    number = registry.register(f"mutated-registered-json-{count}-value", {"type": "object", "properties": properties}, "JSON")
    formats["registered-json"] = (behind(number, JSON), {"value": "json_schema", "registry": registry.url, "schema": SCHEMA})
    formats["debezium"] = (DEBEZIUM, {"value": "json", "schema": SCHEMA, "change_format": "debezium"})

    produced, sinks = {}, []
    for name, (format, options) in formats.items():
        topic = broker.create_topic(f"mutated-{name}-{count}")
        records, changed = mutated.records(format, rng, count)
        # A few records have no value at all.
        none = {n for n in changed if rng.randrange(8) == 0}
        broker.produce(topic, [None if n in none else record for n, record in enumerate(records)])
        produced[name] = (records, changed, none)
        metadata = [] if name == "debezium" else ["offset"]
        read = hr.read.kafka(topic, servers=broker.servers, end="latest", metadata=metadata, name=f"of_{name}", **options)
        rows = read.changes() if name == "debezium" else read
        sinks.append(rows.write.files(tmp_path / f"out_{name}", format="parquet", name=f"out_{name}"))
    summary = hr.job("mutated", *sinks).run(checkpoint=tmp_path / "ck", progress=False)

    dead = mutated.letters(tmp_path / "ck")
    sources = {source.name: source for source in summary.sources}
    for name, (format, _) in formats.items():
        records, changed, none = produced[name]
        at = mutated.places(dead.get(f"mutated-{name}-{count}-0", []))
        table = mutated.written(tmp_path / f"out_{name}")
        columns = ("value",) if name == "text" else ("id", "name") if name == "csv" else ("id", "name", "tags")
        rows_read = mutated.plain(table, columns)
        source = sources[f"of_{name}"]
        assert (source.read, source.skipped, source.broken) == (count, 0, 0)
        if name == "debezium":
            # Its rows are those of a database, without a place.
            expected = Counter(format.read(record) for n, record in enumerate(records) if n not in changed)
            assert set(at) <= changed - none and set(at.values()) <= {1}
            assert not expected - Counter(rows_read)
            assert (len(rows_read), source.tombstones) == (count - len(at) - len(none), len(none))
            print(f"{name}: {count} records, {len(changed)} changed: {len(rows_read)} rows, {len(at)} dead letters, {len(none)} tombstones")
        else:
            out: dict[int, list[Row]] = {}
            for place, row in zip(table.column("offset").to_pylist(), rows_read, strict=True):
                out.setdefault(place, []).append(row)
            assert none <= set(at)
            assert (source.malformed, source.rows, source.tombstones) == (len(at), len(out), 0)
            print(f"{name}: {mutated.check_places(format, records, changed, out, at)}")


@pytest.mark.parametrize(("count", "seed"), [(200, 1), FULL])
def test_each_row_of_a_database_has_one_outcome(tmp_path: Path, count: int, seed: int) -> None:
    """SQLite takes any bytes for a text; servers look at them when they are written."""
    rng = random.Random(seed)
    names = [
        (n, mutated.mutated(name.encode(), rng) if rng.randrange(6) == 0 else name.encode()) for n, name, _ in mutated.rows(rng, count)
    ]
    names[3] = (3, "a sign for what was replaced: \ufffd".encode())
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        database.execute("CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT)")
        database.executemany("INSERT INTO names VALUES (?, CAST(? AS TEXT))", names)
    read = hr.read.jdbc(f"sqlite:{tmp_path / 'shop.db'}", "names", by="id", name="names")
    job = hr.job("mutated", read.write.files(tmp_path / "out", format="parquet", name="out"))
    summary = job.run(checkpoint=tmp_path / "ck", progress=False)

    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.text_factory = bytes
        texts = dict(database.execute("SELECT id, name FROM names"))
    good, bad = {}, set()
    for n, text in texts.items():
        try:
            good[n] = text.decode()
        except UnicodeDecodeError:
            bad.add(n)
    assert Counter(mutated.plain(mutated.written(tmp_path / "out"), ("id", "name"))) == Counter(good.items())
    (letters,) = mutated.letters(tmp_path / "ck").values()
    assert Counter(json.loads(letter["raw"])["id"] for letter in letters) == Counter(bad)
    assert {letter["reason"] for letter in letters} == {"field name: the text is not UTF-8"}
    (source,) = summary.sources
    assert (source.read, source.malformed, source.rows) == (count, len(bad), len(good))
    print(f"sqlite: {count} rows of a table: {len(good)} rows, {len(bad)} dead letters")


def test_a_value_of_another_type_than_was_asked_for(tmp_path: Path) -> None:
    """A cast that fails is the row's fault, and ends no job."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        database.execute('CREATE TABLE names (id INTEGER PRIMARY KEY, n TEXT, "it\'s" TEXT)')
        database.executemany(
            "INSERT INTO names VALUES (?, ?, ?)", [(1, "7", "8"), (2, "seven", "8"), (3, None, None), (4, "7", "99999999999")]
        )
    read = hr.read.jdbc(f"sqlite:{tmp_path / 'shop.db'}", "names", by="id", schema="id int, n int, `it's` int", name="names")
    summary = hr.job("cast", read.write.files(tmp_path / "out", format="parquet", name="out")).run(
        checkpoint=tmp_path / "ck", progress=False
    )
    assert sorted(mutated.plain(mutated.written(tmp_path / "out"), ("id", "n", "it's"))) == [(1, 7, 8), (3, None, None)]
    (letters,) = mutated.letters(tmp_path / "ck").values()
    assert sorted(letter["reason"] for letter in letters) == [
        "field it's: cannot read '99999999999' as int",
        "field n: cannot read 'seven' as int",
    ]
    assert (summary.sources[0].read, summary.sources[0].malformed) == (4, 2)
