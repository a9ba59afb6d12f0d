"""What released versions wrote is read: their plans, and their checkpoints, which go on as if nothing had happened, also on another Spark."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests import golden

pytestmark = pytest.mark.usefixtures("spark")


def checkpoints() -> list[Any]:
    """All of them; every run of the tests has those of the oldest version and of the older Spark, and the same jobs of the newest version."""
    *_, newest = versions = sorted({case.parents[1].name for case in golden.checkpoints()}, key=int)
    old = {case.name for case in golden.checkpoints() if case.parents[1].name == versions[0]}
    older = [pytest.param(case, id=f"{golden.OLDER.name}-{case.name}") for case in golden.of_older_spark()]
    return older + [
        pytest.param(
            case,
            id=f"{(version := case.parents[1].name)}-{case.name}",
            marks=() if version in (versions[0], newest) and case.name in old else pytest.mark.full,
        )
        for case in golden.checkpoints()
    ]


Results = dict[str, list[str]]


@pytest.fixture(scope="module")
def anew(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Callable[[Path], tuple[Results, Results]]:
    """The results of a case that this version runs from the start: before the last run, and after it."""

    @functools.cache
    def results(case: Path) -> tuple[Results, Results]:
        folder = tmp_path_factory.mktemp("anew")
        *before, last = golden.runs(case)
        for step in before:
            golden.run(step, folder, last=False)
        before_the_last = golden.results(folder)
        golden.run(last, folder, last=True)
        return before_the_last, golden.results(folder)

    return results


@pytest.mark.parametrize("case", checkpoints())
def test_a_golden_checkpoint_goes_on(case: Path, tmp_path: Path, anew: Callable[[Path], tuple[Results, Results]]) -> None:
    kept = shutil.copytree(case, tmp_path / "kept")
    golden.run(golden.runs(case)[-1], kept, last=True)
    before_the_last, at_the_end = anew(case)
    assert golden.results(kept) == at_the_end
    # else a checkpoint that was begun anew, or never asked, would do as well
    assert golden.results(case) == before_the_last != golden.results(kept)


DEPLOYED = [
    *(pytest.param(case, 5, id=case.name) for case in golden.checkpoints() if case.parents[1].name == "1"),
    *(pytest.param(case, 1, id=f"{golden.OLDER.name}-held") for case in golden.of_older_spark() if case.name == "held"),
]


@pytest.mark.parametrize(("case", "partitions"), DEPLOYED)
def test_a_golden_checkpoint_is_deployed(
    case: Path, partitions: int, tmp_path: Path, anew: Callable[[Path], tuple[Results, Results]]
) -> None:
    """The first format has no identities of epochs, and its records do not have the sinks that were written. Spark 4.2 logs no number of
    partitions; this checkpoint has two.
    """
    kept = shutil.copytree(case, tmp_path / "kept")
    last = golden.runs(case)[-1]
    with contextlib.chdir(kept):
        assert not hr.load(last / "plan.json").deploy(checkpoint="checkpoint", partitions=partitions).unchanged
    golden.run(last, kept, last=True)
    # in other partitions rows meet in another order, so a row may come and go within an epoch
    assert net(golden.results(kept)) == net(anew(case)[1])


def net(results: Results) -> dict[str, Counter[str]]:
    """The rows that are there at the end."""
    held: dict[str, Counter[str]] = {}
    for sink, rows in results.items():
        held[sink] = Counter()
        for row in map(json.loads, rows):
            change = row.pop("_change", "insert")
            held[sink][json.dumps(row)] += -1 if change in ("delete", "update_before") else 1
        held[sink] = Counter({row: n for row, n in held[sink].items() if n})
    return held


@pytest.mark.full
def test_the_state_of_golden_queries(tmp_path: Path) -> None:
    """What the released version wrote, and what this one made of it: ledgers have the rows that are there, joins those that can meet."""
    (case,) = (path for path in golden.checkpoints() if (path.parents[1].name, path.name) == ("1", "views"))
    folder = tmp_path / "case"
    shutil.copytree(case, folder)
    old = hr.state(folder / "checkpoint").epoch
    first, last = golden.runs(case)
    golden.run(last, folder, last=True)
    live: Counter[tuple[Any, ...]] = Counter()
    for step, epoch in ((first, old), (last, None)):
        for line in "".join(file.read_text(encoding="utf-8") for file in sorted((step / "in" / "rows").iterdir())).splitlines():
            row = json.loads(line)
            live[row["k"], row["v"], row["x"], row["s"]] += 1 if row["op"] == "+" else -1
        live += Counter()  # drops what is 0
        state = hr.state(folder / "checkpoint", epoch=epoch)
        counts = {name: state.count(name) for name in state.tables}
        assert all(counts.values()), counts
        assert {tuple(row[:-1]): row[-1] for row in state.table("rows_ledger").rows()} == live
        inner = state.query("SELECT k, v, x, s, count FROM join_86e6026d_left").rows()
        assert {tuple(row[:-1]): row[-1] for row in inner} == {row: n for row, n in live.items() if row[0] is not None}
        groups = dict(state.query("SELECT key.k, rows FROM aggregate_27414cd0").rows())
        assert groups == {k: sum(n for row, n in live.items() if row[0] == k) for k in {row[0] for row in live}}
