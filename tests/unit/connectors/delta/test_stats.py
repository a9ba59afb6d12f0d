"""The statistics of a file, against its rows; and that readers who trust them find every row."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from headrace.connectors.delta import Sink
from headrace.connectors.delta.stats import statistics
from headrace.schema import parse_schema
from tests.unit.connectors.delta.tasks import context, opened
from tests.unit.connectors.staged import stage

DDL = (
    "i int, b bigint, f double, s string, d date, t timestamp, z timestamp_ntz, small decimal(10,2), large decimal(38,10), "
    "o boolean, r array<int>, m map<string, int>, n struct<x: int, `y.z`: string, deep: struct<w: date>>, bytes binary"
)
SCHEMA = parse_schema(DDL)
ARROW = pa.schema(
    {
        "i": pa.int32(),
        "b": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "d": pa.date32(),
        "t": pa.timestamp("us", "UTC"),
        "z": pa.timestamp("us"),
        "small": pa.decimal128(10, 2),
        "large": pa.decimal128(38, 10),
        "o": pa.bool_(),
        "r": pa.list_(pa.int32()),
        "m": pa.map_(pa.string(), pa.int32()),
        "n": pa.struct({"x": pa.int32(), "y.z": pa.string(), "deep": pa.struct({"w": pa.date32()})}),
        "bytes": pa.binary(),
    }
)


def row(chance: random.Random) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.2 else value

    moment = dt.datetime(1900, 1, 1) + dt.timedelta(microseconds=chance.randrange(10**16))
    word = "".join(chance.choice("aZ é\U0001f600ß") for _ in range(chance.choice([0, 3, 32, 40])))
    return {
        "i": maybe(chance.randrange(-(2**31), 2**31)),
        "b": maybe(chance.randrange(-(2**63), 2**63)),
        "f": maybe(chance.choice([0.0, -0.0, 1.5, -1e300, 5e-324])),
        "s": maybe(word),
        "d": maybe(moment.date()),
        "t": maybe(moment.replace(tzinfo=dt.UTC)),
        "z": maybe(moment),
        "small": maybe(Decimal(chance.randrange(-(10**10) + 1, 10**10)).scaleb(-2)),
        "large": maybe(Decimal(chance.randrange(10 ** chance.choice([3, 27, 37]))).scaleb(-10)),
        "o": maybe(chance.random() < 0.5),
        "r": maybe([1, None]),
        "m": maybe([("a", 1)]),
        "n": maybe({"x": maybe(chance.randrange(9)), "y.z": maybe(word), "deep": maybe({"w": maybe(moment.date())})}),
        "bytes": maybe(b"\xff\x00"),
    }


def test_bounds_hold_and_nulls_are_counted(tmp_path: Path) -> None:
    chance = random.Random(5)
    for number in range(20):
        rows = [row(chance) for _ in range(chance.choice([1, 2, 40]))]
        table = pa.Table.from_pylist(rows, ARROW)
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=16)
        stats = json.loads(statistics(pq.read_metadata(path), SCHEMA), parse_float=decimal_or_double)
        assert stats["numRecords"] == len(rows)
        assert {"r", "m", "bytes"}.isdisjoint(stats["minValues"])
        for name in ("i", "b", "f", "s", "d", "t", "z", "small", "large", "o"):
            values = [one[name] for one in rows if one[name] is not None]
            assert stats["nullCount"][name] == len(rows) - len(values)
            assert (name in stats["minValues"]) == bool(values)
            for value in values:
                assert bound(stats["minValues"][name], name) <= value <= bound(stats["maxValues"][name], name)
        inner = [one["n"] and one["n"]["y.z"] for one in rows]
        assert stats["nullCount"]["n"]["y.z"] == inner.count(None)
        deep = [one["n"] and one["n"]["deep"] and one["n"]["deep"]["w"] for one in rows]
        if any(deep):
            assert dt.date.fromisoformat(stats["minValues"]["n"]["deep"]["w"]) == min(value for value in deep if value)


def decimal_or_double(text: str) -> Any:
    """Decimals come in plain digits, doubles as Python writes them."""
    return float(text) if repr(float(text)) == text else Decimal(text)


def bound(value: Any, name: str) -> Any:
    if name in ("d",):
        return dt.date.fromisoformat(value)
    if name in ("t", "z"):
        return dt.datetime.fromisoformat(value)
    return Decimal(str(value)) if name in ("small", "large") else value


def test_what_is_not_known_is_not_said(tmp_path: Path) -> None:
    schema = parse_schema("f double, d date, t timestamp, s string")
    rows = pa.table(
        {
            "f": [1.0, float("inf")],
            "d": pa.array([-800_000_000, 1], pa.date32()),
            "t": pa.array([-(2**62), 1], pa.timestamp("us", "UTC")),
            "s": ["a", "b" * 32 + "\U0010ffff" * 2],
        }
    )
    pq.write_table(rows, tmp_path / "f.parquet")
    stats = json.loads(statistics(pq.read_metadata(tmp_path / "f.parquet"), schema))
    assert stats["minValues"] == stats["maxValues"] == {} and stats["nullCount"] == {"f": 0, "d": 0, "t": 0, "s": 0}


def test_a_reader_that_leaves_files_out_finds_every_row(tmp_path: Path) -> None:
    chance = random.Random(6)
    sink = opened(Sink(tmp_path / "t"), context(tmp_path, SCHEMA))
    everything = []
    for epoch in range(4):
        rows = [row(chance) for _ in range(5)]
        everything += rows
        sink.commit(epoch, stage(sink, epoch, pa.Table.from_pylist(rows, ARROW)))
    dataset = DeltaTable(tmp_path / "t").to_pyarrow_dataset()
    for name in ("i", "b", "f", "s", "d", "t", "z", "small", "large", "o"):
        for value in {one[name] for one in everything if one[name] is not None}:
            wanted = pc.field(name) == pa.scalar(value, ARROW.field(name).type)
            assert dataset.to_table(filter=wanted).num_rows == sum(one[name] == value for one in everything), (name, value)
