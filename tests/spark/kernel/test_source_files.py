"""The files source: order, epochs of a given size, files that come later, restarts, positions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import input_file_name

Read = Callable[..., list[list[tuple[Any, ...]]]]


@pytest.fixture
def read(spark: SparkSession, tmp_path: Path) -> Read:
    """Reads all there is to its end and gives the epochs, each as its rows (file name, position, rest)."""

    def read(folder: Path, reader: str = "lines", **options: str) -> list[list[tuple[Any, ...]]]:
        epochs: list[list[tuple[Any, ...]]] = []

        def keep(frame: Any, epoch: int) -> None:
            collected = frame.select("*", input_file_name().alias("file")).collect()
            # of a whole file that is not read, why
            broken = [(row["_file"].rsplit("/", 1)[1], row["_broken"]) for row in collected if row["_broken"] is not None]
            rows = [(row["file"].rsplit("/", 1)[1], row["_position"], *row[: len(row) - 4]) for row in collected if row["_broken"] is None]
            epochs.append(sorted(rows + broken, key=repr))

        stream = spark.readStream.format("headrace.source.Files").options(path=str(folder), reader=reader, **options).load()
        query = stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        return epochs

    return read


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in ü put"
    folder.mkdir()
    for number, name in enumerate(("b.txt", "a b.txt", "c.txt")):
        (folder / name).write_text(f"{name} 1\n{name} 2\n")
        os.utime(folder / name, (1_000_000 + number, 1_000_000 + number))
    (folder / "_hidden.txt").write_text("hidden\n")
    return folder


def names(epochs: list[list[tuple[Any, ...]]]) -> list[list[str]]:
    return [sorted({row[0] for row in epoch}) for epoch in epochs]


def test_by_name_in_epochs_of_two_files(read: Read, folder: Path) -> None:
    assert names(read(folder, by="name", limit="2")) == [["a%20b.txt", "b.txt"], ["c.txt"]]


def test_by_time(read: Read, folder: Path) -> None:
    assert names(read(folder, by="time", limit="1")) == [["b.txt"], ["a%20b.txt"], ["c.txt"]]


def test_lines_carry_the_byte_at_which_they_start(read: Read, folder: Path) -> None:
    (rows,) = read(folder / "b.txt")
    assert rows == [("b.txt", 0, bytearray(b"b.txt 1")), ("b.txt", 8, bytearray(b"b.txt 2"))]


def test_a_later_file_is_read_after_a_restart_also_if_its_name_comes_before(read: Read, folder: Path) -> None:
    assert len(read(folder)[0]) == 6
    (folder / "a.txt").write_text("new\n")
    assert read(folder) == [[("a.txt", 0, bytearray(b"new"))]]
    assert read(folder) == []


def test_a_pattern_and_a_list_of_files(read: Read, folder: Path) -> None:
    assert names(read(folder / "[bc].txt", pattern="true")) == [["b.txt", "c.txt"]]
    (folder / "d.txt").write_text("d\n")
    listed = json.dumps([f"file://{folder / name}" for name in ("d.txt", "a b.txt")])
    assert names(read(folder, files=listed, limit="1")) == [["d.txt"], ["a%20b.txt"]]


def test_names_that_look_like_patterns(read: Read, folder: Path) -> None:
    for name in ("b [1].txt", "{a,b}*.txt"):
        (folder / name).write_text("x\n")
    epochs = read(folder)
    assert [len(epoch) for epoch in epochs] == [8]
    assert names(epochs) == [["%7Ba,b%7D*.txt", "a%20b.txt", "b%20%5B1%5D.txt", "b.txt", "c.txt"]]


def test_parquet_rows_carry_their_index(spark: SparkSession, read: Read, tmp_path: Path) -> None:
    spark.range(3).selectExpr("id", "id * 2 as `twice as much`").coalesce(1).write.parquet(str(tmp_path / "table"))
    (rows,) = read(tmp_path / "table", "parquet", ddl="id bigint, `twice as much` bigint")
    assert [row[1:] for row in rows] == [(0, 0, 0), (1, 1, 2), (2, 2, 4)]


@pytest.mark.parametrize(
    ("lost", "why"),
    [
        ("0", "the log of files that were read, file:{log}, lacks epoch 0 "),
        ("2", "{log} names the files of epochs up to 1, and .* up to 2"),
    ],
)
def test_a_log_of_files_that_lacks_an_epoch(read: Read, folder: Path, tmp_path: Path, lost: str, why: str) -> None:
    assert len(read(folder, limit="1")) == 3
    (log,) = (tmp_path / "checkpoint" / "sources").iterdir()
    (log / lost).unlink()
    (folder / "d.txt").write_text("d\n")
    with pytest.raises(StreamingQueryException, match=why.format(log=log)):
        read(folder, limit="1")


def changed(was: int, length: int) -> str:
    return f"FILE_CHANGED: it had {was} bytes when it was read and has {length} now; what has changed since is not read"


@pytest.mark.parametrize("limit", [{}, {"limit": "1"}])
def test_a_file_that_changed_makes_one_row(read: Read, folder: Path, limit: dict[str, str]) -> None:
    """Beside new files; what changes later is not told again, also where nothing else is new."""
    read(folder, **limit)
    (folder / "b.txt").write_text("b.txt 1\nb.txt 2\nb.txt 3\n")
    (folder / "c.txt").write_text("c.txt 1\n")
    (folder / "d.txt").write_text("d\n")
    expected = [("b.txt", changed(16, 24)), ("c.txt", changed(16, 8)), ("d.txt", 0, bytearray(b"d"))]
    assert [row for epoch in read(folder, **limit) for row in epoch] == expected
    (folder / "b.txt").write_text("b.txt 1\n")
    assert read(folder, **limit) == []
    (folder / "d.txt").write_text("")
    assert read(folder, **limit) == [[("d.txt", changed(2, 0))]]


def test_a_log_without_lengths_says_nothing_of_changes(read: Read, folder: Path, tmp_path: Path) -> None:
    read(folder)
    (log,) = (tmp_path / "checkpoint" / "sources").iterdir()
    names = ("a%20b.txt", "b.txt", "c.txt")
    entries = [json.dumps({"path": f"file://{str(folder).replace(' ', '%20')}/{name}", "batchId": 0}) for name in names]
    (log / "0").write_text("\n".join(["v2", *entries, ""]), encoding="utf-8")
    for beside in log.glob(".*.crc"):
        beside.unlink()
    (folder / "b.txt").write_text("b.txt 1\nb.txt 2\nb.txt 3\n")
    assert read(folder) == []


@pytest.mark.parametrize(("lost", "anew"), [("commits", "true"), ("commits offsets", "false")])
def test_a_file_that_changes_before_its_epoch_is_written(read: Read, folder: Path, tmp_path: Path, lost: str, anew: str) -> None:
    """Killed before the epoch's end, or between the log of files and that of offsets: what is read in the end is what the log says."""
    forget_the_last(folder, read, tmp_path, lost)
    (folder / "c.txt").write_text("c.txt 1\nc.txt 2\nc.txt 3\n")
    (folder / "d.txt").write_text("d\n")
    whole = [("c.txt", at, b"c.txt %d" % (1 + at // 8)) for at in (0, 16, 8)]
    pending = "true" if lost == "commits" else "false"
    assert [row for epoch in read(folder, pending=pending, anew=anew) for row in epoch] == [*whole, ("d.txt", 0, b"d")]
    (folder / "c.txt").write_text("c\n")
    assert read(folder) == [[("c.txt", changed(24, 2))]]


@pytest.mark.parametrize("broken", ["fail", "skip"])
def test_a_file_of_an_epoch_that_a_sink_has_already(read: Read, folder: Path, tmp_path: Path, broken: str) -> None:
    """Others would get other rows. So it is also where nobody has looked before the start, as in a store."""
    forget_the_last(folder, read, tmp_path, "commits")
    there = (folder / "c.txt").read_text()
    (folder / "c.txt").write_text("c.txt 1\nc.txt 2\nc.txt 3\n")
    ends = "its epoch was interrupted after a sink had written it"
    with pytest.raises(StreamingQueryException, match=f"/c.txt had 16 bytes when it was read and has 24 now; {ends}"):
        read(folder, pending="true", broken=broken)
    (folder / "c.txt").unlink()
    with pytest.raises(StreamingQueryException, match=f"/c.txt was deleted after it was read; {ends}"):
        read(folder, pending="true", broken=broken)
    (folder / "c.txt").write_text(there)
    assert names(read(folder, pending="true", broken=broken)) == [["c.txt"]]


def forget_the_last(folder: Path, read: Read, tmp_path: Path, logs: str) -> None:
    """Reads three epochs; of the last one these logs of Spark's know nothing."""
    read(folder, limit="1")
    for log in logs.split():
        for file in (tmp_path / "checkpoint" / log).glob("*2*"):
            file.unlink()
