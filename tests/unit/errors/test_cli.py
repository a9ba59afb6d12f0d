"""Errors of files that jobs are loaded from, and of the command line."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

import headrace as hr
from headrace.cli import main
from headrace.plan import Plan
from tests.unit.errors import check_error

SOURCE = """
    import headrace as hr
    from headrace.engine import Job
    from headrace.plan import Plan

    charges = hr.read.memory([], "card string, amount int", name="charges")
"""


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def file(*lines: str) -> str:
    """A file job.py of a few lines behind a source; its jobs are made without looking at types, which needs no session."""
    Path("job.py").write_text(textwrap.dedent(SOURCE) + "\n".join(lines) + "\n", encoding="utf-8")
    return "job.py"


def job_line(name: str) -> str:
    return f'{name} = Job(Plan.of("{name}", [charges.write.memory()._use()]))'


def test_missing_file(tmp_path: Path) -> None:
    check_error(
        """
        FILE_MISSING: jobs/fraud.py does not exist
          hint: the full path is <folder>/jobs/fraud.py
          more: headrace error FILE_MISSING
        """,
        lambda: hr.load("jobs/fraud.py"),
        hide={str(tmp_path): "<folder>"},
    )


def test_file_of_another_kind() -> None:
    Path("job.ipynb").touch()
    check_error(
        """
        FILE_KIND: job.ipynb is not a Python, SQL, YAML or JSON file
          hint: use a .py, .sql, .yaml or .yml file that defines a job, or a plan in a .json file
          more: headrace error FILE_KIND
        """,
        lambda: hr.load("job.ipynb"),
    )


def test_file_that_raises() -> None:
    path = file("rate = 1 / 0")
    check_error(
        """
        FILE_FAILED: job.py raised ZeroDivisionError: division by zero
          at job.py:*: rate = 1 / 0
          more: headrace error FILE_FAILED
        """,
        lambda: hr.load(path),
    )


def test_file_that_is_no_python() -> None:
    path = file("rate = = 1")
    check_error(
        """
        FILE_FAILED: job.py is not valid Python: invalid syntax
          at job.py:*: rate = = 1
          more: headrace error FILE_FAILED
        """,
        lambda: hr.load(path),
    )


def test_file_without_a_job() -> None:
    path = file()
    check_error(
        """
        JOB_UNKNOWN: job.py creates no job
          hint: assign one to a variable at the top level of the file: job = hr.job("name", ...)
          more: headrace error JOB_UNKNOWN
        """,
        lambda: hr.load(path),
    )


def test_file_with_several_jobs() -> None:
    path = file(job_line("fraud"), job_line("sums"))
    check_error(
        """
        JOB_UNKNOWN: job.py creates several jobs: fraud, sums
          hint: choose one: --job NAME, or hr.load(path, job=NAME)
          more: headrace error JOB_UNKNOWN
        """,
        lambda: hr.load(path),
    )


def test_job_that_a_file_does_not_make() -> None:
    path = file(job_line("fraud"), job_line("sums"))
    check_error(
        """
        JOB_UNKNOWN: job.py has no job frauds
          hint: did you mean `fraud`? It has: fraud, sums
          more: headrace error JOB_UNKNOWN
        """,
        lambda: hr.load(path, job="frauds"),
    )


def test_file_that_runs_something() -> None:
    path = file("hr.show(charges)")
    check_error(
        """
        RUN_WHILE_LOADING: hr.show is called while job.py is being loaded
          at job.py:*: hr.show(charges)
          hint: put it under `if __name__ == "__main__":`, so that only `python FILE` runs it
          more: headrace error RUN_WHILE_LOADING
        """,
        lambda: hr.load(path),
    )


def test_path_option_without_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    charges = hr.read.memory([], "card string, amount int", name="charges")
    plan = Plan.of("fraud", [charges.write.console()._use()])
    Path("plan.json").write_text(json.dumps(plan.to_json()), encoding="utf-8")
    assert main(["run", "plan.json", "--path", "charges"]) == 1
    check_error(
        """
        BAD_SETTING: --path expects NAME=PATH, got `charges`
          hint: write the name of a source or sink and its path: --path charges=other/folder
          more: headrace error BAD_SETTING
        """,
        capsys.readouterr().err,
    )
