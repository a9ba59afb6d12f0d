"""Epochs that are taken out of a folder of files: in one step for readers, put aside, and finished wherever it was cut off."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from headrace import points
from headrace.connectors.files import Sink
from headrace.durable import segments
from headrace.durable.manifest import Manifest, committed_files
from headrace.durable.marks import Mark
from headrace.errors import HeadraceError
from tests.unit.connectors.delta.tasks import context
from tests.unit.test_manifest import OWNER, stage, visible

ENTRY = "day={}/part-{:020}-00000.json"


class Killed(BaseException):
    """As a process is, but for what stands in `finally`."""


def killed(step: int, work: Callable[[], object]) -> bool:
    """Do some work until its call number `step` to the operating system; False if there are not so many."""
    count = 0

    def look(frame: FrameType, event: str, called: Any) -> None:
        nonlocal count
        if event == "c_call" and points._leaves(called):
            count += 1
            if count > step:
                raise Killed

    sys.setprofile(look)
    try:
        work()
    except Killed:
        return True
    finally:
        sys.setprofile(None)
    return False


def written(folder: Path, epochs: int) -> Manifest:
    """Epochs of two files in folders of their own, with an identity each."""
    manifest = Manifest(folder)
    manifest.claim(OWNER)
    for epoch in range(epochs):
        manifest.commit(epoch, stage(folder, epoch, f"day={epoch}/a.json", f"day={epoch + 1}/b.json"), identity(epoch))
    return manifest


def identity(epoch: int) -> str:
    return f"{epoch:02}" * 16


def names(epochs: range) -> list[str]:
    return [f"day={epoch + number}/part-{epoch:020}-{number:05}.json" for epoch in epochs for number in range(2)]


def committed(folder: Path) -> list[str]:
    return [str(file.relative_to(folder)) for file in committed_files(folder)]


def test_epochs_that_are_withdrawn(tmp_path: Path) -> None:
    manifest = written(tmp_path, 5)
    manifest.withdraw(2, "tag")
    assert committed(tmp_path) == sorted(visible(tmp_path), key=lambda name: name[-30:]) == names(range(3))
    assert manifest.mark() == Mark(2, identity(2))
    aside = manifest.aside(2, "tag")
    assert sorted(str(file.relative_to(aside)) for file in aside.rglob("*.json")) == sorted(
        [*names(range(3, 5)), *(f"{epoch:020}.json" for epoch in (3, 4))]
    )
    assert not (tmp_path / "day=5").exists()
    # the epochs come again, as others
    manifest.commit(3, stage(tmp_path, 3, "day=9/a.json"), "other")
    assert manifest.mark() == Mark(3, "other") and "day=9" in committed(tmp_path)[-1]
    manifest.withdraw(-1, "all")
    assert (committed(tmp_path), visible(tmp_path), manifest.mark()) == ([], {}, Mark())


@pytest.mark.parametrize(("fan", "epochs", "last"), [(100, 3, 0), (2, 6, 2)])
def test_it_is_cut_off_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fan: int, epochs: int, last: int) -> None:
    """With a small fan the manifests lie in segments, of which the end cuts one."""
    monkeypatch.setattr(segments, "FAN", fan)
    written(tmp_path / "kept", epochs)
    assert any(file.suffix == ".jsonl" for file in (tmp_path / "kept" / "_headrace").iterdir()) == (fan == 2)
    before, after = names(range(epochs)), names(range(last + 1))
    for step in range(0, 1000, 2):
        folder = tmp_path / "out"
        shutil.copytree(tmp_path / "kept", folder)
        cut = killed(step, lambda folder=folder: Manifest(folder).withdraw(last, "tag"))  # type: ignore[misc]  # of a loop
        # what was withdrawn is so as a whole
        assert committed(folder) == after or (cut and committed(folder) == before), step
        if committed(folder) == after:
            assert Manifest(folder).mark() == (Mark(last, identity(last)) if last >= 0 else Mark()), step
            # cut off again, and then not
            killed(step % 11, Manifest(folder).recover)
            Manifest(folder).recover()
            assert (committed(folder), sorted(visible(folder))) == (after, sorted(after)), step
            aside = Manifest(folder).aside(last, "tag")
            assert len(list(aside.rglob("part-*"))) == len(before) - len(after), step
            assert not list((folder / "_headrace").glob("withdrawing-*")), step
        shutil.rmtree(folder)
        if not cut:
            break
    assert step > 10


def test_a_fresh_start_removes_what_was_not_put_aside_yet(tmp_path: Path) -> None:
    written(tmp_path, 3)
    assert killed(8, lambda: Manifest(tmp_path).withdraw(0, "tag"))
    Manifest(tmp_path).clear()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_how_a_sink_of_files_comes_back(tmp_path: Path) -> None:
    written(tmp_path, 5)
    sink = Sink(tmp_path, format="json")
    sink_context = context(tmp_path, checkpoint_id=OWNER.checkpoint)
    assert sink.traits.rewinds and not Sink("s3a://bucket/out", format="json").traits.rewinds
    rewinding = sink.rewind(sink_context, Mark(2, identity(2)))
    assert (
        rewinding.how == f"4 files and their manifests are moved to {tmp_path}/_headrace/withdrawn/{3:020}-04040404"
        and rewinding.first == 3
    )
    assert committed(tmp_path) == names(range(5))
    assert sink.rewind(sink_context, Mark(3, identity(3))).how.startswith("2 files and their manifest are moved to ")
    for mark in (Mark(2, identity(1)), Mark(7, identity(7))):
        with pytest.raises(HeadraceError, match=f"CANNOT_REWIND: sink: {tmp_path} does not have epoch {mark.epoch} of this checkpoint"):
            sink.rewind(sink_context, mark)
    rewinding.work()
    assert sink.mark(sink_context) == Mark(2, identity(2)) and committed(tmp_path) == names(range(3))
