"""Upserts by a Delta sink, against a dict."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from headrace.connectors.delta import Sink
from headrace.errors import HeadraceError
from headrace.schema import parse_schema
from tests.scale import FULL
from tests.unit.connectors.delta.tasks import context, opened, rows_of
from tests.unit.connectors.staged import stage
from tests.unit.errors import check_error

KINDS: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "bigint": (pa.int64(), lambda chance: chance.randrange(6)),
    "string": (pa.string(), lambda chance: chance.choice(["", "a", "a'b", "ä\U0001f600", 'x"y', "long" * 2000])),
    "double": (pa.float64(), lambda chance: chance.choice([0.0, 1.5, float("nan"), float("inf"), -1e300])),
    "decimal(38,10)": (pa.decimal128(38, 10), lambda chance: Decimal(10**20 + chance.randrange(4)).scaleb(-10)),
    "date": (pa.date32(), lambda chance: dt.date(1582, 10, 12) + dt.timedelta(chance.randrange(5))),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        lambda chance: dt.datetime(1900, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=chance.randrange(5)),
    ),
    "binary": (pa.binary(), lambda chance: bytes([chance.randrange(4)])),
    "boolean": (pa.bool_(), lambda chance: chance.random() < 0.5),
}


@pytest.mark.parametrize(
    ("kinds", "parts"),
    [
        (("bigint", "string"), True),
        (("double", "boolean"), False),
        (("decimal(38,10)",), False),
        (("date", "timestamp"), True),
        pytest.param(("binary",), False, marks=pytest.mark.full),
        pytest.param(("bigint", "string"), False, marks=pytest.mark.full),
        pytest.param(("double", "boolean"), True, marks=pytest.mark.full),
    ],
)
def test_random_upserts(tmp_path: Path, kinds: tuple[str, ...], parts: bool) -> None:
    chance = random.Random(str(kinds))
    names = [f"k {number}" for number in range(len(kinds))]
    columns = {name: KINDS[kind][0] for name, kind in zip(names, kinds, strict=True)}
    arrow = pa.schema({**columns, "n": pa.int64(), "p": pa.string(), "_weight": pa.int64()})
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in zip(names, kinds, strict=True)) + ", n bigint, p string"
    options = {"key": [name.upper() for name in names], **({"partition_by": "p"} if parts else {})}
    model: dict[str, tuple[Any, ...]] = {}
    epoch = 0
    for term in range(3 if FULL else 2):
        sink = opened(Sink(tmp_path / "t", **options), context(tmp_path, ddl, mode="upsert", term=term + 1))
        for _ in range(6 if FULL else 4):
            rows = []
            for _ in range(chance.randrange(4)):
                key = tuple(None if chance.random() < 0.2 else KINDS[kind][1](chance) for kind in kinds)
                if any(repr(row[: len(kinds)]) == repr(key) for row in rows):
                    continue
                old = model.pop(repr(key), None)
                if old is not None:
                    rows.append((*old, -1))
                if old is None or chance.random() < 0.7:
                    model[repr(key)] = (*key, epoch, chance.choice(["a", None, "b/ä"]))
                    rows.append((*model[repr(key)], 1))
            chance.shuffle(rows)
            table = pa.Table.from_pylist([dict(zip(arrow.names, row, strict=True)) for row in rows], arrow)
            sink.commit(epoch, stage_whole(sink, epoch, table))
            epoch += 1
            assert shown(contents(tmp_path / "t")) == shown(model.values())
    if not parts:
        assert shown(rows_of(tmp_path / "t")) == shown(model.values())


def shown(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """Rows as texts; readers have zones of their own making for UTC."""
    return sorted(repr([value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value for value in row]) for row in rows)


def stage_whole(sink: Sink, epoch: int, table: pa.Table) -> Any:
    """Staged rows of an upsert are in files without partitions, whatever the table has."""
    by, sink.partition_by = sink.partition_by, ()
    try:
        return stage(sink, epoch, table)
    finally:
        sink.partition_by = by


def contents(folder: Path) -> list[tuple[Any, ...]]:
    table = DeltaTable(folder)
    names = [field.name for field in table.schema().fields]
    return [tuple(row[name] for name in names) for row in table.to_pyarrow_table().to_pylist()]


def test_an_upsert_that_comes_again_is_known(tmp_path: Path) -> None:
    ddl = "k string, n bigint"
    arrow = pa.schema({"k": pa.string(), "n": pa.int64(), "_weight": pa.int64()})
    sink = opened(Sink(tmp_path / "t", key="k"), context(tmp_path, ddl, mode="upsert"))
    sink.commit(0, stage(sink, 0, pa.Table.from_pylist([{"k": "a", "n": 1, "_weight": 1}], arrow)))
    before = DeltaTable(tmp_path / "t").version()
    sink.commit(0, stage(sink, 0, pa.Table.from_pylist([{"k": "a", "n": 1, "_weight": 1}], arrow)))
    assert DeltaTable(tmp_path / "t").version() == before
    assert not list((tmp_path / "t" / "_headrace").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("options", "kind", "option"), [({"key": "k"}, "array<int>", "key"), ({"partition_by": "k"}, "binary", "partition_by")]
)
def test_what_cannot_be_a_key(tmp_path: Path, options: dict[str, Any], kind: str, option: str) -> None:
    check_error(
        f"WRONG_TYPE: sink: column k of type {kind} cannot be in {option} of a Delta table\n"
        '  hint: choose other columns, or convert it: with_columns(k_text="to_json(k)")\n'
        "  more: headrace error WRONG_TYPE",
        lambda: Sink(tmp_path / "t", **options).suits("sink", parse_schema(f"k {kind}, n int")),
    )


def test_an_interval_has_no_place_in_a_table(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError) as raised:
        Sink(tmp_path / "t").suits("sink", parse_schema("a int, d interval day to second"))
    check_error(
        "WRONG_TYPE: a Delta table cannot hold column d of type interval day to second\n"
        '  hint: cast it to another type: with_columns(d="cast(d as string)")\n'
        "  more: headrace error WRONG_TYPE",
        raised.value,
    )
