"""A new version whose operators and sinks need other rows: after a deploy they are as if the version had run from the start."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from tests.spark.engine.jobs import lines
from tests.spark.engine.pairs import AGAIN, BESIDE, KEPT, PAIRS, STARTS, Pair, add, check_equal, sums

pytestmark = pytest.mark.usefixtures("spark")

SAMPLE = ("left join",)
ALL = [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.full) for name in PAIRS]


def run(job: hr.Job, checkpoint: Path, partitions: int | None = None) -> hr.Summary:
    return job.run(checkpoint=checkpoint, progress=False, flush=False, partitions=partitions)


def check_report(pair: Pair, deployment: hr.Deployment) -> None:
    """What a pair says of the operators is what the report says: what is kept is not read again, and the rest is."""
    operators = [one for one in deployment.verdicts if one.part == "operator"]
    kept = {one.name for one in operators if one.verdict in ("kept", "moved", "evolved")}
    assert kept == set(pair.kept).union(*(KEPT[name] for name in pair.beside)), deployment
    assert all(one.read == 0 for one in operators if one.name in kept), deployment
    # a consolidation keeps nothing from one epoch to the next, and upserts of unique rows keep nothing either
    keeps = [one for one in operators if one.keys or not one.name.startswith(("consolidate(", "upserts("))]
    anew = [one for one in keeps if one.verdict in ("rebuilt", "new")]
    assert all(one.read > 0 for one in anew), deployment
    works = {one.verdict for one in deployment.verdicts if one.part != "source"} & {"rebuilt", "corrected", "new"}
    assert bool(works) == (pair.how == AGAIN), deployment


def foretold(pair: Pair, job: hr.Job, checkpoint: Path) -> list[tuple[str, str, str]]:
    """The verdicts of a preview, which are also those of `hr.diff`."""
    preview = job.deploy(checkpoint=checkpoint, on_change=pair.on_change, partitions=pair.partitions, dry_run=True)
    if not pair.on_change and pair.partitions is None:
        assert verdicts(hr.diff(checkpoint, job)) == verdicts(preview.diff)
    return verdicts(preview.diff)


def verdicts(diff: hr.Diff) -> list[tuple[str, str, str]]:
    return [(one.part, one.name, one.verdict) for one in diff.verdicts]


@pytest.mark.parametrize("name", ALL)
def test_as_from_the_start(name: str, tmp_path: Path) -> None:
    pair = PAIRS[name]
    out, afresh, state, other = (tmp_path / place for place in ("out", "afresh", "state", "other"))
    for part in (0, 1):
        add(tmp_path, part)
        run(pair.old(tmp_path, out), state, 3)
    before = {one: sorted((out / one).rglob("*.json")) for one in BESIDE}
    said = foretold(pair, pair.new(tmp_path, out), state)
    if pair.refused:
        with pytest.raises(hr.HeadraceError) as refused:
            pair.new(tmp_path, out).deploy(checkpoint=state, on_change=pair.on_change, partitions=pair.partitions)
        assert refused.value.code == pair.refused
        return
    deployment = pair.new(tmp_path, out).deploy(checkpoint=state, on_change=pair.on_change, partitions=pair.partitions)
    assert verdicts(deployment.diff) == said
    check_report(pair, deployment)
    assert deployment.unchanged == (pair.how == STARTS)
    summary = run(pair.new(tmp_path, out), state)
    assert bool(summary.rows) == pair.reads_new
    assert run(pair.new(tmp_path, afresh), other, 3).rows
    check_equal(pair, out, afresh)
    # what has not changed is left alone
    assert {one: sorted((out / one).rglob("*.json")) for one in BESIDE} == before
    add(tmp_path, 2)
    for place, checkpoint in ((out, state), (afresh, other)):
        run(pair.new(tmp_path, place), checkpoint)
    check_equal(pair, out, afresh)
    # no program holds rows of the version before any more
    was = [sums(pair, place) if pair.how == STARTS else [] for place in (out, afresh)]
    # and at the end of time
    add(tmp_path, 3)
    for place, checkpoint in ((out, state), (afresh, other)):
        pair.new(tmp_path, place).run(checkpoint=checkpoint, progress=False)
    check_equal(pair, out, afresh)
    if pair.how == STARTS:
        ours, theirs = (
            [b - a for a, b in zip(then, sums(pair, place), strict=True)] for then, place in zip(was, (out, afresh), strict=True)
        )
        assert ours == theirs and all(ours)
    assert all(map(lines, afresh.iterdir()))
