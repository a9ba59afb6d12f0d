"""Manifests whose files replace all earlier ones: every crash point, repetition, readers, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace import ports
from headrace.connectors.files.withdrawing import rewound
from headrace.durable import manifest as manifests
from headrace.durable.manifest import Manifest, committed_files
from headrace.durable.marks import Mark
from headrace.durable.segments import FAN, FORMAT, REPLACING
from tests.golden import GOLDEN
from tests.unit.errors import check_error
from tests.unit.test_manifest import OWNER, stage, visible


def rows(folder: Path) -> list[str]:
    """The contents of the files that count, for a reader that must not see a part of an epoch."""
    return [path.read_text() for path in committed_files(folder)]


def written(folder: Path, epochs: int = 3) -> Manifest:
    manifest = Manifest(folder)
    manifest.claim(OWNER)
    for epoch in range(epochs):
        manifest.commit(epoch, stage(folder, epoch, "day=1/a.json"), f"id{epoch}")
    return manifest


def test_the_files_of_an_epoch_replace_all_earlier_ones(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    manifest.commit(4, stage(tmp_path, 4, "b.json"), "id4", whole=True)
    assert rows(tmp_path) == ["4:b.json"] and list(visible(tmp_path).values()) == ["4:b.json"]
    assert manifest.mark() == Mark(4, "id4")
    assert [manifest.keeps(Mark(epoch, f"id{epoch}")) for epoch in range(5)] == [False, False, False, False, True]
    aside = tmp_path / "_headrace" / "withdrawn" / f"before-{4:020}"
    assert sorted(path.read_text() for path in aside.rglob("part-*")) == [f"{epoch}:day=1/a.json" for epoch in range(3)]
    assert sum(1 for _ in aside.glob("*.json")) == 3
    # a repetition changes nothing, and later epochs add to them
    manifest.commit(4, stage(tmp_path, 4, "b.json", attempt="0-2"), "id4", whole=True)
    manifest.commit(6, stage(tmp_path, 6, "c.json"), "id6")
    again = Manifest(tmp_path)
    again.recover()
    assert rows(tmp_path) == ["4:b.json", "6:c.json"] == [path.read_text() for path in again.files()]
    again.clear()
    assert visible(tmp_path) == {} and not (tmp_path / "_headrace").exists()


def test_an_epoch_without_files_replaces_them_too(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    manifest.commit(4, [], "id4", whole=True)
    assert rows(tmp_path) == [] and visible(tmp_path) == {} and manifest.mark() == Mark(4, "id4")
    manifest.commit(5, stage(tmp_path, 5, "c.json"), "id5")
    assert rows(tmp_path) == ["5:c.json"]


@pytest.mark.parametrize(
    ("step", "passing"), [("create", 1), ("_show", 1), ("reveal", 1), ("_move", 1), ("_move", 2), ("remove", 1), ("remove", 2)]
)
def test_a_crash_at_any_step(step: str, passing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers see the old rows or the new ones, and the next start finishes."""
    manifest = written(tmp_path)
    before = rows(tmp_path)
    times = 0

    def crashing(work: Callable[..., Any]) -> Callable[..., Any]:
        def crash(*arguments: Any) -> Any:
            nonlocal times
            times += 1
            if times >= passing:
                raise OSError("crash")
            return work(*arguments)

        return crash

    with monkeypatch.context() as patch:
        if step == "create":
            patch.setattr(manifests, "create", crashing(manifests.create))
        else:
            owner = manifest._segments if step == "remove" else manifest
            patch.setattr(owner, step, crashing(getattr(owner, step)))
        with pytest.raises(OSError, match="crash"):
            manifest.commit(4, stage(tmp_path, 4, "b.json"), "id4", whole=True)
    assert rows(tmp_path) == (["4:b.json"] if step in ("_move", "remove") else before)
    again = Manifest(tmp_path)
    again.recover()
    if step == "create":
        again.commit(4, stage(tmp_path, 4, "b.json"), "id4", whole=True)
    assert rows(tmp_path) == ["4:b.json"] == list(visible(tmp_path).values())
    assert [entry["epoch"] for entry in again._segments.entries()] == [4]


def test_a_reader_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after each step of a commit it has the old rows or, from one moment on, the new ones."""
    manifest = written(tmp_path)
    seen = [rows(tmp_path)]

    def watched(work: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            seen.append(rows(tmp_path))
            result = work(*arguments)
            seen.append(rows(tmp_path))
            return result

        return step

    for owner, step in ((manifests, "create"), (manifests, "replace"), (manifests.os, "replace"), (manifest._segments, "remove")):
        monkeypatch.setattr(owner, step, watched(getattr(owner, step)))
    staged = [*stage(tmp_path, 4, "b.json"), *stage(tmp_path, 4, "c.json")]
    manifest.commit(4, staged, "id4", whole=True)
    old, new = seen[0], ["4:b.json", "4:c.json"]
    assert seen == [old] * seen.count(old) + [new] * seen.count(new) and min(seen.count(old), seen.count(new)) > 3


def test_merged_manifests_are_replaced(tmp_path: Path) -> None:
    manifest = written(tmp_path, 2 * FAN)
    manifest.commit(2 * FAN, stage(tmp_path, 2 * FAN, "b.json"), "last", whole=True)
    assert rows(tmp_path) == [f"{2 * FAN}:b.json"] == list(visible(tmp_path).values())
    assert {path.name for path in (tmp_path / "_headrace").iterdir()} == {"owner.json", "withdrawn", f"{2 * FAN:020}.json"}


def test_earlier_versions_refuse_it(tmp_path: Path) -> None:
    """They would also read the files before it."""
    manifest = written(tmp_path, 1)
    manifest.commit(1, stage(tmp_path, 1, "b.json"), "id1", whole=True)
    manifest.commit(2, stage(tmp_path, 2, "c.json"), "id2")
    assert [entry["format"] for entry in manifest.entries()] == [4, 3]


def test_replaced_rows_do_not_come_back(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    manifest.commit(4, stage(tmp_path, 4, "b.json"), "id4", whole=True)
    check_error(
        """
        CANNOT_REWIND: alerts: epoch 4 replaced all rows that <folder> had
          more: headrace error CANNOT_REWIND
        """,
        lambda: rewound(manifest, "alerts", ports.Mark(1, "id1")),
        hide={str(tmp_path): "<folder>"},
    )
    # to its beginning it comes back
    rewound(manifest, "alerts", ports.Mark()).work()
    assert rows(tmp_path) == []


def test_the_golden_folder() -> None:
    """Epoch 2 has replaced the rows of earlier ones, epoch 3 has added some."""
    folder = GOLDEN / "manifests" / f"{REPLACING}"
    assert rows(folder) == ["2:b.json", "3:c.json"]
    assert Manifest(folder).mark() == Mark(3, "id3")
    assert [entry["format"] for entry in Manifest(folder).entries()] == [REPLACING, FORMAT]
