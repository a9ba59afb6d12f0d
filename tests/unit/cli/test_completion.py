"""Completion: what bash offers after some words, and that the other shells know the same words."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from headrace import cli
from headrace.cli import completion


def offered(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words; nothing means that it goes on with the names of files."""
    spelled = " ".join(f"'{word}'" for word in ("headrace", *words))
    script = f'{completion.bash()}\nCOMP_WORDS=({spelled}); COMP_CWORD={len(words)}; _headrace; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for job in ("fraud", "sums"):
        (tmp_path / ".headrace" / job).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "here"),
    [
        (("do",), ["docs", "doctor"]),
        (("savepoint", "cr"), ["create"]),
        (("savepoint", "create", "f"), ["fraud"]),
        (("stop", ""), ["fraud", "sums"]),
        (("--v",), ["--version"]),
        (("state", ""), ["show", "query"]),
        (("state", "show", ""), ["fraud", "sums"]),
        (("state", "show", "f"), ["fraud"]),
        (("state", "show", "fraud", "--fo"), ["--format"]),
        (("state", "show", "fraud", "--format", ""), ["text", "json"]),
        (("state", "query", "s"), ["sums"]),
        (("letters", "re"), ["replay"]),
        (("letters", "export", "fraud", "sav"), []),
        (("letters", "export", "fraud", "x.json", "--so"), ["--source"]),
        (("doctor", ""), ["fraud", "sums"]),
        (("run", ""), []),  # files
        (("run", "job.py", "--fr"), ["--fresh"]),
        (("run", "job.py", "--checkpoint", ""), []),
        (("sql", "--output", "j"), ["json"]),
        (("packages", ""), ["list", "add"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("schema", ""), ["-h", "--help"]),
        (("prepare", "--in"), []),
    ],
    ids=lambda part: " ".join(part),
)
def test_what_bash_offers(words: tuple[str, ...], here: list[str], folder: Path) -> None:
    assert sorted(offered(folder, *words)) == sorted(here)


def test_jobs_are_not_needed(tmp_path: Path) -> None:
    assert offered(tmp_path, "state", "show", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_knows_all_words(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for name, one in completion.words().items():
        for word in (*name.split(), *one.commands, *one.choices, *(option.lstrip("-") for option in one.options)):
            assert word in text
    assert "in-background" not in text and ".headrace" in text


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_takes_its_script(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["completion", "fish"])
    subprocess.run(["fish", "--no-execute"], input=capsys.readouterr().out, text=True, check=True)
