"""Records whose bytes are changed at random, and the account of what a job made of each."""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr

SCHEMA = "id bigint, name string, tags array<string>"
FLAT = "id bigint, name string"
_LETTERS = "abcxyz0189 _äß€漢😀"
AVRO = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}

Row = tuple[Any, ...]


def rows(rng: random.Random, count: int) -> Iterator[Row]:
    """Rows of `SCHEMA`. No name is empty or has a sign of CSV other than the comma, which readers disagree on."""

    def text(least: int) -> str:
        return "".join(rng.choices(_LETTERS + ",", k=rng.randint(least, 12))).strip() or "x"

    for n in range(count):
        yield n, text(1), tuple(text(0) for _ in range(rng.randrange(3)))


def mutated(record: bytes, rng: random.Random) -> bytes:
    """The record with some bytes changed, put in or left out; or cut, empty, blank, or twice."""
    kind = rng.randrange(10)
    if kind < 4 and record:
        changed = bytearray(record)
        for _ in range(rng.choice([1, 1, 1, 3])):
            changed[rng.randrange(len(changed))] = rng.choice([0, 10, 13, 34, 92, 0x80, 0xC0, 0xFF, rng.randrange(256)])
        return bytes(changed)
    at = rng.randrange(len(record) + 1)
    if kind == 4:
        return record[:at] + rng.choice([b"\xff", b"\xed\xa0\x80", b"\\ud83d", b"\xc0\xaf", b"\n", b"\0"]) + record[at:]
    if kind == 5:
        return record[:at] + record[at + 1 :]
    if kind == 6:
        return record[:at]
    return [b"", b" \t", record + record][kind - 7]


@dataclass(frozen=True)
class Format:
    """How rows are records of a format, and how an independent reader reads them."""

    write: Callable[[Row], bytes]
    read: Callable[[bytes], Row]
    blank: Callable[[bytes], bool] = lambda line: all(byte <= 32 for byte in line)


def _json_row(record: bytes) -> Row:
    fields = json.loads(record.decode())
    return fields["id"], fields["name"], tuple(fields["tags"])


def _csv(row: Row) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(row[:2])
    return out.getvalue().encode()


def _csv_row(record: bytes) -> Row:
    (fields,) = csv.reader([record.decode()])
    return int(fields[0]), fields[1]


def _avro(row: Row) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, AVRO, {"id": row[0], "name": row[1], "tags": list(row[2])})
    return out.getvalue()


def _avro_row(record: bytes) -> Row:
    fields: Any = fastavro.schemaless_reader(io.BytesIO(record), AVRO, None)
    return fields["id"], fields["name"], tuple(fields["tags"])


def _json(row: Row) -> bytes:
    return json.dumps({"id": row[0], "name": row[1], "tags": row[2]}, ensure_ascii=row[0] % 2 == 0).encode()


def _envelope(row: Row) -> bytes:
    after = {"id": row[0], "name": row[1], "tags": row[2]}
    envelope: dict[str, Any] = {"op": "c", "before": None, "after": after, "source": {"db": "shop"}}
    return json.dumps({"payload": envelope} if row[0] % 3 else envelope, ensure_ascii=False).encode()


def _envelope_row(record: bytes) -> Row:
    envelope = json.loads(record.decode())
    return _json_row(json.dumps(envelope.get("payload", envelope)["after"]).encode())


JSON = Format(_json, _json_row)
CSV = Format(_csv, _csv_row, lambda line: not line.decode(errors="replace").strip())
AVRO_ALONE = Format(_avro, _avro_row)
DEBEZIUM = Format(_envelope, _envelope_row)


def records(format: Format, rng: random.Random, count: int) -> tuple[list[bytes], set[int]]:
    """So many records, and which of them were changed: about one in six."""
    records = [format.write(row) for row in rows(rng, count)]
    places = {n for n in range(count) if rng.randrange(6) == 0}
    changed = {n: mutated(records[n], rng) for n in places}
    return [changed.get(n, record) for n, record in enumerate(records)], {n for n, record in changed.items() if record != records[n]}


def letters(checkpoint: Path) -> dict[str, list[dict[str, Any]]]:
    """The dead letters of a job by the last part of the file that they come from. Each has a reason in words."""
    by_file: dict[str, list[dict[str, Any]]] = {}
    for line in (line for folder in checkpoint.glob("dead_letters/*") for file in hr.committed_files(folder) for line in _lines(file)):
        letter = json.loads(line)
        reason = letter["reason"]
        assert reason and reason != "null" and not reason.endswith(": null") and "Exception" not in reason, letter
        by_file.setdefault(Path(letter.get("file", "")).name, []).append(letter)
    return by_file


def places(letters: Iterable[Mapping[str, Any]]) -> Counter[int]:
    return Counter(letter["position"] for letter in letters)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split("\n")[:-1]


def written(folder: Path) -> pa.Table:
    """What the job wrote, read whole by pyarrow, which checks each text, and by DuckDB, which finds as many rows."""
    files = [str(file) for file in hr.committed_files(folder)]
    assert files, f"nothing in {folder}"
    table = pa.concat_tables([pq.read_table(file) for file in files])
    table.validate(full=True)
    names = [f'sum(length("{name}"))' for name in table.column_names if table.schema.field(name).type == pa.string()]
    counted = duckdb.connect().execute(f"SELECT count(*), {', '.join(names) or '0'} FROM read_parquet(?)", [files]).fetchone()
    assert counted is not None and counted[0] == table.num_rows
    return table


def plain(table: pa.Table, names: Sequence[str]) -> list[Row]:
    columns = [table.column(name).to_pylist() for name in names]
    return [tuple(tuple(value) if isinstance(value, list) else value for value in row) for row in zip(*columns, strict=True)]


def check_places(format: Format, records: Sequence[bytes], changed: set[int], out: Mapping[int, list[Row]], dead: Mapping[int, int]) -> str:
    """Each place once, as a row or as a dead letter; rows that were not changed as an independent reader reads them. Says the figures."""
    for n, record in enumerate(records):
        assert len(out.get(n, [])) + dead.get(n, 0) == 1, (n, record, out.get(n), dead.get(n))
        if n not in changed:
            assert out.get(n) == [format.read(record)], (n, record, out.get(n))
    assert set(out) | set(dead) == set(range(len(records)))
    odd = sum(1 for n in changed if n in out)
    return f"{len(records)} records, {len(changed)} changed: {len(out)} rows ({odd} of changed ones), {sum(dead.values())} dead letters"


def check_lines(
    format: Format, content: bytes, whole: Iterable[bytes], out: Sequence[Row], dead: Counter[int], source: Any, *, header: bool = False
) -> str:
    """The same of a file of lines, whose rows do not tell their places: dead letters stand at lines that were changed, each once, the
    lines that were not changed are rows, and of the others each that is not blank and no dead letter is one row.
    """
    at, lines = 0, {}
    for line in content.splitlines(keepends=True):
        lines[at] = line.rstrip(b"\r\n")
        at += len(line)
    if header:
        del lines[0]
    known = set(whole)
    expected = Counter(format.read(line) for line in lines.values() if line in known)
    others = {at: line for at, line in lines.items() if line not in known}
    blank = {at for at, line in others.items() if format.blank(line)}
    assert set(dead) <= set(others) - blank and set(dead.values()) <= {1}, (dead, others)
    assert not expected - Counter(out), expected - Counter(out)
    assert len(out) == len(lines) - len(dead) - len(blank), (len(out), len(lines), len(dead), len(blank))
    assert (source.read, source.skipped) == (len(lines), len(blank))
    odd = len(out) - expected.total()
    return f"{len(lines)} lines, {len(others)} changed: {len(out)} rows ({odd} of changed ones), {len(dead)} dead letters, {len(blank)} skipped"
