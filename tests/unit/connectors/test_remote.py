"""Manifests in a store, and processes that were replaced, with a folder for the store."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from headrace.connectors.files import remote
from headrace.connectors.files.remote import RemoteManifest
from headrace.durable.manifest import Owner, StagedFile
from headrace.durable.marks import Mark
from tests.unit.errors import check_error

OWNER = Owner("job", "out", "c1")
FENCED = """
    LEASE_LOST: another process is now writing <folder>: this one gave no sign of life for too long
      hint: nothing is lost or duplicated, and the other process continues
      more: headrace error LEASE_LOST
"""


class Folder:
    """What a store does, in a folder of this machine."""

    def __init__(self, session: Any, folder: str) -> None:
        self.folder, self._root = folder, Path(folder)

    def exists(self, name: str = "") -> bool:
        return (self._root / name).exists()

    def read(self, name: str) -> str | None:
        return (self._root / name).read_text() if self.exists(name) else None

    def create(self, name: str, text: str) -> bool:
        if self.exists(name):
            return False
        self.write(name, text)
        return True

    def write(self, name: str, text: str) -> None:
        (self._root / name).parent.mkdir(parents=True, exist_ok=True)
        (self._root / name).write_text(text)

    def delete(self, name: str) -> None:
        path = self._root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        return [path.name for path in (self._root / folder).glob("*")]

    def all(self) -> list[str]:
        return [str(path.relative_to(self._root)) for path in self._root.rglob("*") if path.is_file()]


@pytest.fixture(autouse=True)
def _store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "reach", Folder)


def claimed(folder: Path, term: int) -> RemoteManifest:
    manifest = RemoteManifest(cast(Any, None), str(folder), term)
    manifest.claim(OWNER)
    return manifest


def staged(folder: Path, epoch: int, attempt: str) -> list[StagedFile]:
    name = f"part-{epoch}-0-{attempt}-run-00000-000.json"
    (folder / name).write_text("{}")
    return [StagedFile(name, 1, 2)]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("part-*"))


def test_each_claim_writes_its_term_and_a_smaller_one_is_refused(tmp_path: Path) -> None:
    for term in (1, 2, 2, 5):
        claimed(tmp_path, term)
        assert json.loads((tmp_path / "_headrace/owner.json").read_text())["term"] == term
    check_error(FENCED, lambda: claimed(tmp_path, 4), hide={str(tmp_path): "<folder>"})
    assert json.loads((tmp_path / "_headrace/owner.json").read_text())["term"] == 5


def test_a_folder_of_a_version_that_wrote_no_terms_is_taken_over(tmp_path: Path) -> None:
    claimed(tmp_path, 1)
    owner = tmp_path / "_headrace/owner.json"
    owner.write_text(json.dumps({name: value for name, value in json.loads(owner.read_text()).items() if name != "term"}))
    claimed(tmp_path, 2).recover()
    assert json.loads(owner.read_text())["term"] == 2


def test_one_that_wakes_up_behind_its_claim_removes_nothing(tmp_path: Path) -> None:
    old = claimed(tmp_path, 1)
    new = claimed(tmp_path, 2)
    new.recover()
    new.commit(0, staged(tmp_path, 0, "1"))
    flying = staged(tmp_path, 1, "2")
    check_error(FENCED, old.recover, hide={str(tmp_path): "<folder>"})
    new.commit(1, flying)
    assert len(new.files()) == len(names(tmp_path)) == 2


def test_one_that_falls_asleep_behind_its_list_removes_nothing_of_its_successor(tmp_path: Path) -> None:
    old = claimed(tmp_path, 1)
    dead = staged(tmp_path, 0, "0")
    flying: list[StagedFile] = []

    def asleep() -> None:
        flying.extend(staged(tmp_path, 0, "1"))

    old.recover(asleep)
    assert names(tmp_path) == [file.path for file in flying] and dead != flying


def test_files_that_are_gone_are_in_no_manifest(tmp_path: Path) -> None:
    manifest = claimed(tmp_path, 1)
    files = staged(tmp_path, 0, "1")
    (tmp_path / files[0].path).unlink()
    check_error(
        """
        OUTPUT_MISSING: <folder>/part-0-0-1-run-00000-000.json, which a task wrote for epoch 0, was deleted before the epoch was committed
          hint: nothing of the epoch was committed; the next start writes it again
          more: headrace error OUTPUT_MISSING
        """,
        lambda: manifest.commit(0, files),
        hide={str(tmp_path): "<folder>"},
    )
    assert manifest.epochs() == []
    claimed(tmp_path, 2).recover()
    check_error(FENCED, lambda: manifest.commit(0, files), hide={str(tmp_path): "<folder>"})


def test_a_manifest_in_the_middle_that_is_gone_is_noticed(tmp_path: Path) -> None:
    for epoch in (0, 2, 5):  # each by a process of its own
        claimed(tmp_path, 1).commit(epoch, staged(tmp_path, epoch, "1"))
    manifest = claimed(tmp_path, 1)
    assert len(manifest.files()) == 3
    gone = tmp_path / "_headrace" / f"{2:020}.json"
    gone.rename(tmp_path / "aside")
    check_error(
        """
        OUTPUT_MISSING: <folder>/_headrace lacks the manifest of epoch 2, after which epoch 5 was written
          hint: restore the manifest, or start the job that wrote it with fresh=True to write the output again
          more: headrace error OUTPUT_MISSING
        """,
        manifest.files,
        hide={str(tmp_path): "<folder>"},
    )
    (tmp_path / "aside").rename(gone)
    manifest.commit(5, staged(tmp_path, 5, "1"))
    assert len(manifest.files()) == 3


@pytest.mark.parametrize("crash", [False, True])
def test_the_files_of_an_epoch_replace_all_earlier_ones(crash: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = claimed(tmp_path, 1)
    for epoch in range(3):
        manifest.commit(epoch, staged(tmp_path, epoch, "1"), f"id{epoch}")
    with monkeypatch.context() as patch:
        if crash:
            patch.setattr(manifest, "_delete_before", lambda epoch: None)
        manifest.commit(4, staged(tmp_path, 4, "1"), "id4", whole=True)
    assert [Path(file).name for file in manifest.files()] == ["part-4-0-1-run-00000-000.json"]
    assert [manifest.keeps(Mark(epoch, f"id{epoch}")) for epoch in (2, 4)] == [False, True]
    claimed(tmp_path, 2).recover()
    assert names(tmp_path) == ["part-4-0-1-run-00000-000.json"] and manifest.epochs() == [4]
    manifest = claimed(tmp_path, 3)
    manifest.commit(5, staged(tmp_path, 5, "1"), "id5")
    assert len(manifest.files()) == 2
    manifest.commit(6, [], "id6", whole=True)
    assert (manifest.files(), names(tmp_path), manifest.mark()) == ([], [], Mark(6, "id6"))
