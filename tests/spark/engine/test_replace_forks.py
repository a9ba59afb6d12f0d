"""A deploy with `on_change="replace"` and forks: of a job whose replacement waits, of a version that replaces rows, and a promoted one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import headrace as hr
from headrace.engine import deploy_beside, promote
from headrace.engine.fork import named
from tests.spark.engine.pairs import ROWS, add, read
from tests.spark.engine.test_replace import ALL, deploy, job, run, there, wanted

pytestmark = pytest.mark.usefixtures("spark")


def continued(job: hr.Job, checkpoint: Path) -> hr.Summary:
    return job.run(checkpoint=checkpoint, progress=False, flush=False)


@pytest.mark.full
def test_a_fork_while_a_replacement_waits(tmp_path: Path) -> None:
    """The fork fills its own sinks with the rows of the version; its parent replaces its rows later, as if nothing had been forked."""
    add(tmp_path, 0)
    run(job(tmp_path, 10), tmp_path)
    deploy(tmp_path, 40)
    second = job(tmp_path, 40, "second")
    fork = hr.fork(tmp_path / "state", second, checkpoint=tmp_path / "state2")
    assert {one.name: one.verdict for one in fork.verdicts if one.part == "sink"} == dict.fromkeys(ALL, "corrected")
    add(tmp_path, 1)
    continued(second, tmp_path / "state2")
    assert there(tmp_path, "second") == wanted(tmp_path, 40)
    run(job(tmp_path, 40), tmp_path)
    assert there(tmp_path) == wanted(tmp_path, 40)


@pytest.mark.full
def test_a_fork_whose_sink_cannot_replace_rows(tmp_path: Path) -> None:
    """It is filled, although its parent's rows were to be replaced: it holds none."""
    add(tmp_path, 0)
    run(job(tmp_path, 10), tmp_path)
    deploy(tmp_path, 40)
    rows: list[tuple[int, int]] = []
    large = read(tmp_path, "rows", ROWS).filter("v > 40").select("k", "v")
    called = large.write.foreach_batch(lambda frame, _: rows.extend(map(tuple, frame.collect())), name="log")
    hr.fork(tmp_path / "state", hr.job("called", called), checkpoint=tmp_path / "state2")
    add(tmp_path, 1)
    continued(hr.job("called", called), tmp_path / "state2")
    assert Counter(rows) == wanted(tmp_path, 40)[0]


@pytest.mark.full
def test_a_fork_that_replaces(tmp_path: Path) -> None:
    """Its first version fills its sinks, its second one replaces their rows; those of its parent stay."""
    add(tmp_path, 0)
    run(job(tmp_path, 10), tmp_path)
    first, second = job(tmp_path, 40, "second"), job(tmp_path, 99, "second")
    hr.fork(tmp_path / "state", first, checkpoint=tmp_path / "state2", on_change=dict.fromkeys(ALL, "replace"))
    continued(first, tmp_path / "state2")
    assert there(tmp_path, "second") == wanted(tmp_path, 40)
    second.deploy(checkpoint=tmp_path / "state2", on_change=ALL)
    assert there(tmp_path, "second") == wanted(tmp_path, 40)
    add(tmp_path, 1)
    continued(second, tmp_path / "state2")
    assert there(tmp_path, "second") == (Counter(), Counter(), Counter())
    run(job(tmp_path, 10), tmp_path)
    assert there(tmp_path) == wanted(tmp_path, 10)


@pytest.mark.full
def test_a_version_beside_its_job_is_promoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    add(tmp_path, 0)
    run(job(tmp_path, 10), tmp_path)
    two = job(tmp_path, 40, database="db-two")
    earlier = there(tmp_path)
    fork, places = deploy_beside(two, "two", checkpoint=tmp_path / "state", on_change=dict.fromkeys(ALL, "replace"))
    add(tmp_path, 1)
    continued(named(two.with_paths(places), "two"), fork.checkpoint)
    assert there(tmp_path) == earlier
    report = promote(fork.checkpoint, paths={}, on_change=ALL)
    assert {one.name: one.verdict for one in report.verdicts if one.part == "sink"} == dict.fromkeys(ALL, "replaced")
    add(tmp_path, 2)
    run(job(tmp_path, 40), tmp_path)
    assert there(tmp_path) == wanted(tmp_path, 40)
