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
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

FORMATS = ("json", "csv", "parquet")


def write(file: Path, *numbers: int) -> Path:
    """A file of numbers, in the format of its ending, whole at once."""
    unfinished = file.with_name("_made")
    if file.suffix == ".json":
        unfinished.write_text("".join(json.dumps({"n": n}) + "\n" for n in numbers))
    elif file.suffix == ".csv":
        unfinished.write_text("n\n" + "".join(f"{n}\n" for n in numbers))
    else:
        pq.write_table(pa.table({"n": numbers}), unfinished)
    return unfinished.rename(file)


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
    assert {name: [letter["reason"] for letter in source_letters] for name, source_letters in letters.items()} == {
        name: [f"FILE_CHANGED: it had {was} bytes when it was read and has {now} now; what has changed since is not read"]
        for name, (was, now) in sizes.items()
    }
    assert all(
        letter["node"] == f"of_{letter['file'].rpartition('.')[2]}" for source_letters in letters.values() for letter in source_letters
    )

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


class Pending:
    """A job whose last sink, a function, fails until it `works`: an epoch is cut off, with or without sinks that have it."""

    def __init__(self, folder: Path, *sinks: str, **options: Any) -> None:
        self.folder, self.sinks, self.options = folder, sinks, options
        self.works, self.kept = False, list[int]()
        (folder / "json").mkdir()

    def _keep(self, frame: Any, epoch: int) -> None:
        rows = sorted(row["n"] for row in frame.collect())
        if not self.works:
            raise ValueError("not now")
        self.kept += rows

    def job(self) -> hr.Job:
        read = hr.read.files(self.folder / "json", format="json", schema="n bigint", name="of_json", **self.options)
        # sinks commit in the order of the job
        sinks = [read.write.files(self.folder / f"out_{name}", format="json", name=name) for name in self.sinks]
        return hr.job("pending", *sinks, read.write.foreach_batch(self._keep, name="kept"))

    def run(self) -> hr.Summary:
        return self.job().run(checkpoint=self.folder / "ck", progress=False)

    def cut_off(self) -> None:
        with pytest.raises(hr.HeadraceError, match="not now"):
            self.run()
        self.works = True

    def refused(self) -> str:
        """Why a start is refused, which changes nothing; so it is however often it is tried."""
        before = self._content()
        messages = []
        for _ in range(2):
            with pytest.raises(hr.HeadraceError) as raised:
                self.run()
            assert raised.value.code == "FILE_CHANGED"
            messages.append(raised.value.message.replace(str(self.folder), "<folder>"))
        assert self._content() == before
        assert messages[0] == messages[1]
        return messages[0]

    def _content(self) -> dict[Path, bytes]:
        files = (file for part in ("ck", *(f"out_{name}" for name in self.sinks)) for file in (self.folder / part).rglob("*"))
        return {file: file.read_bytes() for file in files if file.is_file() and not file.name.startswith("lock.")}


def test_a_file_that_grows_while_its_epoch_is_pending_is_read_whole(tmp_path: Path) -> None:
    """No sink has the epoch: it is read anew, and nothing has changed since then."""
    pending = Pending(tmp_path)
    write(tmp_path / "json" / "1.json", 1)
    pending.cut_off()
    write(tmp_path / "json" / "1.json", 1, 2)
    assert [pending.run().sources[0].broken for _ in range(2)] == [0, 0]
    assert pending.kept == [1, 2]


@pytest.mark.parametrize("broken_files", ["fail", "skip"])
def test_a_file_of_an_epoch_that_a_sink_has_must_stay_as_it_was(tmp_path: Path, broken_files: str) -> None:
    """Another sink lacks the epoch, and would get other rows."""
    pending = Pending(tmp_path, "json", broken_files=broken_files)
    write(tmp_path / "json" / "1 #%.json", 1)
    write(tmp_path / "json" / "2.json", 2)
    pending.cut_off()
    assert out(tmp_path, "json") == [1, 2]

    write(tmp_path / "json" / "1 #%.json", 1000, 3000)
    check_error(
        """
        FILE_CHANGED: <folder>/json/1 #%.json had 9 bytes when it was read and has 24 now; its epoch was interrupted after a sink had written it
          at test_changed_files.py:*: read = hr.read.files(self.folder / "json", format="json", schema="n bigint", name="of_json", **self.options)
          hint: restore the file and start again; put new rows into new files. fresh=True starts over
          more: headrace error FILE_CHANGED
        """,
        pending.run,
        hide={str(tmp_path): "<folder>"},
    )
    assert "has 24 now" in pending.refused()
    (tmp_path / "json" / "1 #%.json").unlink()
    assert (
        pending.refused() == "<folder>/json/1 #%.json was deleted after it was read; its epoch was interrupted after a sink had written it"
    )

    write(tmp_path / "json" / "1 #%.json", 1)
    write(tmp_path / "json" / "3.json", 3)
    summary = pending.run()
    assert out(tmp_path, "json") == pending.kept == [1, 2, 3]
    assert counts(summary) == [(3, 3, 0, 0)] and dict(summary.sinks) == {"json": 3, "kept": 3}


def test_a_file_that_changes_once_all_sinks_have_its_epoch(tmp_path: Path) -> None:
    """Spark's log lacks the end of the epoch, which the state and sinks without a mark get again."""
    pending = Pending(tmp_path, "json")
    write(tmp_path / "json" / "1.json", 1)
    pending.works = True
    pending.run()
    commits = tmp_path / "ck" / "queries" / "main" / "commits"
    for file in (commits / "0", commits / ".0.crc"):
        file.unlink(missing_ok=True)
    write(tmp_path / "json" / "1.json", 1000, 2000)
    assert "1.json had 9 bytes" in pending.refused()
    write(tmp_path / "json" / "1.json", 1)
    assert [pending.run().sources[0].broken for _ in range(2)] == [0, 0]
    assert out(tmp_path, "json") == [1] and set(pending.kept) == {1}
