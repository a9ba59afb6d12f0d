"""A small certificate: files, killed at two points. All points and connectors: `make certify`."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

import headrace as hr
from headrace.certify import certify
from headrace.cli import main
from tests.spark.conformance.lines import lines_by_name

__all__ = ["lines_by_name"]

JOB = """
import headrace as hr

rows = hr.read.memory([(id, f"k{{id % 3}}") for id in range(60)], "id bigint, k string", name="rows")
counts = rows.group_by("k").agg(n="count(*)")
job = hr.job("small", counts.write.files(r"{out}", format="parquet", mode="changes", name="counted"))
"""


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_a_certificate_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.py").write_text(JOB.format(out=tmp_path / "out"))
    arguments = [
        str(tmp_path / "job.py"),
        "--points",
        "in sink commit",
        "--fails",
        "--epochs",
        "4",
        "--out",
        str(tmp_path / "said"),
    ]
    assert main(["certify", *arguments]) == 0
    output, progress = capsys.readouterr()
    assert output.startswith("small: killed 1 time, made to fail 1 time\n  counted (files): exactly once, 3 rows\n")
    assert "headrace: faults so far: 2" in progress
    # nothing was written where the job itself writes
    assert not (tmp_path / "out").exists()
    kept = json.loads((tmp_path / "said" / "small.json").read_text())
    tried = [(one["point"], one["of"], one["kills"], one["lost"], one["doubled"]) for one in kept["tried"]]
    assert tried == [
        ("in sink commit", "counted", 1, {}, {}),
        ("made to fail, in sink commit", "counted", 1, {}, {}),
    ]
    assert (tmp_path / "said" / "small.md").read_text().startswith("# small: killed 1 time, made to fail 1 time\n")


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_random_kills_of_processes_and_executors(tmp_path: Path) -> None:
    rows = hr.read.memory([(id,) for id in range(400)], "id bigint", name="rows")
    job = hr.job("random", rows.distinct().write.files(tmp_path / "out", format="json", name="copied", mode="changes"))
    certificate = certify(job, points=[], random=3, seed=5)
    assert (certificate.kills, certificate.holds) == (3, True), certificate
    certificate = certify(job, points=["after staging"], executors=1, epochs=3)
    assert ({one.point for one in certificate.tried}, certificate.holds) == ({"after staging", "at random"}, True), certificate


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_what_is_made_to_fail(tmp_path: Path) -> None:
    rows = hr.read.memory([(id,) for id in range(60)], "id bigint", name="rows")
    job = hr.job("failing", rows.write.files(tmp_path / "out", format="json", name="copied"))
    certificate = certify(job, points=[], fails=["in a task", "before sink commit", "before the commit log"], epochs=4)
    tried = [(one.point, one.of, one.kills, one.lost, one.doubled, one.failed) for one in certificate.tried]
    points = [("before sink commit", "copied"), ("before the commit log", "main"), ("in a task", "copied")]
    assert tried == [(f"made to fail, {point}", of, 1, {}, {}, "") for point, of in points]


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_servers_are_restarted_while_a_process_sleeps(tmp_path: Path) -> None:
    rows = hr.read.memory([(id,) for id in range(60)], "id bigint", name="rows")
    job = hr.job("spared", rows.write.files(tmp_path / "out", format="json", name="copied"))
    asleep: list[int] = []

    def restart() -> None:
        asleep.append(len(sleeping()))

    certificate = certify(job, points=["in a task", "before sink commit"], epochs=3, outages={"server restarted": restart})
    assert [count > 0 for count in asleep] == [True, True]
    tried = [(one.point, one.of, one.kills, one.lost, one.doubled, one.failed) for one in certificate.tried]
    assert tried == [(f"server restarted, {point}", "copied", 1, {}, {}, "") for point in ("before sink commit", "in a task")]


def sleeping() -> list[int]:
    """The processes that were stopped and belong to a certification."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stopped = (process / "stat").read_text().rpartition(")")[2].split()[0] == "T"
            if stopped and b"headrace-certify-" in (process / "cmdline").read_bytes():
                processes.append(int(process.name))
    return processes


@pytest.mark.full
@pytest.mark.usefixtures("spark", "lines_by_name")
@pytest.mark.parametrize(
    ("fault", "lost", "doubled"), [("loses", [False, True], [False, False]), ("doubles", [False, False], [True, False])]
)
def test_a_broken_sink_has_no_certificate(tmp_path: Path, fault: str, lost: list[bool], doubled: list[bool]) -> None:
    rows = hr.read.memory([(id,) for id in range(60)], "id bigint", name="rows")
    job = hr.job("broken", rows.write.lines(str(tmp_path / "out"), fault, name="out"))  # type: ignore[attr-defined]  # of a test's own
    certificate = certify(job, points=["after sink commit", "after the commit log"], epochs=4)
    assert [one.point for one in certificate.tried] == ["after sink commit", "after the commit log"]
    assert ([bool(one.lost) for one in certificate.tried], [bool(one.doubled) for one in certificate.tried]) == (lost, doubled), certificate
    assert not certificate.holds
