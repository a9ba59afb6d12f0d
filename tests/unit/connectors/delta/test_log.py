"""The log of a Delta table as a source reads it, against the table that deltalake itself reads."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace.connectors.delta.log import Log
from headrace.connectors.delta.place import Place
from tests.scale import FULL
from tests.unit.errors import check_error


def log(folder: Path, **overrides: Any) -> Log:
    settings: dict[str, Any] = {"start": None, "changes": False, "follow": True, "limit": None, "time_zone": "UTC", **overrides}
    return Log(Place(str(folder), {}), settings.pop("start"), **settings)


def write(folder: Path, values: dict[int, int], **more: Any) -> None:
    write_deltalake(
        folder, pa.table({"k": pa.array(values, pa.int64()), "n": pa.array(values.values(), pa.int64())}), mode="append", **more
    )


def net(files: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """The rows of files with their weights, as the kernel would add them up."""
    weights: Counter[tuple[Any, ...]] = Counter()
    for file in files:
        change = "_change_type" if file["change"] == "rows" else f"'{file['change']}'"
        for *row, word in duckdb.sql(f"SELECT k, n, {change} FROM read_parquet('{file['path']}')").fetchall():
            weights[tuple(row)] += -1 if word in ("delete", "update_preimage") else 1
    return weights


def read(source: Log, start: Any = None) -> tuple[list[dict[str, Any]], Any]:
    end = source.latest(start)
    return ([], start) if end is None else (source.files(start, end), end)


def contents(folder: Path) -> Counter[tuple[Any, ...]]:
    files = DeltaTable(folder).file_uris()
    return Counter(duckdb.sql(f"SELECT k, n FROM read_parquet({files!r})").fetchall() if files else [])


def test_what_is_there_then_what_comes(tmp_path: Path) -> None:
    write(tmp_path, {1: 1, 2: 2})
    write(tmp_path, {3: 3})
    source = log(tmp_path)
    first, at = read(source)
    assert net(first) == contents(tmp_path) and at["version"] == 2
    assert source.latest(at) is None
    write(tmp_path, {4: 4})
    second, end = read(source, at)
    assert net(second) == Counter([(4, 4)])
    assert log(tmp_path).files(at, end) == second, "another process reads the same files"
    assert log(tmp_path).files(None, at) == first, "and begins where the first one did"
    assert log(tmp_path).waiting(at) == 1 and log(tmp_path).waiting(end) == 0 and log(tmp_path).waiting(None) == 3


def test_bounded_reading_ends_where_the_table_did_at_the_start(tmp_path: Path) -> None:
    write(tmp_path, {1: 1})
    source = log(tmp_path, follow=False)
    write(tmp_path, {2: 2})
    files, at = read(source)
    assert net(files) == Counter([(1, 1)]) and source.latest(at) is None


@pytest.mark.parametrize("start", [2, "latest", "1999-01-01", None])
def test_where_reading_begins(tmp_path: Path, start: Any) -> None:
    for n in range(4):
        write(tmp_path, {n: n})
    source = log(tmp_path, start=start)
    files, at = read(source)
    expected = {2: {(2, 2), (3, 3)}, "latest": set(), "1999-01-01": {(n, n) for n in range(4)}, None: {(n, n) for n in range(4)}}[start]
    assert set(net(files)) == expected
    write(tmp_path, {9: 9})
    # A later process goes on there, also if it has read nothing yet.
    assert net(read(log(tmp_path, start=start), at)[0]) == Counter([(9, 9)])


@pytest.mark.parametrize(("time_zone", "rows"), [("Asia/Tokyo", 2), ("UTC", 0)])
def test_a_time_without_a_zone_is_in_the_jobs(tmp_path: Path, time_zone: str, rows: int) -> None:
    """An hour ago in Tokyo is eight hours ahead of UTC."""
    for n in range(2):
        write(tmp_path, {n: n})
    hour_ago = datetime.now(ZoneInfo("Asia/Tokyo")).replace(tzinfo=None) - timedelta(hours=1)
    files, _ = read(log(tmp_path, start=str(hour_ago), time_zone=time_zone))
    assert net(files).total() == rows


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_an_epoch_takes_so_many_files(tmp_path: Path, limit: int) -> None:
    for n in range(5):
        write(tmp_path, {n: n})
    DeltaTable(tmp_path).optimize.compact()
    for n in range(5, 9):
        write(tmp_path, {n: n})
    source, at, files_read = log(tmp_path, start=0, limit=limit), None, []
    while True:
        files, end = read(source, at)
        if end == at:
            break
        assert len(files) <= limit and log(tmp_path, start=0, limit=limit).files(at, end) == files
        files_read, at = files_read + files, end
    assert net(files_read) == contents(tmp_path) and len(files_read) == 9


def test_rows_that_go_are_an_error_where_rows_only_come(tmp_path: Path) -> None:
    write(tmp_path, {1: 1, 2: 2})
    source = log(tmp_path)
    _, at = read(source)
    DeltaTable(tmp_path).delete("k = 1")
    check_error(
        f"TABLE_CHANGED: version 1 of {tmp_path} deletes or updates rows, but the source reads inserted rows only\n"
        "  hint: read the changes: hr.read.delta(..., changes=True)\n"
        "  more: headrace error TABLE_CHANGED",
        lambda: read(source, at),
    )


@pytest.mark.parametrize("feed", ["false", "true"])
@pytest.mark.parametrize("seed", range(6 if FULL else 1))
def test_random_changes(tmp_path: Path, feed: str, seed: int) -> None:
    chance = random.Random(seed)
    write(tmp_path, dict.fromkeys(range(6), 0), configuration={"delta.enableChangeDataFeed": feed})
    start = chance.choice([None, 0])
    source = log(tmp_path, start=start, changes=True, limit=chance.choice([None, 1, 2]))
    weights: Counter[tuple[Any, ...]] = Counter()
    at = None
    for number in range(1, 20):
        table = DeltaTable(tmp_path)
        k = chance.randrange(8)
        match chance.randrange(6):
            case 0:
                table.delete(f"k = {k}")
            case 1:
                table.update(updates={"n": str(number)}, predicate=f"k <= {k}")
            case 2:
                table.optimize.compact()
            case 3:
                rows = pa.table({"k": pa.array([k, k + 1], pa.int64()), "n": pa.array([number, number], pa.int64())})
                merging = table.merge(rows, "old.k = new.k", source_alias="new", target_alias="old")
                merging.when_matched_update_all().when_not_matched_insert_all().execute()
            case _:
                write(tmp_path, {k: number})
        if chance.random() < 0.5:
            source = log(tmp_path, start=start, changes=True) if chance.random() < 0.3 else source
            while (end := source.latest(at)) is not None:
                weights.update(net(source.files(at, end)))
                at = end
            assert +weights == weights and {row: n for row, n in weights.items() if n} == contents(tmp_path)


def test_a_version_that_was_cleaned_up(tmp_path: Path) -> None:
    write(tmp_path, {1: 1})
    source = log(tmp_path, changes=True)
    _, at = read(source)
    DeltaTable(tmp_path).update(updates={"n": "5"}, predicate="k = 1")
    gone = set(DeltaTable(tmp_path, version=0).file_uris()) - set(DeltaTable(tmp_path).file_uris())
    DeltaTable(tmp_path).update(updates={"n": "6"}, predicate="k = 1")
    DeltaTable(tmp_path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    (name,) = (Path(path).name for path in gone)
    check_error(
        f"VERSION_GONE: version 1 of {tmp_path} refers to deleted files: {name} and others\n"
        "  hint: it was cleaned up before it was read: start over with fresh=True, and keep old versions for longer\n"
        "  more: headrace error VERSION_GONE",
        lambda: read(log(tmp_path, changes=True), at),
    )
    (tmp_path / "_delta_log" / f"{1:020}.json").unlink()
    check_error(
        f"VERSION_GONE: version 1 of {tmp_path} is no longer in the table's log\n"
        "  hint: it was cleaned up before it was read: start over with fresh=True, and keep old versions for longer\n"
        "  more: headrace error VERSION_GONE",
        lambda: source.files(at, {**at, "version": 3}),
    )


def test_another_table_in_its_place(tmp_path: Path) -> None:
    write(tmp_path / "a", {1: 1})
    write(tmp_path / "b", {1: 1})
    _, at = read(log(tmp_path / "a"))
    check_error(
        f"TABLE_REPLACED: {tmp_path}/b is not the table that the checkpoint has read\n"
        "  hint: start over with fresh=True, or give the job the table that it read\n"
        "  more: headrace error TABLE_REPLACED",
        lambda: log(tmp_path / "b").latest(at),
    )


def test_each_file_has_its_partition_values(tmp_path: Path) -> None:
    rows = pa.table({"k": [1, 2, 3], "p": pa.array(["x y", None, "ä/%"]), "d": pa.array([0, 1, -400], pa.date32())})
    write_deltalake(tmp_path, rows, partition_by=["p", "d"])
    whole, _ = read(log(tmp_path))
    versions, _ = read(log(tmp_path, start=0))
    expected = [{"p": "x y", "d": "1970-01-01"}, {"d": "1970-01-02"}, {"p": "ä/%", "d": "1968-11-27"}]
    for files in (whole, versions):
        assert sorted(sorted(file["values"].items()) for file in files) == sorted(sorted(values.items()) for values in expected)
        assert all(Path(file["path"].removeprefix("file://")).exists() for file in files)
