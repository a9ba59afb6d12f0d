"""Lookups in Delta tables."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Harness
from tests.spark.lookups.shelf import Shelf
from tests.unit.errors import check_error


def put(folder: Path, mode: Any = "overwrite", **rows: str) -> None:
    write_deltalake(folder, pa.table({"k": pa.array(rows, pa.string()), "v": pa.array(rows.values(), pa.string())}), mode=mode)


@pytest.mark.full
def test_the_newest_version_is_read_when_the_last_one_is_too_old(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not where there is no newer one."""
    from headrace.connectors.delta import Lookup

    loads: list[str] = []
    load = Lookup.load
    monkeypatch.setattr(Lookup, "load", lambda self, *arguments: loads.append("load") or load(self, *arguments))  # type: ignore[func-returns-value]
    put(tmp_path / "t", a="1", b="1")
    shelf.object.at(0)
    with Harness() as h:
        events = h.source("events", "k string")
        out = h.collect(events.lookup(hr.lookup.delta(tmp_path / "t", refresh="10 seconds"), on="k"))

        def looked_up(*keys: str) -> list[Any]:
            before = Counter(out.rows())
            h.commit({"events": [("+", (key,)) for key in keys]})
            return sorted((Counter(out.rows()) - before).elements(), key=str)

        assert looked_up("a", "x") == [("a", "1"), ("x", None)]
        put(tmp_path / "t", a="2")
        assert looked_up("a") == [("a", "1")] and len(loads) == 1
        shelf.object.at(11)
        assert looked_up("a", "b") == [("a", "2"), ("b", None)] and len(loads) == 2
        shelf.object.at(22)
        assert looked_up("a") == [("a", "2")] and len(loads) == 2
        put(tmp_path / "t", "append", x="3")
        assert looked_up("x") == [("x", None)]
        shelf.object.at(33)
        assert looked_up("a", "x") == [("a", "2"), ("x", "3")] and len(loads) == 3
        put(tmp_path / "t", b="4")
        h.restart()
        assert looked_up("b") == [("b", "4")]


def test_a_table_that_is_parted_and_was_written_by_a_sink(spark: SparkSession, tmp_path: Path) -> None:
    """Values of the columns that name folders, of all types, null among them; upserts and deletes; some of the columns."""
    rows: list[Any] = [
        (1, "ä/%", dt.date(1969, 12, 31), None, [1, None]),
        (2, None, None, dt.datetime(2026, 1, 1, 12, 0, 0, 1), None),
        (3, "x y", dt.date(2026, 2, 28), None, []),
    ]
    schema = "id int, place string, day date, at timestamp, ns array<int>"
    stored = hr.read.memory(rows, schema, name="stored")
    hr.job("make", stored.write.delta(tmp_path / "t", partition_by=["place", "day"])).run(checkpoint=tmp_path / "c", progress=False)
    table = hr.lookup.delta(tmp_path / "t", name="t")
    assert table.columns == ("id", "place", "day", "at", "ns")
    events = hr.read.memory([(n,) for n in (1, 2, 3, 4)], "id bigint", name="events")
    at = dt.datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=dt.UTC)
    expected = [rows[0], (*rows[1][:3], at, None), rows[2], (4, None, None, None, None)]
    assert sorted(hr.collect(events.lookup(table, on="id")).rows(), key=str) == sorted(expected, key=str)
    some = hr.lookup.delta(tmp_path / "t", schema="day date, place string")
    places = hr.read.memory([("ä/%",), ("none",)], "p string", name="places")
    assert sorted(hr.collect(places.lookup(some, on={"p": "place"})).rows()) == [
        ("none", None, None),
        ("ä/%", dt.date(1969, 12, 31), "ä/%"),
    ]
    DeltaTable(tmp_path / "t").delete("id = 1")
    assert (1, None, None, None, None) in hr.collect(events.lookup(table, on="id")).rows()


def test_a_version_stays_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    """So what is looked up in it may be taken away again, and sinks behind it are exactly once."""
    put(tmp_path / "t", a="1")
    put(tmp_path / "t", a="2")
    table = hr.lookup.delta(tmp_path / "t", version=0)
    events = hr.read.memory([("a",), ("a",), ("x",)], "k string", name="told")
    counted = events.group_by("k").agg(n="count(*)").lookup(table, on="k")
    assert sorted(hr.collect(counted).rows()) == [("a", 2, "1"), ("x", 1, None)]
    job = hr.job("j", events.lookup(table, on="k").write.files(tmp_path / "out", format="json"))
    job.require("exactly once")
    text = job.explain().facts["lookup"]["told.lookup_t"].text
    assert text.endswith("a row gets the same values whenever it arrives: version 0 of the table never changes")
    newest = events.lookup(hr.lookup.delta(tmp_path / "t"), on="k").write.files(tmp_path / "out", format="json")
    with pytest.raises(HeadraceError, match="the table may have a new version when it is read again"):
        hr.job("k", newest).require("exactly once")


def test_an_empty_table_and_one_without_rows_left(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "t")
    events = hr.read.memory([("a",)], "k string", name="events")
    assert hr.collect(events.lookup(hr.lookup.delta(tmp_path / "t"), on="k")).rows() == [("a", None)]


def test_columns_that_the_table_has_not(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "t", a="1")
    events = hr.read.memory([("a",)], "k string", name="events")

    def collecting(schema: str) -> Any:
        return lambda: hr.collect(events.lookup(hr.lookup.delta(tmp_path / "t", schema=schema), on="k"))

    check_error(
        """
        TABLE_SCHEMA: the table <folder>/t does not fit: it has no column w
          at test_delta.py:*: return lambda: hr.collect(events.lookup(hr.lookup.delta(tmp_path / "t", schema=schema), on="k"))
          hint: it has: k, v
          more: headrace error TABLE_SCHEMA
        """,
        collecting("k string, w string"),
        hide={str(tmp_path): "<folder>"},
    )
    with pytest.raises(HeadraceError, match="its column v is string, not int"):
        collecting("k string, v int")()


def test_there_is_no_table(tmp_path: Path) -> None:
    check_error(
        """
        TABLE_MISSING: there is no Delta table at <folder>/t
          at test_delta.py:*: lambda: hr.lookup.delta(tmp_path / "t"),
          hint: a sink creates the table when its job starts; a source needs an existing one
          more: headrace error TABLE_MISSING
        """,
        lambda: hr.lookup.delta(tmp_path / "t"),
        hide={str(tmp_path): "<folder>"},
    )


def test_a_script_and_yaml(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without columns the table says which it has."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "t", a="1")
    put(tmp_path / "t", a="2")
    Path("told.json").write_text('{"k": "a"}\n')
    Path("job.sql").write_text("""
        CREATE SOURCE told (k STRING) WITH (connector = 'files', path = 'told.json', format = 'json');
        CREATE LOOKUP newest WITH (connector = 'delta', path = 't', refresh = '1 hour');
        CREATE LOOKUP first (k STRING, v STRING) WITH (connector = 'delta', path = 't', version = 0);
        CREATE SINK out WITH (connector = 'files', path = 'out', format = 'json');
        INSERT INTO out SELECT told.k, n.v, f.v AS w FROM told
            LEFT JOIN newest FOR SYSTEM_TIME AS OF PROCTIME() n ON told.k = n.k
            LEFT JOIN first FOR SYSTEM_TIME AS OF PROCTIME() f ON told.k = f.k;
    """)
    Path("job.yaml").write_text("""
job: again
sources:
  told: {connector: files, path: told.json, format: json, schema: k string}
lookups:
  newest: {connector: delta, path: t, refresh: 1 hour}
  first: {connector: delta, path: t, schema: "k string, v string", version: 0}
views:
  found:
    from: told
    steps:
      - lookup: {table: newest, on: k}
      - rename: {v: n}
      - lookup: {table: first, on: k}
      - select: [k, {v: n}, {w: v}]
sinks:
  again: {from: found, connector: files, path: again, format: json}
""")
    for file, folder in (("job.sql", "out"), ("job.yaml", "again")):
        hr.load(file).run(progress=False)
        lines = [line for one in Path(folder).glob("*.json") for line in one.read_text().splitlines()]
        assert lines == ['{"k":"a","v":"2","w":"1"}']
