"""Files of all formats with bytes changed at random: each record is a row or a dead letter, or is counted as skipped, and what is written can be read."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests import mutated
from tests.mutated import CSV, DEBEZIUM, FLAT, JSON, SCHEMA, Row

pytestmark = pytest.mark.usefixtures("spark")

LINES = {"json": JSON, "csv": CSV, "debezium": DEBEZIUM}
BINARY = ("parquet", "orc", "avro")


@pytest.mark.parametrize(("count", "seed"), [(300, 1), pytest.param(20_000, 2, marks=pytest.mark.full)])
def test_each_record_has_one_outcome(tmp_path: Path, count: int, seed: int) -> None:
    rng = random.Random(seed)
    whole, contents, texts = {}, {}, {}
    for name, format in LINES.items():
        records, changed = mutated.records(format, rng, count)
        whole[name] = {record for n, record in enumerate(records) if n not in changed}
        contents[name] = b"".join(record + b"\n" for record in ([b"id,name"] if name == "csv" else []) + records)
        (tmp_path / f"of_{name}").write_bytes(contents[name])
    for name in BINARY:
        texts[name] = [texts_of(row, rng) for row in mutated.rows(rng, count)]
        write(name, texts[name], tmp_path / f"of_{name}")

    sinks = []
    for name in (*LINES, *BINARY):
        schema = FLAT if name == "csv" else SCHEMA
        change: dict[str, Any] = {"change_format": "debezium"} if name == "debezium" else {}
        format_of = "json" if name == "debezium" else name
        read = hr.read.files(tmp_path / f"of_{name}", format=format_of, schema=schema, name=f"of_{name}", **change)
        rows = read.changes() if name == "debezium" else read
        sinks.append(rows.write.files(tmp_path / f"out_{name}", format="parquet", name=f"out_{name}"))
    summary = hr.job("mutated", *sinks).run(checkpoint=tmp_path / "ck", progress=False)

    dead = mutated.letters(tmp_path / "ck")
    sources = {source.name: source for source in summary.sources}
    for name, format in LINES.items():
        columns = ("id", "name") if name == "csv" else ("id", "name", "tags")
        out = mutated.plain(mutated.written(tmp_path / f"out_{name}"), columns)
        at = mutated.places(dead.get(f"of_{name}", []))
        report = mutated.check_lines(format, contents[name], whole[name], out, at, sources[f"of_{name}"], header=name == "csv")
        print(f"{name}: {report}")
    for name in BINARY:
        out = mutated.plain(mutated.written(tmp_path / f"out_{name}"), ("id", "name", "tags"))
        good = [row for row in texts[name] if is_text(row)]
        assert Counter(out) == Counter((n, called.decode(), tuple(tag.decode() for tag in tags)) for n, called, tags in good)
        bad = {n for n, row in enumerate(texts[name]) if not is_text(row)}
        assert mutated.places(dead.get(f"of_{name}", [])) == Counter(bad)
        assert {letter["reason"].partition(":")[2] for letter in dead[f"of_{name}"]} == {" the text is not UTF-8"}
        source = sources[f"of_{name}"]
        assert (source.read, source.malformed, source.rows) == (count, len(bad), len(good))
        print(f"{name}: {count} rows of a file: {len(good)} rows, {len(bad)} dead letters")


def texts_of(row: Row, rng: random.Random) -> tuple[int, bytes, list[bytes]]:
    """The row with its texts as bytes, of which some are changed."""
    name, tags = row[1].encode(), [tag.encode() for tag in row[2]]
    if rng.randrange(6) == 0:
        name = mutated.mutated(name, rng)
    elif tags and rng.randrange(10) == 0:
        tags[0] = mutated.mutated(tags[0], rng)
    return row[0], name, tags


def is_text(row: tuple[int, bytes, list[bytes]]) -> bool:
    try:
        b"\n".join([row[1], *row[2]]).decode()
    except UnicodeDecodeError:
        return False
    return True


def write(format: str, rows: list[tuple[int, bytes, list[bytes]]], path: Path) -> None:
    """A file whose texts are any bytes, as no writer refuses that knows them as bytes first."""
    if format == "avro":
        fields = [
            {"name": "id", "type": "long"},
            {"name": "name", "type": "bytes"},
            {"name": "tags", "type": {"type": "array", "items": "bytes"}},
        ]
        with path.open("wb") as out:
            records = [{"id": n, "name": name, "tags": tags} for n, name, tags in rows]
            fastavro.writer(out, {"type": "record", "name": "row", "fields": fields}, records)
        path.write_bytes(path.read_bytes().replace(b'": "bytes"', b'":"string"', 2))
        return
    offsets = [0]
    for _, _, tags in rows:
        offsets.append(offsets[-1] + len(tags))
    texts = pa.array([tag for _, _, tags in rows for tag in tags], pa.binary()).view(pa.string())
    columns = {
        "id": pa.array([row[0] for row in rows], pa.int64()),
        "name": pa.array([row[1] for row in rows], pa.binary()).view(pa.string()),
        "tags": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts),
    }
    writer = pq.write_table if format == "parquet" else orc.write_table
    writer(pa.table(columns), path)


@pytest.mark.parametrize("format", ["json", "csv"])
def test_digits_beyond_those_of_a_type(spark: SparkSession, tmp_path: Path, format: str) -> None:
    """As Spark reads them: rounded in a decimal, refused in a whole number."""

    def read(values: list[str], schema: str) -> hr.Table:
        lines = ["v", *values] if format == "csv" else [f'{{"v":{value}}}' for value in values]
        (tmp_path / "in").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return hr.collect(hr.read.files(tmp_path / "in", format=format, schema=schema, name="rows"))

    with pytest.warns(RuntimeWarning, match="1 row failed"):
        rounded = read(["1.239", "1.235", "-1.235", "123456789.1"], "v decimal(10,2)")
    assert [str(value) for (value,) in rounded.rows()] == ["1.24", "1.24", "-1.24"]
    with pytest.warns(RuntimeWarning, match="2 rows failed"):
        whole = read(["13", "13.7", "13.0"], "v bigint")
    assert whole.rows() == [(13,)]
