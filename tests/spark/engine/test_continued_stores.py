"""A deploy that adds or drops operators leaves the state of the others where it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.deploy import compose
from headrace.spark.deploy.parts import ContinuedText
from headrace.spark.deploy.stores import continuable
from tests.faults.test_kill_rescale import STORES
from tests.spark.engine.test_deploy import (
    View,
    add,
    counted,
    dearest,
    expected,
    job,
    priced,
    quiet,
    ranked,
    results,
    run,
    sums,
    totals,
    windows,
)

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("spark")]


def operators(spark: SparkSession, checkpoint: Path) -> dict[int, Counter[str]]:
    """The rows in all stores, by operator and column family."""
    held: dict[int, Counter[str]] = {}
    state = checkpoint / "queries" / "main" / "state"
    own = spark.newSession()
    for name, value in STORES.items():
        own.conf.set(f"spark.sql.streaming.stateStore.{name}", value)
    for number in (path.name for path in state.iterdir() if path.name.isdigit()):
        options = {"path": str(state.parent), "operatorId": number, "_readAllColumnFamilies": "true"}
        for row in own.read.format("statestore").options(**options).load().collect():
            held.setdefault(int.from_bytes(row.partition_key[0][8:12]), Counter())[row.column_family_name] += 1
    return held


def numbers(checkpoint: Path) -> dict[str, int]:
    """The numbers of the operators of the version in a checkpoint that keep state."""
    opened = Checkpoint(checkpoint)
    try:
        assert opened.stored is not None
        queries = opened.stored.identity.queries
        return {name: entry.op for query in queries for name, entry in query.live().items() if entry.shape.keeps}
    finally:
        opened.close()


def files(checkpoint: Path) -> dict[tuple[int, int], str]:
    """The files of all stores, by what makes a link the same file."""
    state = checkpoint / "queries" / "main" / "state"
    parts = [part for operator in state.iterdir() for part in operator.iterdir() if part.name.isdigit()]
    return {(path.stat().st_dev, path.stat().st_ino): path.name for part in parts for path in part.rglob("*") if path.is_file()}


EDITS: dict[str, tuple[tuple[View, ...], tuple[View, ...]]] = {
    "added": ((sums, totals, quiet, windows), (sums, totals, quiet, windows, ranked, counted)),
    "a level more": ((sums, quiet, counted), (sums, quiet, counted, totals)),
    "dropped": ((sums, totals, quiet, counted, ranked), (sums, totals, counted)),
    "another": ((sums, totals, priced, quiet), (sums, totals, ranked, windows)),
    "mostly dropped": ((sums, totals, quiet), (sums, quiet, ranked)),
}


@pytest.mark.parametrize("edit", EDITS)
def test_operators_that_stay(edit: str, spark: SparkSession, tmp_path: Path) -> None:
    old, new = EDITS[edit]
    kept, whole = tmp_path / "kept", tmp_path / "whole"
    checkpoint = kept / "checkpoint"
    add(kept, 0)
    run(job(kept, *old), kept, partitions=2)
    rows, files_before, known = operators(spark, checkpoint), files(checkpoint), numbers(checkpoint)

    deployment = job(kept, *new).deploy(checkpoint=checkpoint)
    now, stored = numbers(checkpoint), operators(spark, checkpoint)
    stay = {op for name, op in now.items() if known.get(name) == op}
    assert {op: stored.get(op) for op in stay} == {op: rows.get(op) for op in stay}
    # nothing is left of what is gone
    assert stored.keys() <= set(now.values())
    # changes of state, and its snapshots, are the same files, unless most of the state is gone
    links = [name for key, name in files(checkpoint).items() if key in files_before and name.endswith((".changelog", ".sst", ".zip"))]
    assert bool(links) is (edit != "mostly dropped")
    sizes = {one.name: one.keys for one in deployment.verdicts if one.part == "operator"}
    assert all(sizes[view.__name__] == 12 for view in (sums, totals) if view in new)

    for part in (1, 2):
        add(kept, part)
        run(job(kept, *new), kept, flush=part == 2)
    both = [view for view in new if view in old or view in (ranked, windows)]
    want = expected(whole, both, 3)
    assert {name: results(kept, name) for name in want} == want
    assert all(want.values())


def test_stores_of_a_shadow_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of the state is new: the stores of the shadow run are continued, and the rest is added to them."""
    kept, whole, checkpoint = tmp_path / "kept", tmp_path / "whole", tmp_path / "kept" / "checkpoint"
    add(kept, 0)
    run(job(kept, sums, quiet), kept, partitions=2)
    rows, known = operators(spark, checkpoint), numbers(checkpoint)
    continued: list[Mapping[int, ContinuedText]] = []

    def recording(*arguments: Any, **options: Any) -> Mapping[int, ContinuedText]:
        continued.append(continuable(*arguments, **options))
        return continued[-1]

    monkeypatch.setattr(compose, "continuable", recording)
    views = (sums, quiet, totals, windows, ranked)
    job(kept, *views).deploy(checkpoint=checkpoint)
    # the second of the two places that have state is the shadow run
    assert [{level: one.origin for level, one in levels.items()} for levels in continued] == [{1: 1, 2: 1}]
    stored, now = operators(spark, checkpoint), numbers(checkpoint)
    assert {op: stored.get(op) for op in known.values()} == {op: rows.get(op) for op in known.values()}
    assert stored.keys() <= set(now.values())
    for part in (1, 2):
        add(kept, part)
        run(job(kept, *views), kept, flush=part == 2)
    want = expected(whole, views, 3)
    assert {name: results(kept, name) for name in want} == want
    assert all(want.values())


def test_a_deploy_after_a_deploy(spark: SparkSession, tmp_path: Path) -> None:
    """Without an epoch between them, and back."""
    kept, whole = tmp_path / "kept", tmp_path / "whole"
    add(kept, 0)
    run(job(kept, sums, totals), kept, partitions=2)
    for views in ((sums, totals, ranked), (sums, totals, ranked, dearest), (sums, ranked, totals), (sums, ranked)):
        job(kept, *views).deploy(checkpoint=kept / "checkpoint")
        assert operators(spark, kept / "checkpoint").keys() <= set(numbers(kept / "checkpoint").values())
    add(kept, 1)
    run(job(kept, sums, ranked), kept, flush=True)
    want = expected(whole, (sums, ranked), 2)
    assert {name: results(kept, name) for name in want} == want
