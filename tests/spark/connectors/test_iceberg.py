"""Iceberg tables in whole jobs: what is written is what was read, whatever reads it."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.spark.connectors.test_delta import TYPES, everything, lay
from tests.unit.connectors.iceberg.tasks import catalog, data_files, live_files, rows_of, table
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")


@pytest.mark.parametrize("by", [(), ("y", "da", "odd, näme", "t")])
def test_values_of_all_types_come_back(tmp_path: Path, by: tuple[str, ...]) -> None:
    values = [everything(number) for number in range(10)]
    rows = hr.read.memory(values, TYPES, name="rows")
    sink = rows.write.iceberg("db.t", catalog=catalog(tmp_path), partition_by=by)
    hr.job("types", sink).run(checkpoint=tmp_path / "c", progress=False)
    back = hr.read.iceberg("db.t", catalog=catalog(tmp_path), name="back")
    assert sorted(map(repr, hr.collect(back).rows())) == sorted(map(repr, hr.collect(rows).rows()))
    # and to a reader that has nothing to do with Spark
    arrow_rows = table(tmp_path).scan().to_arrow().sort_by("id").to_pylist()
    for row, expected in zip(arrow_rows, values, strict=True):
        assert (row["l"], row["da"], row["s"], row["odd, näme"]) == (expected[10], expected[11], expected[7], expected[17])
        assert (row["t"] and row["t"].astimezone(dt.UTC), row["n"]) == (expected[12], expected[13])


def test_a_job_over_tables(tmp_path: Path) -> None:
    """From a table that changes to one that is appended and one that is upserted, stopped and started in between."""
    tables = catalog(tmp_path)

    def run() -> None:
        rows = hr.read.iceberg("db.input", catalog=tables, changes=True, files_per_epoch=1, name="rows")
        sums = rows.group_by("k").agg(n="count(*)", s="sum(n)")
        changes = sums.write.iceberg("db.changes", catalog=tables, mode="changes", name="changes")
        job = hr.job("sums", sums.write.iceberg("db.t", catalog=tables, key="k", name="sums"), changes)
        job.run(checkpoint=tmp_path / "c", flush=False, progress=False)
        groups: dict[str, list[int]] = {}
        for row in table(tmp_path, "db.input").scan().to_arrow().to_pylist():
            groups.setdefault(row["k"], []).append(row["n"])
        expected = sorted((k, len(ns), sum(ns)) for k, ns in groups.items())
        assert sorted(rows_of(tmp_path)) == expected
        net: Counter[tuple[Any, ...]] = Counter()
        for *row, change in rows_of(tmp_path, "db.changes"):
            net[tuple(row)] += 1 if change == "insert" else -1
        assert sorted((+net).elements()) == expected

    def add(*values: tuple[str, int]) -> None:
        table(tmp_path, "db.input").append(pa.table({"k": [k for k, _ in values], "n": [n for _, n in values]}))

    first = hr.read.memory([("a", 1), ("b", 2)], "k string, n bigint", name="first")
    hr.job("first", first.write.iceberg("db.input", catalog=tables)).run(checkpoint=tmp_path / "first", progress=False)
    run()
    add(("a", 5), ("c", 7))
    table(tmp_path, "db.input").delete("k = 'b'")
    run()
    table(tmp_path, "db.input").overwrite(pa.table({"k": ["a"], "n": [9]}), overwrite_filter="n = 5")
    run()
    assert all(path in data_files(tmp_path) for path in live_files(tmp_path))


def test_columns_that_come_later(tmp_path: Path) -> None:
    def run(ddl: str, row: dict[str, Any], number: int, **more: Any) -> None:
        lay(tmp_path / f"in{number}", 0, [row])
        rows = hr.read.files(tmp_path / f"in{number}", format="json", schema=ddl, name="rows")
        sink = rows.write.iceberg("db.t", catalog=catalog(tmp_path), **more)
        hr.job(f"job{number}", sink).run(checkpoint=tmp_path / f"c{number}", progress=False)

    run("a int", {"a": 1}, 0)
    run("a int, b struct<c: date>", {"a": 2, "b": {"c": "1969-12-31"}}, 1, schema="add")
    run("a int", {"a": 3}, 2)
    assert sorted(rows_of(tmp_path), key=str) == [(1, None), (2, {"c": dt.date(1969, 12, 31)}), (3, None)]
    with pytest.raises(HeadraceError) as raised:
        run("a bigint", {"a": 1}, 3)
    check_error(
        "TABLE_SCHEMA: the table db.t does not fit: its column a is int, not bigint\n"
        '  at test_iceberg.py:*: sink = rows.write.iceberg("db.t", catalog=catalog(tmp_path), **more)\n'
        '  hint: with_columns(a="cast(a as int)")\n'
        "  more: headrace error TABLE_SCHEMA",
        raised.value,
    )


def test_what_is_refused_when_built(tmp_path: Path) -> None:
    rows = hr.read.memory([("a", 1)], "k string, n int", name="rows")
    with pytest.raises(HeadraceError) as raised:
        rows.write.iceberg("t", catalog=catalog(tmp_path))
    assert (raised.value.message, raised.value.hint) == (
        "write.iceberg: the table cannot be 't'",
        'it is a name in a namespace: "db.charges"',
    )
    rest = {"type": "rest", "uri": "http://localhost", "token": "t0k3n"}
    with pytest.raises(HeadraceError) as raised:
        rows.write.iceberg("db.t", catalog=rest)
    assert raised.value.message == "write.iceberg: token must be a secret, given by its name" and "t0k3n" not in str(raised.value)
    with pytest.raises(HeadraceError) as raised:
        hr.read.iceberg("db.none", catalog=catalog(tmp_path))
    assert (raised.value.code, raised.value.message) == ("TABLE_MISSING", "the catalog has no Iceberg table db.none")
