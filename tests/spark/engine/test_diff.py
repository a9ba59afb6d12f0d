"""What another version would keep, said before anything is touched: of jobs, checkpoints and savepoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli
from tests.spark.engine.jobs import files
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

JOB = """
import headrace as hr

rows = hr.read.files("in", format="json", schema="k int, v int", name="{source}")
sums = rows.group_by("k").agg(s="{text}").named("sums")
sinks = [sums.write.files("out", format="json", mode="changes", name="out")]
if {deeper}:
    sizes = rows.group_by("v").agg(n="count(*)").group_by("n").agg(vs="count(*)").named("sizes")
    sinks.append(sizes.write.files("sizes", format="json", mode="changes", name="sizes_out"))
job = hr.job("sums", *sinks)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/1.json").write_text("".join(json.dumps({"k": i % 3, "v": i}) + "\n" for i in range(9)))
    return tmp_path


def version(name: str, *, source: str = "rows", text: str = "sum(v)", deeper: bool = False) -> str:
    Path(name).write_text(JOB.format(source=source, text=text, deeper=deeper))
    return name


def lines(difference: Any) -> list[str]:
    _, *rest = str(difference).splitlines()
    return [" ".join(line.split()) for line in rest]


def test_files_checkpoints_and_savepoints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, deeper = version("one.py"), version("deeper.py", deeper=True)
    job = hr.load(one)
    job.run(progress=False, partitions=1)
    job.savepoint("then")
    before = files(folder / ".headrace" / "sums")
    places = (one, "sums", ".headrace/sums", ".headrace/sums/savepoints/then")
    for old in places:
        assert cli.main(["diff", old, one]) == 0
        same = capsys.readouterr().out.splitlines()[1:]
        assert [" ".join(line.split()) for line in same] == ["kept source rows", "kept operator sums", "kept sink out"]
    for old in places:
        assert cli.main(["diff", old, deeper, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        judged = {one["name"]: one["verdict"] for one in report["verdicts"]}
        assert judged == {
            "rows": "kept",
            "sums": "kept",
            "aggregate(rows)": "new",
            "sizes": "new",
            "out": "kept",
            "sizes_out": "new",
        }
        assert not report["refusals"]
    # and back: the deploy says the same, and then does it
    deployment = hr.load(deeper).deploy()
    assert {one.name: one.verdict for one in deployment.verdicts} == judged
    assert files(folder / ".headrace" / "sums") != before
    assert lines(hr.diff(".headrace/sums", hr.load(one))) == [
        "kept source rows",
        "kept operator sums",
        "dropped operator aggregate(rows)",
        "dropped operator sizes",
        "kept sink out",
        "dropped sink sizes_out",
    ]


def test_what_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = version("one.py")
    hr.load(one).run(progress=False, partitions=1)
    before = files(folder / ".headrace" / "sums")
    other = hr.load(version("other.py", text="max(v)"))
    renamed = hr.load(version("renamed.py", source="sales"))
    assert cli.main(["diff", "sums", "other.py"]) == 0
    assert "\nrefused: " not in capsys.readouterr().out
    said = lines(hr.diff(".headrace/sums", other))
    changed = 'aggregates is [["s", "max(v)"]] instead of [["s", "sum(v)"]]'
    rebuilt = f"rebuilt operator sums: computes something different; {changed}; 9 rows read again"
    assert said[:3] == ["kept source rows", rebuilt, "corrected sink out"]
    said = lines(hr.diff(".headrace/sums", renamed))
    assert "refused: the source sales reads what the source rows has read, and would read all of it again" in said
    # a dry run says so, too, and a deploy is refused
    dry = renamed.deploy(dry_run=True)
    assert (str(dry).splitlines()[0], str(dry).splitlines()[-1], dry.unchanged) == (
        f"sums: cannot be deployed to {folder / '.headrace' / 'sums'}",
        "nothing was changed",
        False,
    )
    with pytest.raises(hr.CheckpointError, match="STATE_CHANGED"):
        renamed.deploy()
    assert files(folder / ".headrace" / "sums") == before


def test_a_sink_that_cannot_be_corrected(folder: Path) -> None:
    """That is said, too, and no error."""

    def job(over: int) -> hr.Job:
        rows = hr.read.files("in", format="json", schema="k int, v int", name="rows")
        return hr.job("large", rows.filter(f"v > {over}").write.files("large", format="json", name="large"))

    assert lines(hr.diff(job(3), job(5))) == [
        "kept source rows",
        "corrected sink large",
        "refused: large gets other rows than before, and can only add rows",
    ]


def test_what_cannot_be_compared(folder: Path) -> None:
    job = hr.load(version("one.py"))
    check_error(
        """
        BAD_INPUT: hr.diff compares jobs and checkpoints, got 3
          at test_diff.py:*: lambda: hr.diff(3, job),  # type: ignore[arg-type]
          hint: pass a job, or the folder of a checkpoint: hr.diff(".headrace/fraud", job)
          more: headrace error BAD_INPUT
        """,
        lambda: hr.diff(3, job),  # type: ignore[arg-type]
    )
    with pytest.raises(hr.CheckpointError, match="NOT_A_CHECKPOINT"):
        hr.diff(folder / "away", job)
