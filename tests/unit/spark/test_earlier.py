"""What a checkpoint keeps for a return to an epoch, and what a copy that ends with it has, in a checkpoint that is only files."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from headrace.durable.atomic import replace
from headrace.durable.manifest import Manifest, StagedFile
from headrace.durable.sums import text_of
from headrace.spark.checkpoint import earlier, history
from headrace.spark.checkpoint.copying import copy
from headrace.spark.checkpoint.earlier import Earlier
from headrace.spark.checkpoint.folder import Stored, query_folder, stored_in
from headrace.spark.checkpoint.history import History
from headrace.spark.checkpoint.offsets import Offsets
from headrace.spark.checkpoint.record import Record, Totals, recorded
from headrace.spark.compile.identity import Entry, Identity, QueryIdentity
from headrace.spark.compile.shapes import SINK, Shape

MADE = 1_700_000_000_000
"""The time of the first epoch, in milliseconds; each takes a second."""


class Job:
    """A checkpoint with one query and a sink `out`, whose epochs are written one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.query = query_folder(folder, "main")
        self.history = History(folder / "epochs" / "main", self.query, "plan")
        for log in ("offsets", "commits"):
            (self.query / log).mkdir(parents=True)
        self.record = Record(folder / "record", "main", 1)
        self.version("first")

    def version(self, text: str) -> None:
        sink = Entry(1, Shape("out", SINK))
        queries = (QueryIdentity("main", (), 1, "none", (sink,)),)
        plan = {"format": 1, "job": text, "settings": {}, "nodes": [], "sinks": ["out"]}
        replace(self.folder / "job.json", text_of(Stored("1f", text, plan, {}, 1, Identity(queries, 2)).to_json()))

    def epoch(self, number: int, *, letters: bool = False) -> None:
        """An epoch with a row, and with a dead letter of both kinds."""
        replace(self.query / "offsets" / f"{number}", Offsets({"batchTimestampMs": MADE + number * 1000}, {}).text)
        self.history.begin(number)
        if letters:
            manifest = Manifest(self.folder / "dead_letters" / "main")
            name = f"_headrace/staging/{number}-0-0/part.json"
            (manifest.folder / name).parent.mkdir(parents=True)
            (manifest.folder / name).write_text("{}\n")
            manifest.commit(number, [StagedFile(name, 1, 3)])
            for sink in ("out", "gone"):
                (self.folder / "refused" / sink).mkdir(parents=True, exist_ok=True)
                (self.folder / "refused" / sink / f"{number:020}-00000.json").write_text("{}\n")
        self.record.add(number, [["rows", 0, 0, "read", 1]], {"out": 1})
        earlier.keep(self.folder, "main", number)
        (self.query / "commits" / f"{number}").write_text('v2\n{"nextBatchWatermarkMs":0}')

    def back(self, number: int, to: Path) -> Stored:
        """A copy that ends with an epoch."""
        moment = Earlier.at(self.folder, number)
        copy(self.folder, to)
        moment.cut(to)
        stored = stored_in(to)
        assert stored == moment.stored
        assert recorded(to / "record", "main") == Totals(number, {("rows", 0, 0, "read"): number + 1}, {"out": number + 1})
        for folder in ("queries/main/offsets", "queries/main/commits", "epochs/main"):
            assert max(int(file.name.partition(".")[0]) for file in (to / folder).iterdir()) == number
        return stored


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_version_of_then(tmp_path: Path) -> None:
    job = Job(tmp_path / "job")
    job.epoch(0)
    job.version("second")
    job.epoch(1)
    job.version("third")
    was = {name: (job.folder / name).read_bytes() for name in names(job.folder)}
    assert [job.back(epoch, tmp_path / f"{epoch}").job for epoch in (0, 1)] == ["first", "second"]
    assert {name: (job.folder / name).read_bytes() for name in names(job.folder)} == was


def test_as_many_as_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept goes with the identities, also what an earlier run has left."""
    monkeypatch.setattr(history, "KEPT", 4)
    job = Job(tmp_path / "job")
    for epoch in range(7):
        job.epoch(epoch)
    kept = {int(name.partition(".")[0]) for name in names(job.folder / "epochs" / "main")}
    assert kept == set(range(3, 7))
    for name in ("0.json", "1.record", "2.job"):
        (job.folder / "epochs" / "main" / name).touch()
    job.history.tidy()
    assert {int(name.partition(".")[0]) for name in names(job.folder / "epochs" / "main")} == kept


def test_the_repetition_of_an_epoch(tmp_path: Path) -> None:
    """It keeps the first counts, which the record has too, and in a new term the file of the old one."""
    job = Job(tmp_path / "job")
    job.epoch(0)
    job.record = Record(job.folder / "record", "main", 2)
    (job.folder / "epochs" / "main" / "0.record").unlink()
    job.epoch(0)
    job.epoch(0)
    job.epoch(1)
    job.back(0, tmp_path / "copy")


def test_a_file_with_as_many_links_as_it_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(source: Path, to: Path) -> None:
        if to.suffix != ".json":
            raise OSError(errno.EMLINK, "Too many links")
        linked(source, to)

    linked = os.link
    monkeypatch.setattr("os.link", link)
    job = Job(tmp_path / "job")
    job.epoch(0)
    job.epoch(1)
    job.back(0, tmp_path / "copy")


def test_dead_letters(tmp_path: Path) -> None:
    """Those of later epochs are not in a copy; sinks that the query does not have counted other epochs."""
    job = Job(tmp_path / "job")
    for epoch in range(4):
        job.epoch(epoch, letters=epoch != 1)
    job.back(1, tmp_path / "copy")
    letters = {name for name in names(tmp_path / "copy") if name.startswith(("dead_letters", "refused"))}
    assert letters == {
        "dead_letters/main/_headrace/00000000000000000000.json",
        "dead_letters/main/part-00000000000000000000-00000.json",
        "refused/out/00000000000000000000-00000.json",
        *(f"refused/gone/{epoch:020}-00000.json" for epoch in (0, 2, 3)),
    }
    assert len(Manifest(job.folder / "dead_letters" / "main").files()) == 3


def test_the_end_of_time(tmp_path: Path) -> None:
    """Before the flush the copy can go on with more input; in it and after it as the job can."""
    job = Job(tmp_path / "job")
    job.epoch(0)
    (job.folder / "sealing").touch()
    job.epoch(1)
    job.epoch(2)
    (job.folder / "sealed").touch()
    for epoch, flags in enumerate([set(), {"sealing"}, {"sealing", "sealed"}]):
        job.back(epoch, tmp_path / f"{epoch}")
        assert names(tmp_path / f"{epoch}") & {"sealing", "sealed"} == flags


def test_a_flush_without_an_epoch(tmp_path: Path) -> None:
    """The last epoch is one before the end of time."""
    job = Job(tmp_path / "job")
    job.epoch(0)
    for flag in ("sealing", "sealed"):
        (job.folder / flag).touch()
    job.back(0, tmp_path / "copy")
    assert not names(tmp_path / "copy") & {"sealing", "sealed"}


def test_commands_since(tmp_path: Path) -> None:
    """The history of the job ends when the next epoch began."""
    job = Job(tmp_path / "job")
    job.epoch(0)
    job.epoch(1)
    ends = ["2023-11-14T22:13:20.999+00:00", "2023-11-14T22:13:21.000+00:00", "2023-11-14T22:13:22.000+00:00"]
    (job.folder / "history.jsonl").write_text("".join(json.dumps({"ended": end}) + "\n" for end in ends))
    for epoch, number in ((0, 1), (1, 3)):
        job.back(epoch, tmp_path / f"{epoch}")
        assert len((tmp_path / f"{epoch}" / "history.jsonl").read_text().splitlines()) == number


def test_copies_without_state(tmp_path: Path) -> None:
    """They cannot return, and do without what that needs."""
    job = Job(tmp_path / "job")
    job.epoch(0)
    copy(job.folder, tmp_path / "copy", state=False)
    assert names(tmp_path / "copy" / "epochs") == {"main/0.json"}
    shutil.rmtree(tmp_path / "copy")
    copy(job.folder, tmp_path / "copy")
    assert names(tmp_path / "copy" / "epochs") == {"main/0.json", "main/0.job", "main/0.record"}
