"""A deploy with `on_change="replace"`: in one step a sink holds the rows of the new version, and none of its earlier ones."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import points
from headrace.errors import HeadraceError
from headrace.points import Armed
from tests.spark.engine.jobs import lines
from tests.spark.engine.pairs import ROWS, add, held, read
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

ALL = {"large": "replace", "log": "replace", "sums": "replace"}
"""What becomes of the sinks of `job`."""


def job(folder: Path, over: int) -> hr.Job:
    """Rows over an amount in files and in a table that only grow, and their sums as changes in files."""
    large = read(folder, "rows", ROWS).filter(f"v > {over}").select("k", "v")
    sums = large.group_by("k").agg(s="sum(v)").named("summed")
    return hr.job(
        "shop",
        large.write.files(folder / "large", format="json", name="large"),
        large.write.jdbc(f"sqlite:{folder}/shop.db", "log", name="log"),
        sums.write.files(folder / "sums", format="json", mode="changes", name="sums"),
    )


def run(job: hr.Job, folder: Path) -> hr.Summary:
    return job.run(checkpoint=folder / "state", progress=False, flush=False, partitions=2)


def deploy(folder: Path, over: int, on_change: dict[str, str] | None = None, **options: Any) -> hr.Deployment:
    return job(folder, over).deploy(checkpoint=folder / "state", on_change=ALL if on_change is None else on_change, **options)


def there(folder: Path) -> tuple[Counter[tuple[int, int]], ...]:
    """The rows in the files and in the table, and the sums."""
    with sqlite3.connect(folder / "shop.db") as database:
        table = Counter(database.execute("SELECT k, v FROM log").fetchall())
    sums = [json.loads(row) for row in Counter(held(folder / "sums")).elements()] if (folder / "sums").exists() else []
    return Counter((row["k"], row["v"]) for row in lines(folder / "large")), table, Counter((row["k"], row["s"]) for row in sums)


def wanted(folder: Path, over: int) -> tuple[Counter[tuple[int, int]], ...]:
    """The same by Python, from the input."""
    texts = [text for file in (folder / "rows").glob("*.json") for text in file.read_text().splitlines()]
    large = [(row["k"], row["v"]) for row in map(json.loads, texts) if row["v"] > over]
    sums: Counter[int] = Counter()
    for k, v in large:
        sums[k] += v
    return Counter(large), Counter(large), Counter(sums.items())


def test_as_from_the_start(tmp_path: Path) -> None:
    for part in range(2):
        add(tmp_path, part)
        run(job(tmp_path, 10), tmp_path)
    preview = deploy(tmp_path, 40, dry_run=True)
    assert {one.name: one.verdict for one in preview.verdicts if one.part == "sink"} == dict.fromkeys(ALL, "replaced")
    earlier = there(tmp_path)
    assert earlier == wanted(tmp_path, 10)
    deployment = deploy(tmp_path, 40)
    few = sum(wanted(tmp_path, 40)[0].values())
    assert f"  replaced  sink     large: {few} rows inserted\n" in str(deployment)
    assert there(tmp_path) == earlier
    add(tmp_path, 2)
    run(job(tmp_path, 40), tmp_path)
    assert there(tmp_path) == wanted(tmp_path, 40) != earlier
    # a version without rows empties them
    deploy(tmp_path, 99)
    run(job(tmp_path, 99), tmp_path)
    assert there(tmp_path) == (Counter(), Counter(), Counter())
    # its first version, over the input of all
    deploy(tmp_path, 10)
    add(tmp_path, 3)
    for _ in range(2):
        run(job(tmp_path, 10), tmp_path)
        assert there(tmp_path) == wanted(tmp_path, 10)
