"""Files that change after they were read: each is one dead letter, and what they have now is not read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from tests import mutated
from tests.spark.engine.jobs import lines

pytestmark = pytest.mark.usefixtures("spark")

FORMATS = ("json", "csv", "parquet")


def write(file: Path, *numbers: int) -> Path:
    """A file of numbers, in the format of its ending, whole at once."""
    made = file.with_name("_made")
    if file.suffix == ".json":
        made.write_text("".join(json.dumps({"n": n}) + "\n" for n in numbers))
    elif file.suffix == ".csv":
        made.write_text("n\n" + "".join(f"{n}\n" for n in numbers))
    else:
        pq.write_table(pa.table({"n": numbers}), made)
    return made.rename(file)


def job(folder: Path, *formats: str, **options: Any) -> hr.Job:
    sinks = []
    for format in formats:
        read = hr.read.files(folder / format, format=format, schema="n bigint", name=f"of_{format}", **options)
        sinks.append(read.write.files(folder / f"out_{format}", format="json", name=f"out_{format}"))
    return hr.job("changed", *sinks)


def run(folder: Path, *formats: str, **options: Any) -> hr.Summary:
    return job(folder, *formats, **options).run(checkpoint=folder / "ck", progress=False)


def out(folder: Path, format: str) -> list[int]:
    return sorted(row["n"] for row in lines(folder / f"out_{format}"))


def counts(summary: hr.Summary) -> list[tuple[int, int, int, int]]:
    return [(one.read, one.rows, one.malformed, one.broken) for one in summary.sources]


def test_a_file_that_changed_between_runs_is_one_dead_letter(tmp_path: Path) -> None:
    """One has grown, one is shorter, one is new, in each format; what changes later makes no further letter."""
    for format in FORMATS:
        (tmp_path / format).mkdir()
        write(tmp_path / format / f"1.{format}", 1, 2)
        write(tmp_path / format / f"2.{format}", 3, 4, *range(100, 3000))
    read = 2904
    assert counts(run(tmp_path, *FORMATS)) == [(read, read, 0, 0)] * 3

    sizes = {}
    for format in FORMATS:
        for name, numbers in (("1", range(1, 2000)), ("2", [3])):
            before = (tmp_path / format / f"{name}.{format}").stat().st_size
            sizes[f"{name}.{format}"] = before, write(tmp_path / format / f"{name}.{format}", *numbers).stat().st_size
        write(tmp_path / format / f"3.{format}", 5)
    summary = run(tmp_path, *FORMATS)
    assert counts(summary) == [(read + 1, read + 1, 0, 2)] * 3
    letters = mutated.letters(tmp_path / "ck")
    assert {name: [letter["reason"] for letter in found] for name, found in letters.items()} == {
        name: [f"FILE_CHANGED: it had {was} bytes when it was read and has {now} now; what has changed since is not read"]
        for name, (was, now) in sizes.items()
    }
    assert all(letter["node"] == f"of_{letter['file'].rpartition('.')[2]}" for found in letters.values() for letter in found)

    for format in FORMATS:
        write(tmp_path / format / f"1.{format}", *range(1, 3000))
    assert counts(run(tmp_path, *FORMATS)) == counts(summary)
    assert mutated.letters(tmp_path / "ck") == letters
    for format in FORMATS:
        assert out(tmp_path, format) == [1, 2, 3, 4, 5, *range(100, 3000)]


def test_a_file_that_grows_in_a_folder_that_is_followed(tmp_path: Path) -> None:
    (tmp_path / "json").mkdir()
    write(tmp_path / "json" / "1.json", 1)
    running = job(tmp_path, "json", follow=True).start(checkpoint=tmp_path / "ck", progress=False)
    try:
        for expected, numbers in ((1, (2, 3)), (2, (3, 4))):
            while len(lines(tmp_path / "out_json")) < expected and running.error is None:
                running.wait(0.2)
            with (tmp_path / "json" / "1.json").open("a") as file:
                file.write('{"n": 9}\n')
            write(tmp_path / "json" / f"{numbers[0]}.json", numbers[0])
        while len(lines(tmp_path / "out_json")) < 3 and running.error is None:
            running.wait(0.2)
    finally:
        running.stop()
    summary = running.wait()
    assert summary is not None and counts(summary) == [(3, 3, 0, 1)]
    assert out(tmp_path, "json") == [1, 2, 3]


def test_a_file_that_grows_while_its_epoch_is_pending_is_read_whole(tmp_path: Path) -> None:
    """No sink has the epoch: it is read anew, and nothing has changed since then. Where one has it, the change is told."""
    (tmp_path / "json").mkdir()
    write(tmp_path / "json" / "1.json", 1)
    found: list[list[int]] = []
    fails = True

    def keep(frame: Any, epoch: int) -> None:
        rows = sorted(row["n"] for row in frame.collect())
        if fails:
            raise ValueError("not now")
        found.append(rows)

    def run(*more: str) -> hr.Summary:
        read = hr.read.files(tmp_path / "json", format="json", schema="n bigint", name="of_json")
        # sinks commit in the order of the job
        sinks = [read.write.files(tmp_path / name, format="json", name=name) for name in more]
        return hr.job("pending", *sinks, read.write.foreach_batch(keep, name="kept")).run(checkpoint=tmp_path / "ck", progress=False)

    with pytest.raises(hr.HeadraceError, match="not now"):
        run("out_json")
    first = out(tmp_path, "json")
    write(tmp_path / "json" / "1.json", 1, 2)
    fails = False
    summaries = [run("out_json"), run("out_json")]
    assert [row for rows in found for row in rows] == [1, 2]
    assert first == out(tmp_path, "json") == [1]
    assert [one.sources[0].broken for one in summaries] == [1, 1]
