"""The commands that need Spark: run, explain and plan, over a file as a user writes it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headrace import cli
from headrace.cli import short_life
from headrace.jvm.launch import SHORT_LIVED
from tests.spark.engine.jobs import FIRST, put

pytestmark = pytest.mark.usefixtures("spark")

JOB = """
import headrace as hr

charges = hr.read.files("nowhere", format="json", schema="card string, amount decimal(10,2), ts timestamp", name="charges")
job = hr.job("large", charges.filter("amount > 500").write.files("out", format="json", name="out"))

if __name__ == "__main__":
    raise SystemExit("a loaded file is not run")
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "in", "1.json", FIRST)
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return path


def test_run_with_other_paths(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(file), "--path", "charges=in", "--path", "out=there", "--partitions", "1"]) == 0
    assert capsys.readouterr().out.startswith("large: 4 rows in 1 epoch")
    assert (file.parent / "there" / "_headrace").is_dir()
    # nothing in it goes by time, so it goes on when its folder has grown
    put(file.parent / "in", "2.json", FIRST[:1])
    assert cli.main(["run", str(file), "--path", "charges=in", "--path", "out=there"]) == 0
    captured = capsys.readouterr()
    assert (captured.out.startswith("large: 1 row"), captured.err) == (True, "")
    assert cli.main(["run", str(file), "--path", "charges=in", "--path", "out=there", "--partitions", "3"]) == 1
    assert capsys.readouterr().err.startswith("PARTITIONS_CHANGED: the checkpoint has 1 partitions, not 3")
    # the input is missing: not the job's fault
    assert cli.main(["run", str(file), "--checkpoint", "other"]) == 3
    assert capsys.readouterr().err.startswith("PATH_MISSING")
    assert not (file.parent / "other").exists()


def test_explain_and_plan(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", str(file)]) == 0
    output = capsys.readouterr().out
    assert "  sink    out: files out (json), exactly once\n" in output and "guarantee: " not in output
    assert cli.main(["explain", str(file), "--verbose"]) == 0
    assert "guarantee: exactly once" in capsys.readouterr().out
    assert cli.main(["explain", str(file), "--json"]) == 0
    assert {node["name"] for node in json.loads(capsys.readouterr().out)["nodes"]} == {"charges", "charges.filter", "out"}
    assert cli.main(["plan", str(file)]) == 0
    plan = file.parent / "plan.json"
    plan.write_text(capsys.readouterr().out)
    assert cli.main(["run", str(plan), "--path", "charges=in"]) == 0
    assert capsys.readouterr().out.startswith("large: 4 rows")


def test_spark_starts_for_a_short_life_if_a_job_has_read_few_rows(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.main(["run", str(file), "--path", "charges=in", "--path", "out=there", "--partitions", "1"]) == 0
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dof=user")
    (file.parent / "empty").mkdir()

    def options(checkpoint: str | None) -> str:
        with short_life.short_life(checkpoint):
            inside = os.environ["SPARK_SUBMIT_OPTS"]
        assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dof=user"
        return inside

    short = f"{SHORT_LIVED} -Dof=user"
    assert [options(None), options(".headrace/large"), options("empty"), options("none")] == [short] * 4
    monkeypatch.setattr(short_life, "_FEW", 4)
    assert [options(None), options(".headrace/large"), options("empty")] == ["-Dof=user", "-Dof=user", short]
    monkeypatch.chdir(file.parent / "empty")
    assert options(None) == "-Dof=user"
