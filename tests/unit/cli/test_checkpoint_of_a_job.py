"""Commands that take a JOB look where `headrace run` keeps its state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace as hr
from headrace import cli
from headrace.plan import Plan
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.compile.identity import Identity

COMMANDS = [
    ["state", "show", "{}"],
    ["state", "query", "{}", "SELECT 1"],
    ["letters", "show", "{}"],
    ["letters", "export", "{}", "x.json", "--source", "s"],
    ["letters", "replay", "{}", "x.json", "--source", "s"],
    ["doctor", "{}"],
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def keep(folder: str, job: str = "sums") -> None:
    """The checkpoint of a job."""
    plan = Plan.of(job, [hr.read.rate(1, name="beats").write.memory(name="out")._use()])
    Path(folder).mkdir(parents=True)
    Path(folder, "job.json").write_text(json.dumps(Stored("c1", job, plan.to_json(), {}, 1, Identity()).to_json()), encoding="utf-8")


def meant(command: list[str], text: str = "sums") -> str:
    folder: str = cli.parser().parse_args([word.format(text) for word in command]).checkpoint
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_headrace_toml_says_where(command: list[str]) -> None:
    keep("state/of-sums")
    keep(".headrace/sums")
    Path("headrace.toml").write_text('[job.sums]\ncheckpoint = "state/of-sums"\n', encoding="utf-8")
    assert (meant(command), meant(command, "./sums"), meant(command, "others")) == ("state/of-sums", "./sums", "others")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_environment_says_where(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    keep("state/of-sums")
    Path("headrace.toml").write_text('[job]\ncheckpoint = "elsewhere"\n', encoding="utf-8")
    monkeypatch.setenv("HEADRACE_CHECKPOINT", "state/of-sums")
    assert meant(command) == "state/of-sums"


def test_a_checkpoint_that_is_not_there_is_looked_for_where_it_would_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADRACE_CHECKPOINT", "state")
    keep(".headrace/sums")
    assert cli.main(["letters", "show", "sums"]) == 1
    assert capsys.readouterr().err.startswith(
        f"NOT_A_CHECKPOINT: {tmp_path / 'state'} is not a checkpoint: there is no such folder; nor is sums\n"
    )


def test_a_folder_that_the_settings_do_not_mean(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HEADRACE_CHECKPOINT", "state")
    keep("state", "others")
    assert cli.main(["letters", "show", "sums"]) == 1
    assert capsys.readouterr().err.startswith(
        "CHECKPOINT_OTHER_JOB: state, which the settings give for the job sums, is the checkpoint of others\n"
    )
    keep("sums")
    assert meant(["doctor", "{}"]) == "sums"


def test_settings_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("headrace.toml").write_text("[job", encoding="utf-8")
    assert cli.main(["state", "show", "sums"]) == 1
    assert capsys.readouterr().err.startswith("BAD_SETTING: headrace.toml cannot be read: ")
