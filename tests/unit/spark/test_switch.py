"""The switch to a new version, cut off at every call that changes the disk: then the checkpoint is that of one version or the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import points
from headrace.points import DEPLOY_CALL, Armed, Injected
from headrace.spark.checkpoint import switch

OLD = {
    "job.json": "old",
    "queries/main/offsets/3": "old",
    "queries/main/state/0/0/4.zip": "old",
    "queries/other/offsets/7": "old",
    "queries/same/offsets/1": "same",
    "epochs/main/3.json": "old",
    "epochs/other/7.json": "old",
    "record/main.1.json": "old",
    "record/other.1.json": "old",
    "record/main_2.1.json": "same",
}
NEW = {
    "job.json": "new",
    "queries/main/offsets/7": "new",
    "queries/more/offsets/7": "new",
    "epochs/main/7.json": "new",
    "epochs/more/7.json": "new",
    "record/main.2.json": "new",
    "record/more.2.json": "new",
}
SWITCHED = {**NEW, "queries/same/offsets/1": "same", "record/main_2.1.json": "same"}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def prepared(folder: Path) -> None:
    write(folder, OLD)
    write(switch.prepare(folder), NEW)


def calls_until(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arm the point of this number, for one test."""
    monkeypatch.setattr(points, "_armed", Armed(DEPLOY_CALL, "deploy", number, "fail"))
    monkeypatch.setattr(points, "_passed", 0)
    monkeypatch.setattr(points, "OFF", False)


def cut_off(folder: Path, number: int) -> bool:
    """Switch until a call; whether it came to that."""
    with pytest.MonkeyPatch.context() as patch:
        calls_until(number, patch)
        try:
            with points.calls("deploy", DEPLOY_CALL):
                switch.commit(folder, ["other"])
        except Injected:
            return True
    return False


def every_call(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    number = 1
    while True:
        folder = tmp_path / str(number)
        prepared(folder)
        if not cut_off(folder, number):
            return
        yield number, folder
        number += 1


def test_every_call(tmp_path: Path) -> None:
    before = after = 0
    for _, folder in every_call(tmp_path):
        if switch.is_switching(folder):
            switch.finish(folder)
            assert contents(folder) == SWITCHED
            after += 1
        else:
            held = {name: text for name, text in contents(folder).items() if not name.startswith("next/")}
            assert held in (OLD, SWITCHED)
            before += held == OLD
            after += held == SWITCHED
        switch.finish(folder)
        assert not switch.is_switching(folder)
    # both happen, and not at single calls
    assert min(before, after) > 5, (before, after)


def test_a_finish_that_is_cut_off_is_finished(tmp_path: Path) -> None:
    """As often as it takes."""
    prepared(tmp_path)
    number, tries = 1, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(switch, "finish", lambda folder: None)
        switch.commit(tmp_path, ["other"])
    assert switch.is_switching(tmp_path)
    while switch.is_switching(tmp_path):
        with pytest.MonkeyPatch.context() as patch:
            calls_until(number, patch)
            try:
                with points.calls("deploy", DEPLOY_CALL):
                    switch.finish(tmp_path)
            except Injected:
                tries += 1
        number += 1
        assert tries < 500
    assert tries > 3
    assert contents(tmp_path) == SWITCHED
