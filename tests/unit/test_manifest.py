"""A files sink's manifest: every crash point of a commit, replays, owners, clearing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.durable.manifest import Manifest, Owner, StagedFile, committed_files
from headrace.durable.marks import Mark
from headrace.durable.segments import FAN, Span, due, spans
from headrace.errors import HeadraceError
from tests.unit.errors import check_error

OWNER = Owner("job", "alerts", "c1")


def stage(folder: Path, epoch: int, *names: str, attempt: str = "0-1") -> list[StagedFile]:
    staged = []
    for name in names:
        path = f"_headrace/staging/{epoch}-{attempt}/{name}"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{epoch}:{name}")
        staged.append(StagedFile(path, 1, 5))
    return staged


def visible(folder: Path) -> dict[str, str]:
    """What a reader that lists the folder sees."""
    files = (path for path in folder.rglob("*") if path.is_file() and "_headrace" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def test_staged_files_are_invisible_until_committed(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    staged = stage(tmp_path, 0, "day=1/a.parquet", "day=2/b.snappy.parquet")
    assert visible(tmp_path) == {} and committed_files(tmp_path) == []
    manifest.commit(0, staged)
    expected = {
        "day=1/part-00000000000000000000-00000.parquet": "0:day=1/a.parquet",
        "day=2/part-00000000000000000000-00001.parquet": "0:day=2/b.snappy.parquet",
    }
    assert visible(tmp_path) == expected
    assert [str(path.relative_to(tmp_path)) for path in committed_files(tmp_path)] == sorted(expected)


def test_a_replayed_epoch_changes_nothing(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    manifest.commit(3, stage(tmp_path, 3, "a.json"))
    before = visible(tmp_path)
    manifest.commit(3, stage(tmp_path, 3, "a.json", "b.json", attempt="0-9"))
    assert visible(tmp_path) == before and not manifest.staging.exists()


def test_a_crash_before_the_manifest_leaves_nothing(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    stage(tmp_path, 0, "a.json")
    Manifest(tmp_path).recover()
    assert visible(tmp_path) == {} and not manifest.staging.exists()


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_crash_while_files_are_moved_is_finished(tmp_path: Path, moved: int) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    staged = stage(tmp_path, 0, "a.json", "b.json")
    manifest.commit(0, staged)
    expected = visible(tmp_path)
    entry = json.loads(manifest.path(0).read_text())
    for file in entry["files"][moved:]:  # put back what the crash had not moved yet
        (tmp_path / file["staged"]).parent.mkdir(parents=True, exist_ok=True)
        os.replace(tmp_path / file["path"], tmp_path / file["staged"])
    assert len(committed_files(tmp_path)) == (2 if moved == 2 else 0), "a reader of whole epochs sees all or nothing"
    Manifest(tmp_path).recover()
    assert visible(tmp_path) == expected and len(committed_files(tmp_path)) == 2


def test_a_renamed_sink_takes_over(tmp_path: Path) -> None:
    Manifest(tmp_path).claim(OWNER)
    Manifest(tmp_path).claim(Owner("job", "warnings", "c1"))
    assert Manifest(tmp_path).owner() == Owner("job", "warnings", "c1")


def test_another_checkpoint_is_refused(tmp_path: Path) -> None:
    Manifest(tmp_path).claim(OWNER)
    Manifest(tmp_path).claim(OWNER)
    check_error(
        """
        FOLDER_OWNED: <folder> holds the output of sink alerts of job job, written from another checkpoint
          hint: write to another folder, continue from the checkpoint that wrote it, or start with fresh=True, which deletes the files it wrote
          more: headrace error FOLDER_OWNED
        """,
        lambda: Manifest(tmp_path).claim(Owner("job", "alerts", "c2")),
        hide={str(tmp_path): "<folder>"},
    )


def test_a_folder_of_another_job_is_refused(tmp_path: Path) -> None:
    Manifest(tmp_path).claim(OWNER)
    check_error(
        """
        FOLDER_OWNED: <folder> holds the output of sink alerts of job job, but this is job third
          hint: write to another folder; if the job job no longer exists, delete the folder by hand: fresh=True does not, as another job wrote it
          more: headrace error FOLDER_OWNED
        """,
        lambda: Manifest(tmp_path).claim(Owner("third", "alerts", "c2")),
        hide={str(tmp_path): "<folder>"},
    )


def test_another_query_is_refused_as_its_epochs_have_the_same_numbers(tmp_path: Path) -> None:
    Manifest(tmp_path).claim(OWNER)
    check_error(
        """
        FOLDER_OWNED: <folder> holds the output of sink alerts of job job, written from another query of this job
          hint: write to another folder, continue from the checkpoint that wrote it, or start with fresh=True, which deletes the files it wrote
          more: headrace error FOLDER_OWNED
        """,
        lambda: Manifest(tmp_path).claim(Owner("job", "alerts", "c1", "other")),
        hide={str(tmp_path): "<folder>"},
    )


def test_a_file_that_somebody_removed_is_noticed(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    manifest.commit(0, stage(tmp_path, 0, "a.json"))
    final = committed_files(tmp_path)[0]
    final.unlink()
    later = Manifest(tmp_path, term=2)
    later.recover()  # epoch 0 may be the next one still
    check_error(
        """
        OUTPUT_MISSING: <file> belongs to epoch 0, but is missing
          hint: restore the file, or start with fresh=True to write the output again
          more: headrace error OUTPUT_MISSING
        """,
        lambda: later.commit(1, []),
        hide={str(final): "<file>"},
    )
    later.commit(0, stage(tmp_path, 0, "a.json", attempt="0-2"))
    assert visible(tmp_path) == {final.name: "0:a.json"}


def test_a_process_that_was_replaced_does_not_take_an_epoch_back(tmp_path: Path) -> None:
    slow, quick = Manifest(tmp_path, term=1), Manifest(tmp_path, term=2)
    slow.claim(OWNER)
    early = stage(tmp_path, 0, "a.json")
    quick.recover()  # what the slow one had staged is gone
    ours = stage(tmp_path, 0, "a.json", attempt="0-2")
    quick.commit(0, ours)
    next_epoch = stage(tmp_path, 1, "b.json", attempt="0-3")
    before = visible(tmp_path)
    check_error(
        """
        LEASE_LOST: another process has written epoch 0 of <folder>: this one gave no sign of life for too long
          hint: nothing is lost or duplicated, and the other process continues
          more: headrace error LEASE_LOST
        """,
        lambda: slow.commit(0, early),
        hide={str(tmp_path): "<folder>"},
    )
    assert visible(tmp_path) == before
    quick.commit(1, next_epoch)
    assert len(committed_files(tmp_path)) == 2


def test_an_epoch_that_a_replaced_process_wrote_of_files_that_are_gone_is_written_again(tmp_path: Path) -> None:
    slow, quick = Manifest(tmp_path, term=1), Manifest(tmp_path, term=2)
    slow.claim(OWNER)
    early = stage(tmp_path, 0, "a.json")
    quick.recover()
    with pytest.raises(HeadraceError, match="OUTPUT_MISSING"):
        slow.commit(0, early)  # wakes after the look at its lease, and before the other's commit
    assert committed_files(tmp_path) == []
    quick.commit(0, stage(tmp_path, 0, "a.json", attempt="0-2"))
    assert list(visible(tmp_path).values()) == ["0:a.json"] and len(committed_files(tmp_path)) == 1


def test_clear_removes_what_was_written_and_nothing_else(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    manifest.commit(0, stage(tmp_path, 0, "day=1/a.json"))
    (tmp_path / "mine.txt").write_text("keep")
    manifest.clear()
    assert visible(tmp_path) == {"mine.txt": "keep"} and not (tmp_path / "day=1").exists() and manifest.owner() is None


def test_a_manifest_of_a_later_version_is_refused(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    manifest.commit(0, stage(tmp_path, 0, "a.json"))
    manifest.path(0).write_text('{"format": 5}')
    check_error(
        """
        MANIFEST_FORMAT: <manifest> has format 5; this version of headrace reads formats 1 to 4
          hint: use the version of headrace that wrote it
          more: headrace error MANIFEST_FORMAT
        """,
        lambda: committed_files(tmp_path),
        hide={str(manifest.path(0)): "<manifest>"},
    )


def test_an_epoch_without_rows_has_no_manifest(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    manifest.commit(0, stage(tmp_path, 0, "a.json"), "one")
    manifest.commit(1, [], "two")
    assert manifest.mark() == Mark(0, "one") and not manifest.path(1).exists()


def test_an_epoch_of_another_history_is_refused(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.claim(OWNER)
    manifest.commit(4, stage(tmp_path, 4, "a.json"), "one")
    before = visible(tmp_path)
    check_error(
        """
        CHECKPOINT_BEHIND: <folder> holds epoch 4 of another history, but this job was about to write its own epoch 4
          hint: nothing was written: two copies of one checkpoint have written to this sink. Stop the other job, or give this one another sink.
          more: headrace error CHECKPOINT_BEHIND
        """,
        lambda: manifest.commit(4, stage(tmp_path, 4, "b.json", attempt="0-2"), "two"),
        hide={str(tmp_path): "<folder>"},
    )
    assert visible(tmp_path) == before


def committed(folder: Path, epochs: range) -> Manifest:
    manifest = Manifest(folder)
    manifest.claim(OWNER)
    for epoch in epochs:
        manifest.commit(epoch, stage(folder, epoch, "a.json"), f"id{epoch}")
    return manifest


def test_manifests_are_put_together(tmp_path: Path) -> None:
    """Every second epoch has rows, the first manifest is of an earlier version, and a reader sees the same as without."""
    manifest = committed(tmp_path, range(0, 2, 2))
    entry = json.loads(manifest.path(0).read_text())
    manifest.path(0).write_text(json.dumps({"format": 1, **{name: entry[name] for name in ("epoch", "term", "files")}}))
    committed(tmp_path, range(2, 600, 2))
    assert sorted(path.name for path in manifest.control.glob("*.jsonl")) == [Span(0, 198, 1).name, Span(200, 398, 1).name]
    assert len(list(manifest.control.glob("0*.json"))) == 100
    assert len(committed_files(tmp_path)) == 300 == len(visible(tmp_path))
    assert [one["epoch"] for one in manifest.entries()] == list(range(0, 600, 2))
    assert all("at" in one for one in manifest.entries())
    assert manifest.mark() == Mark(598, "id598")
    manifest.clear()
    assert visible(tmp_path) == {} and not manifest.control.exists()


LACKS = """
        OUTPUT_MISSING: <folder>/_headrace lacks the manifest of epoch 2, after which epoch 5 was written
          hint: restore the manifest, or start the job that wrote it with fresh=True to write the output again
          more: headrace error OUTPUT_MISSING
        """


@pytest.mark.parametrize("sees", [committed_files, lambda folder: Manifest(folder).recover(), lambda folder: Manifest(folder).lost()])
def test_a_manifest_in_the_middle_that_is_gone_is_noticed(tmp_path: Path, sees: Callable[[Path], object]) -> None:
    for epoch in (0, 2, 5):  # each by a process of its own
        committed(tmp_path, range(epoch, epoch + 1))
    sees(tmp_path)
    manifest = Manifest(tmp_path)
    manifest.path(2).rename(tmp_path / "aside")
    check_error(LACKS, lambda: sees(tmp_path), hide={str(tmp_path): "<folder>"})
    (tmp_path / "aside").rename(manifest.path(2))
    sees(tmp_path)
    manifest.path(2).unlink()
    manifest.withdraw(0, "tag")  # a way back to the epochs before it
    assert [one["epoch"] for one in manifest.entries()] == [0]
    committed(tmp_path, range(3, 4)).clear()
    assert not manifest.control.exists()


def test_a_gap_in_manifests_put_together_is_noticed(tmp_path: Path) -> None:
    manifest = committed(tmp_path, range(0, 600, 2))
    Manifest(tmp_path).recover()
    (manifest.control / Span(200, 398, 1).name).unlink()
    for sees in (Manifest(tmp_path).recover, lambda: committed_files(tmp_path)):
        with pytest.raises(HeadraceError, match=r"OUTPUT_MISSING: .* lacks the manifest of epoch 398, after which epoch 400"):
            sees()


def test_an_epoch_that_is_written_again_keeps_what_came_before_it(tmp_path: Path) -> None:
    committed(tmp_path, range(0, 4, 3))
    committed_files(tmp_path)[-1].unlink()
    again = Manifest(tmp_path, term=2)
    again.recover()
    again.commit(3, stage(tmp_path, 3, "a.json", attempt="0-2"), "id3")
    assert [one["after"] for one in again.entries()] == [-1, 0]


def test_manifests_of_format_2_are_read_and_gone_on_from(tmp_path: Path) -> None:
    """As version 2 wrote them: none names the one before it."""
    manifest = committed(tmp_path, range(3))
    for epoch in range(3):
        entry = json.loads(manifest.path(epoch).read_text())
        kept = {name: entry[name] for name in ("epoch", "identity", "term", "at", "files")}
        manifest.path(epoch).write_text(json.dumps({"format": 2, **kept}))
    committed(tmp_path, range(4, 5))
    assert [one.get("after") for one in manifest.entries()] == [None, None, None, 2]
    manifest.path(1).unlink()
    assert len(committed_files(tmp_path)) == 3, "nothing tells of it"


def test_a_crash_while_manifests_are_put_together_changes_nothing(tmp_path: Path) -> None:
    manifest = committed(tmp_path, range(199))
    parts = {path.name: path.read_text() for path in manifest.control.glob("*.json")}
    committed(tmp_path, range(199, 200))
    for name, text in parts.items():
        (manifest.control / name).write_text(text)
    assert [one["epoch"] for one in Manifest(tmp_path).entries()] == list(range(200))
    committed(tmp_path, range(200, 201))
    assert len(list(manifest.control.glob("0*.json"))) == 101, "what was left is gone"


def test_a_reader_sees_each_epoch_once_while_manifests_are_put_together(tmp_path: Path) -> None:
    manifest = committed(tmp_path, range(199))
    reading = manifest.entries()
    first = [next(reading)["epoch"] for _ in range(50)]
    committed(tmp_path, range(199, 200))
    assert [*first, *(one["epoch"] for one in reading)] == list(range(200))


def test_the_number_of_manifests_stays_small_for_a_month_of_fast_epochs() -> None:
    """As `compact` does it, without the files: 20 epochs a second for 30 days are 52 million."""

    def settled(there: list[Span]) -> list[Span]:
        while parts := due(there):
            whole = Span(parts[0].first, parts[-1].last, parts[0].level + 1)
            there = sorted([whole, *(span for span in there if span not in parts)])
        return there

    # each level as full as it may be: what a hundred more of them make is due
    there: list[Span] = []
    at = 0
    for level in range(4, -1, -1):
        for _ in range(FAN - 1 if level else 2 * FAN - 1):
            there.append(Span(at, at + FAN**level - 1, level))
            at += FAN**level
    assert at > 52_000_000 and len(there) < 700
    for _ in range(5):
        there = settled([*there, *(Span(at + i, at + i, 0) for i in range(FAN))])
        at += FAN
        assert len(there) < 700
        assert spans([span.name for span in there]) == there
    assert len(Span(at, at, 0).name) == len(Span(0, 0, 0).name)
