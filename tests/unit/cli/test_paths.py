"""Paths on the command line that cannot be used: each is an error with a code, and none a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace as hr
from headrace import cli
from headrace.jvm import cache
from headrace.plan import Plan
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.compile.identity import Identity


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the checkpoint of a job, a job as a plan, a folder, a file."""
    monkeypatch.chdir(tmp_path)
    charges = hr.read.files("in", format="json", schema="card string, amount int", name="charges")
    plan = Plan.of("fraud", [charges.write.files("out", format="json", name="out")._use()])
    Path(".headrace/fraud").mkdir(parents=True)
    stored = Stored("c1", "fraud", plan.to_json(), {}, 1, Identity())
    Path(".headrace/fraud/job.json").write_text(json.dumps(stored.to_json()), encoding="utf-8")
    Path("plan.json").write_text(json.dumps(plan.to_json()), encoding="utf-8")
    Path("folder").mkdir()
    Path("file").touch()


FILES = ("nowhere.json", "folder", "file/x.json")


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize(
    "command",
    [
        "run {}",
        "explain {}",
        "plan {}",
        "certify {}",
        "rewind {}",
        "deploy {}",
        "rescale {} --partitions 2",
        "sql {}",
        "letters replay fraud {} --source charges",
    ],
)
def test_a_file_that_is_not_there(command: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command.format(path).split()) == 1
    message = capsys.readouterr().err.splitlines()[0]
    assert message == f"FILE_MISSING: {'folder is a folder, not a file' if path == 'folder' else f'{path} does not exist'}"


def test_the_doctor_takes_a_file_by_its_ending(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "nowhere.py"]) == 1
    assert capsys.readouterr().err.startswith("FILE_MISSING: nowhere.py does not exist\n")


@pytest.mark.parametrize("path", ["nowhere", "folder", "file", "file/x"])
@pytest.mark.parametrize(
    "command",
    [
        "state show {}",
        "state query {} SELECT",
        "letters show {}",
        "letters export {} x.json --source charges",
        "letters replay {} plan.json --source charges",
        "doctor {}",
    ],
)
def test_a_job_that_is_not_there(command: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command.format(path).split()) == 1
    why = {"folder": "it has no job.json", "file": "it is a file"}.get(path, "there is no such folder")
    why += "" if "/" in path else f"; nor is .headrace/{path}"
    assert capsys.readouterr().err.splitlines()[0] == f"NOT_A_CHECKPOINT: {Path(path).absolute()} is not a checkpoint: {why}"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("letters export fraud nowhere/x.json --source charges", "nowhere/x.json cannot be written: No such file or directory"),
        ("letters export fraud folder --source charges", "folder cannot be written: Is a directory"),
        ("letters export fraud file/x --source charges", "file/x cannot be written: Not a directory"),
        ("certify plan.json --points none --out file", "file cannot be written: File exists"),
        ("certify plan.json --points none --out file/x", "file/x cannot be written: Not a directory"),
    ],
)
def test_a_place_that_cannot_be_written(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command.split()) == 4
    assert capsys.readouterr().err.splitlines()[0] == f"FOLDER_NOT_WRITABLE: {message}"


def test_a_folder_of_the_demo_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--out", "file"]) == 4
    assert capsys.readouterr().err.splitlines()[0] == f"FOLDER_NOT_WRITABLE: {tmp_path / 'file'} cannot be written: File exists"


def test_a_cache_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", "file")
    with pytest.raises(hr.HeadraceError, match=f"FOLDER_NOT_WRITABLE: {tmp_path / 'file/kernel'} cannot be written: Not a directory"):
        cache.folder("kernel")
    assert cli.main(["doctor"]) == 4
    assert f"MISSING  cache: {tmp_path / 'file'} is not a folder: {tmp_path / 'file'} is a file\n" in capsys.readouterr().out
