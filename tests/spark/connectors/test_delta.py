"""Delta tables in whole jobs: what is written is what was read, whatever reads it."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import headrace as hr
from headrace.errors import HeadraceError
from tests.scale import FULL
from tests.unit.connectors.delta.tasks import data_files, live_files, rows_of
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

TYPES = (
    "id bigint, b boolean, y tinyint, h smallint, i int, f float, d double, s string, x binary, m decimal(10,2), l decimal(38,18), "
    "da date, t timestamp, n timestamp_ntz, a array<struct<p: int, q: string>>, k map<string, decimal(5,1)>, "
    "z struct<deep: struct<at: timestamp, list: array<date>>, `a b`: string>, `odd, näme` string"
)
OLD = dt.datetime(1582, 10, 4, 23, 59, 59, 999999)
NEW = dt.datetime(2026, 7, 1, 12, 30, 0, 1)


def everything(number: int) -> tuple[Any, ...]:
    moment = OLD if number % 2 else NEW
    aware = moment.replace(tzinfo=dt.UTC)
    if number % 5 == 4:
        return (number, *[None] * 17)
    return (
        number,
        number % 2 == 0,
        -128,
        -32768,
        -(2**31),
        1.5,
        [float("inf"), -0.0, 5e-324][number % 3],
        ["", "ä\U0001f600'\"\\\n", "x" * 5000][number % 3],
        b"\x00\xff",
        Decimal("-99999999.99"),
        Decimal("12345678901234567890.123456789012345678"),
        moment.date(),
        aware,
        moment,
        [(1, "a"), None, (None, None)] if number % 3 else [],
        {"a": Decimal("1.5"), "": None},
        ((aware, [moment.date(), None]), None),
        "%/= #?",
    )


@pytest.mark.parametrize("by", [pytest.param((), marks=pytest.mark.full), ("y", "da", "odd, näme"), ("t", "l", "b", "n")])
def test_values_of_all_types_come_back(tmp_path: Path, by: tuple[str, ...]) -> None:
    values = [everything(number) for number in range(10)]
    rows = hr.read.memory(values, TYPES, name="rows")
    hr.job("types", rows.write.delta(tmp_path / "t", partition_by=by)).run(checkpoint=tmp_path / "c", progress=False)
    back = hr.read.delta(tmp_path / "t", name="back")
    assert sorted(map(repr, hr.collect(back).rows())) == sorted(map(repr, hr.collect(rows).rows()))
    # and to a reader that has nothing to do with Spark
    arrow_rows = DeltaTable(tmp_path / "t").to_pyarrow_table().sort_by("id").to_pylist()
    for row, expected in zip(arrow_rows, values, strict=True):
        assert (row["l"], row["da"], row["s"], row["odd, näme"]) == (expected[10], expected[11], expected[7], expected[17])
        assert (row["t"] and row["t"].astimezone(dt.UTC), row["n"]) == (expected[12], expected[13])


def lay(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{number:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_random_changes_upserted_appended_and_written_as_changes(tmp_path: Path) -> None:
    """Three tables of one query, stopped and started in between, against a dict."""
    chance = random.Random(11)
    live: Counter[tuple[str, int]] = Counter()

    def job() -> hr.Job:
        source = hr.read.files(
            tmp_path / "in", format="json", schema="op string, k string, n int", change_column="op", files_per_epoch=1, name="rows"
        )
        sums = source.group_by("k").agg(n="count(*)", s="sum(n)")
        return hr.job(
            "changes",
            sums.write.delta(tmp_path / "sums", key="k", name="sums", properties={"delta.enableChangeDataFeed": "true"}),
            sums.write.delta(tmp_path / "changes", mode="changes", name="changes", compact_every=2),
            sums.write.delta(tmp_path / "parts", key="k", partition_by="n", name="parts"),
        )

    number = 0
    for _ in range(3 if FULL else 2):
        for _ in range(3 if FULL else 2):
            rows = []
            for _ in range(chance.randrange(1, 8)):
                if live and chance.random() < 0.4:
                    row = chance.choice(sorted(live.elements()))
                    live[row] -= 1
                    rows.append(("delete", row))
                else:
                    row = (chance.choice(["a", "b", "ä c"]), chance.randrange(5))
                    live[row] += 1
                    rows.append(("insert", row))
                live += Counter()
            lay(tmp_path / "in", number, [{"op": op, "k": k, "n": n} for op, (k, n) in rows])
            number += 1
        job().run(checkpoint=tmp_path / "c", flush=False, progress=False)
        expected = {}
        for k, n in live.elements():
            count, total = expected.get(k, (0, 0))
            expected[k] = (count + 1, total + n)
        wanted = sorted((k, *numbers) for k, numbers in expected.items())
        assert sorted(rows_of(tmp_path / "sums")) == wanted
        parts = DeltaTable(tmp_path / "parts").to_pyarrow_table().to_pylist()
        assert sorted((row["k"], row["n"], row["s"]) for row in parts) == wanted
        net: Counter[tuple[Any, ...]] = Counter()
        for *row, change in rows_of(tmp_path / "changes"):
            net[tuple(row)] += 1 if change == "insert" else -1
        assert sorted((+net).elements()) == wanted and all(n >= 0 for n in net.values())
    # the feed of changes, and what can be told without one, are the same changes
    for table in ("sums", "parts"):
        read = hr.read.delta(tmp_path / table, changes=True, start=0, name="read")
        assert sorted(hr.collect(read.select("k", "n", "s")).rows()) == wanted


def test_a_job_follows_a_table(tmp_path: Path) -> None:
    def add(*values: tuple[int, str]) -> None:
        table = pa.table({"n": pa.array([n for n, _ in values], pa.int64()), "p": pa.array([p for _, p in values])})
        write_deltalake(tmp_path / "in", table, mode="append", partition_by=["p"])

    def run() -> hr.Summary:
        rows = hr.read.delta(tmp_path / "in", changes=True, files_per_epoch=2, name="rows")
        sums = rows.group_by("p").agg(s="sum(n)", c="count(*)")
        return hr.job("sums", sums.write.delta(tmp_path / "out", key="p")).run(checkpoint=tmp_path / "c", flush=False, progress=False)

    def check() -> None:
        groups: dict[str, list[int]] = {}
        for row in DeltaTable(tmp_path / "in").to_pyarrow_table().to_pylist():
            groups.setdefault(row["p"], []).append(row["n"])
        assert sorted(rows_of(tmp_path / "out")) == sorted((p, sum(ns), len(ns)) for p, ns in groups.items())

    add((1, "a"), (2, "b"), (3, "c d"))
    assert run().epochs == 2
    check()
    assert run().epochs == 0
    add((4, "a"))
    DeltaTable(tmp_path / "in").update(updates={"n": "n * 10"}, predicate="p = 'a'")
    DeltaTable(tmp_path / "in").delete("n = 2")
    DeltaTable(tmp_path / "in").optimize.compact()
    run()
    check()
    DeltaTable(tmp_path / "in").vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    run()
    check()
    DeltaTable(tmp_path / "in").update(updates={"n": "0"})
    DeltaTable(tmp_path / "in").update(updates={"n": "1"})
    DeltaTable(tmp_path / "in").vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(HeadraceError) as raised:
        run()
    assert raised.value.code == "VERSION_GONE" and str(tmp_path / "in") in raised.value.message
    assert raised.value.hint == "start over with fresh=True, and keep the table's old versions for longer than the job may be stopped"


def test_a_sealed_job_knows_of_new_versions(tmp_path: Path) -> None:
    at = pa.array([0], pa.timestamp("us", "UTC"))
    write_deltalake(tmp_path / "in", pa.table({"n": [1], "at": at}))

    def run() -> hr.Summary:
        rows = hr.read.delta(tmp_path / "in", name="the rows").watermark("at", "1 second")
        counted = rows.group_by("n", expires="1 day").agg(rows="count(*)")
        return hr.job("copy", counted.write.memory()).run(checkpoint=tmp_path / "c", progress=False)

    run()
    assert run().sealed
    write_deltalake(tmp_path / "in", pa.table({"n": [2], "at": at}), mode="append")
    with pytest.raises(HeadraceError, match=r"the rows \(1 new\) has new input"):
        run()


def test_columns_that_come_later(tmp_path: Path) -> None:
    def run(ddl: str, row: dict[str, Any], number: int, **more: Any) -> None:
        lay(tmp_path / f"in{number}", 0, [row])
        rows = hr.read.files(tmp_path / f"in{number}", format="json", schema=ddl, name="rows")
        hr.job(f"job{number}", rows.write.delta(tmp_path / "t", **more)).run(checkpoint=tmp_path / f"c{number}", progress=False)

    run("a int", {"a": 1}, 0)
    run("a int, b struct<c: date>", {"a": 2, "b": {"c": "1969-12-31"}}, 1, schema="add")
    run("a int", {"a": 3}, 2)
    expected = [(1, None), (2, {"c": dt.date(1969, 12, 31)}), (3, None)]
    assert sorted(rows_of(tmp_path / "t"), key=str) == expected
    assert sorted(hr.collect(hr.read.delta(tmp_path / "t")).rows()) == [(1, None), (2, (dt.date(1969, 12, 31),)), (3, None)]
    for ddl, row, message, hint in (
        ("a bigint", {"a": 1}, "its column a is int, not bigint", 'with_columns(a="cast(a as int)")'),
        ("A int", {"A": 1}, "its column a is spelled A here", "rename({'A': 'a'})"),
        ("a int, c int", {"a": 1}, "it has no column c", 'schema="add" adds columns to a table'),
    ):
        with pytest.raises(HeadraceError) as raised:
            run(ddl, row, 3)
        line = 'hr.job(f"job{number}", rows.write.delta(tmp_path / "t", **more)).run(checkpoint=tmp_path / f"c{number}", progress=False)'
        text = f"TABLE_SCHEMA: the table {tmp_path}/t does not fit: {message}\n  at test_delta.py:*: {line}\n  hint: {hint}\n"
        text += "  more: headrace error TABLE_SCHEMA"
        check_error(text, raised.value)


def test_an_epoch_that_another_sink_refused_is_written_once(tmp_path: Path) -> None:
    lay(tmp_path / "in", 0, [{"n": n, "m": n} for n in range(10)])
    lay(tmp_path / "in", 1, [{"n": 0, "m": 0}])
    rows = hr.read.files(tmp_path / "in", format="json", schema="n int, m int", files_per_epoch=1, name="rows")
    out = rows.write.delta(tmp_path / "t", partition_by="n")
    odd = rows.write.files(tmp_path / "f", format="json")
    with pytest.MonkeyPatch.context() as patch:
        # Epoch 1 is staged by all tasks, and the other sink then refuses it.
        from headrace.connectors.files import Sink as Files

        commit = Files.commit
        patch.setattr(Files, "commit", lambda sink, epoch, staged: commit(sink, epoch, staged) if epoch == 0 else 1 / 0)
        with pytest.raises(HeadraceError, match="SINK_FAILED"):
            hr.job("two", odd, out).run(checkpoint=tmp_path / "c", progress=False)
    again = [rows.write.files(tmp_path / "f", format="json"), rows.write.delta(tmp_path / "t", partition_by="n")]
    hr.job("two", *again).run(checkpoint=tmp_path / "c", progress=False)
    assert data_files(tmp_path / "t") == live_files(tmp_path / "t")
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().num_rows == 11


def test_what_is_refused_when_built(tmp_path: Path) -> None:
    rows = hr.read.memory([("a", 1)], "k string, n int", name="rows")
    for options, message, hint in (
        ({"partition_by": "q"}, "partition_by names `q`, which is not a column", "the stream has: k, n"),
        (
            {"vacuum": "5 minutes"},
            "vacuum cannot be '5 minutes'",
            "it is at least an hour, because readers may still use the files",
        ),
        ({"schema": "ad"}, "schema cannot be 'ad'", "did you mean 'add'? It is one of: keep, add"),
        (
            {"storage_options": {"AWS_SECRET_ACCESS_KEY": "s3cr3t"}},
            "AWS_SECRET_ACCESS_KEY must be a secret, given by its name",
            'plans are stored and shown, so pass a secret by its name: AWS_SECRET_ACCESS_KEY=hr.secret("DB_PASSWORD"), '
            "in YAML AWS_SECRET_ACCESS_KEY: {env: DB_PASSWORD}",
        ),
    ):
        with pytest.raises(HeadraceError) as raised:
            rows.write.delta(tmp_path / "t", **options)
        assert (raised.value.code, raised.value.message, raised.value.hint) == ("BAD_OPTION", f"write.delta: {message}", hint)
    with pytest.raises(HeadraceError) as raised:
        hr.read.delta(tmp_path / "none")
    assert (raised.value.code, raised.value.message) == ("TABLE_MISSING", f"there is no Delta table at {tmp_path}/none")


def test_secrets_are_stored_by_their_names(tmp_path: Path) -> None:
    rows = hr.read.memory([("a", 1)], "k string, n int", name="rows")
    sink = rows.write.delta("s3://bucket/t", storage_options={"AWS_SECRET_ACCESS_KEY": hr.secret("NOT_THERE"), "AWS_REGION": "eu"})
    job = hr.job("secret", sink)
    (stored,) = [node for node in job.plan.to_json()["nodes"] if node.get("connector") == "delta"]
    assert stored["options"]["storage_options"] == {"AWS_REGION": "eu", "AWS_SECRET_ACCESS_KEY": {"env": "NOT_THERE"}}


def test_a_fresh_start_begins_with_an_empty_table(tmp_path: Path) -> None:
    place = f"file://{tmp_path}/a%20b/t"
    for number, fresh in ((1, False), (2, True), (3, True)):
        rows = hr.read.memory([("a", n) for n in range(number)], "k string, n int", name="rows")
        hr.job("fresh", rows.write.delta(place)).run(checkpoint=tmp_path / "c", fresh=fresh, progress=False)
        assert sorted(rows_of(tmp_path / "a b" / "t")) == [("a", n) for n in range(number)]
    other = hr.read.memory([("b", 1)], "k string, n int", name="other")
    with pytest.raises(HeadraceError, match="TABLE_OWNED"):
        hr.job("fresh", other.write.delta(place)).run(checkpoint=tmp_path / "d", progress=False)
