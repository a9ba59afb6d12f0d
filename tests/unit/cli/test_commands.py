"""The command line, as far as it needs no Spark."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from headrace import cli
from headrace.cli import completion, pages
from headrace.errors import CODES, REASONS, HeadraceError, Site


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"headrace {metadata.version('headrace')}\n")


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    text = capsys.readouterr().out
    for word in ("run", "sql", "explain", "plan", "state", "demo", "doctor", "packages", "prepare", "completion", "exit code", "130"):
        assert word in text


def test_a_wrong_command_is_not_understood(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["runn"])
    assert ended.value.code == 2
    assert "there is no command runn: did you mean run? There are: run, sql," in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["state", "shw", "folder"], "argument COMMAND: there is no command shw: did you mean show? There are: show, query"),
        (
            ["show", "fraud"],
            "argument COMMAND: there is no command show: did you mean state show or letters show or savepoint show? There are: run, sql, "
            "explain, plan, schema, state, letters, savepoint, why, replay, diff, compare, deploy, rescale, rollback, fork, promote, rewind, status, stop, certify, demo, doctor, error, docs, "
            "packages, prepare, completion",
        ),
        (
            ["explain", "job.py", "--jsn"],
            "there is no option --jsn: did you mean --json? It takes: -h, --help, --job, --path, --as, --verbose, --json",
        ),
        (["explain", "job.py", "--qq=7"], "there is no option --qq: it takes: -h, --help, --job, --path, --as, --verbose, --json"),
        (["completion", "fisch"], "argument shell: there is no choice fisch: did you mean fish? There are: bash, zsh, fish"),
        (
            ["error", "UNKOWN_COLUM"],
            "unknown error code UNKOWN_COLUM: did you mean `UNKNOWN_COLUMN`? `headrace error` lists all codes; those in [brackets] are Spark's",
        ),
        (["error", "Q"], "unknown error code Q: `headrace error` lists all codes; those in [brackets] are Spark's"),
        (
            ["error", "NO_WEIGTH"],
            "unknown error code NO_WEIGTH: did you mean `NO_WEIGHT`? `headrace error` lists all codes; those in [brackets] are Spark's",
        ),
    ],
)
def test_what_was_meant(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert (ended.value.code, capsys.readouterr().err.splitlines()[-1].partition(": error: ")[2]) == (2, message)


def test_the_page_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["error", "no_watermark"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# NO_WATERMARK\n") and "## Fix" in text
    # the name that a code had before
    assert cli.main(["error", "MIXED_CLOCKS"]) == 0
    assert capsys.readouterr().out.startswith("# CLOCKS_MIXED\n")
    assert cli.main(["error", "STATE_CHANGED"]) == 0
    assert "of no use anew, and corrects sinks (headrace docs guides/checkpoints)." in " ".join(capsys.readouterr().out.split())
    assert cli.main(["error", "CHECKPOINT_UNREADABLE"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "(CHECKPOINT_BEHIND)" in text and "Damage (headrace docs guides/checkpoints) describes each file." in text and "](" not in text


def test_a_page_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["docs", "settings"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# Settings\n") and "a script of SQL (headrace docs reference/sql)" in text and "](" not in text
    assert cli.main(["docs", "docs/connectors/kafka.md"]) == 0
    assert "](" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["docs", "seting"])
    message = capsys.readouterr().err.splitlines()[-1].partition(": error: ")[2]
    assert message == "there is no page seting: did you mean `settings`? `headrace docs` lists all pages"
    with pytest.raises(SystemExit):
        cli.main(["docs", "connector"])
    assert "did you mean `connectors`?" in capsys.readouterr().err
    assert cli.main(["docs", "kafka"]) == cli.main(["docs", "connectors/kafka"]) == 0
    one, _, other = capsys.readouterr().out.partition("# Kafka\n")[2].partition("# Kafka\n")
    assert one == other != ""
    assert cli.main(["docs", "compare"]) == 0
    assert capsys.readouterr().out.startswith("# Comparisons\n")
    assert cli.main(["docs", "connectors"]) == cli.main(["docs", "connectors/"]) == 0
    one, _, other = capsys.readouterr().out.partition("# Connectors\n")[2].partition("# Connectors\n")
    assert one == other != ""


def test_all_pages_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["docs"]) == 0
    names = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert {"reference/settings", "reference/cli", "connectors/kafka", "cookbook/top-k"} <= names


def test_what_is_printed_names_no_file_that_the_package_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    """A user of the wheel has no folder `docs`: commands and messages name `headrace docs PAGE`, and there is such a page."""
    source = Path(cli.__file__).parents[1]
    texts = {file: file.read_text(encoding="utf-8") for file in source.rglob("*.py")}
    named_files = {
        str(file.relative_to(source)): names for file, text in texts.items() if (names := re.findall(r"docs/(?!errors/)[a-z]\S*\.md", text))
    }
    assert named_files == {"demo/__init__.py": ["docs/start/demo.md"]}
    named = {name for text in texts.values() for name in re.findall(r"headrace docs ([a-z][a-z/-]*)", text)}
    assert named and named <= pages.shortcuts().keys()


def test_all_codes_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["error"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted([*CODES, *REASONS])
    assert [line for line in lines if line.startswith("PATH_MISSING ")] == [f"{'PATH_MISSING':29}  a path that does not exist"]


def test_an_error_ends_with_the_code_of_its_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "nothing.py"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.split(":")[0]) == ("", "FILE_MISSING")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("start over with fresh=True; flush=False keeps a job open", "start over with --fresh; --no-flush keeps a job open"),
        ("its rows count once; add --again (again=True) to count them again", "its rows count once; add --again to count them again"),
        ("continue with checkpoint=/state/new", "continue with --checkpoint /state/new"),
        ("continue with checkpoint=../new", "continue with --checkpoint ../new"),
        ("give an empty folder as checkpoint=.", "give an empty folder as --checkpoint."),
        ("it lies where checkpoint= said.", "it lies where --checkpoint said."),
        ("longer epochs (every=)", "longer epochs (--every)"),
        ("or wait for them with follow=True", "or wait for them with follow=True"),
        ('write to other places, or put back refresh="1 hour"', 'write to other places, or put back refresh="1 hour"'),
    ],
)
def test_arguments_are_options_on_the_command_line(
    hint: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failed(arguments: object) -> int:
        site = Site("job.py", 1, "job.run(fresh=True)")
        also = HeadraceError("PATH_EMPTY", "with fresh=True nothing is there")
        raise HeadraceError("STATE_CHANGED", "it changed", hint=hint, site=site, also=[also])

    monkeypatch.setattr(cli.error, "run", failed)
    assert cli.main(["error"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == ["STATE_CHANGED: it changed", "  at job.py:1: job.run(fresh=True)", f"  hint: {shown}"]
    assert lines[5] == "PATH_EMPTY: with --fresh nothing is there"


def test_doctor_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["doctor", "--json"])
    checks = json.loads(capsys.readouterr().out)
    assert checks[0]["name"] == "Python"
    assert code == (4 if any(check["required"] and not check["ok"] for check in checks) else 0)


@pytest.mark.parametrize("arguments", [["--job", "x"], ["fraud", "--checkpoint", "x"], [".headrace/fraud", "--path", "a=b"]])
def test_doctor_takes_options_of_a_file_with_one_only(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["doctor", *arguments])
    assert capsys.readouterr().err.endswith("error: --job, --path, --as and --checkpoint need the FILE of a job\n")


def test_doctor_names_a_connector_of_spark_that_is_of_another_version(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor"])
    kafka = [line for line in capsys.readouterr().out.splitlines() if "  kafka: " in line]
    version = metadata.version("pyspark")
    other = [f"ok       kafka: Spark's connector 4.2.0 on Spark {version}: the latest that Maven Central has for it"]
    assert kafka == ([] if version == "4.2.0" else other)


def test_the_commands_about_state(capsys: pytest.CaptureFixture[str]) -> None:
    show = cli.parser().parse_args(["state", "show", "folder"])
    assert (show.checkpoint, show.table, show.epoch, show.limit, show.format) == ("folder", None, None, 20, "text")
    ask = cli.parser().parse_args(["state", "query", "folder", "SELECT 1", "--epoch", "7", "--limit", "0", "--format", "json"])
    assert (ask.checkpoint, ask.sql, ask.epoch, ask.limit, ask.format) == ("folder", "SELECT 1", 7, 0, "json")
    for wrong in (["state"], ["state", "show"], ["state", "query", "folder"], ["state", "show", "folder", "--limit", "-1"]):
        with pytest.raises(SystemExit) as ended:
            cli.parser().parse_args(wrong)
        assert ended.value.code == 2
    capsys.readouterr()
    show_words = completion.words()["state show"]
    assert show_words.options["--format"] == ("text", "json")
    assert {"--table", "--epoch", "--limit"} <= show_words.options.keys()


JOB_COMMANDS = [
    ["state", "show"],
    ["state", "query", "sums", "SELECT 1"],
    ["letters", "show"],
    ["letters", "export", "sums", "x.json", "--source", "s"],
    ["letters", "replay", "sums", "x.json", "--source", "s"],
    ["doctor"],
]


@pytest.mark.parametrize("command", JOB_COMMANDS, ids=" ".join)
def test_a_name_means_the_job_and_not_a_folder_beside_it(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def meant(text: str) -> str:
        arguments = [text if word == "sums" else word for word in command]
        folder: str = cli.parser().parse_args(arguments if len(command) > 2 else [*command, text]).checkpoint
        return folder

    monkeypatch.chdir(tmp_path)
    Path("sums").mkdir()
    assert meant("sums") == "sums"
    Path(".headrace/sums").mkdir(parents=True)
    assert (meant("sums"), meant("./sums"), meant(".headrace/sums")) == (".headrace/sums", "./sums", ".headrace/sums")
    Path("sums/job.json").touch()
    assert (meant("./sums"), meant(".headrace/sums")) == ("./sums", ".headrace/sums")
    with pytest.raises(SystemExit):
        meant("sums")
    message = capsys.readouterr().err.splitlines()[-1].partition(": error: ")[2]
    assert message == "argument JOB: sums is both a job, in .headrace/sums, and a checkpoint, in ./sums: write one of these paths"


def test_the_module_is_the_command() -> None:
    completed = subprocess.run([sys.executable, "-m", "headrace", "--version"], capture_output=True, text=True, check=True)
    assert completed.stdout.startswith("headrace ")
