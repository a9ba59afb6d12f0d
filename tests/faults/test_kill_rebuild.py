"""kill -9 while a deploy rebuilds state, and while the epoch after it corrects sinks: each sink ends as that of the new version."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

import headrace as hr
from headrace.points import CALL, POINTS
from tests.faults.test_kill_deploy import done, done_here

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("spark")]

JOB = """
import headrace as hr

rows = hr.read.files("{folder}/in", format="json", schema="k int, v int", name="in", files_per_epoch=1)
sums = rows.filter("v > {over}").group_by("k").agg(s="sum(v)").named("sums")
sinks = [
    sums.write.files("{folder}/out", format="json", mode="changes", name="out"),
    sums.write.jdbc("sqlite:{folder}/out.db", "sums", key="k", name="table"),
]
if {over} > 5:
    sinks.append(rows.group_by("v").agg(n="count(*)").named("counts").write.files("{folder}/n", format="json", mode="changes", name="n"))
job = hr.job("sums", *sinks)
"""


def version(folder: Path, over: int) -> str:
    file = folder / f"over{over}.py"
    file.write_text(JOB.format(over=over, folder=folder))
    return str(file)


def add(folder: Path, part: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    fresh = folder / "in" / f".{part}"
    fresh.write_text("".join(json.dumps({"k": i % 7, "v": (i + part) % 11}) + "\n" for i in range(70)))
    fresh.rename(folder / "in" / f"{part}.json")


def held(folder: Path, name: str) -> dict[tuple[int, ...], int]:
    rows: Counter[tuple[int, ...]] = Counter()
    for file in hr.committed_files(folder / name):
        for line in file.read_text().splitlines():
            *values, change = json.loads(line).values()
            rows[tuple(values)] += 1 if change in ("insert", "update_after") else -1
    return {row: n for row, n in rows.items() if n}


# of a shadow run, in the process of the deploy; and of the run after it
IN_DEPLOY = (
    "in a task@out",
    "after state commit",
    "after staging@out",
    "before the record",
    "after the commit log",
)
IN_RUN = [
    f"{point}@{sink}" if sink else point
    for point in POINTS
    if point not in ("before offsets are logged", "after offsets are logged", CALL)
    for sink in (("out", "table") if "sink" in point or "task" in point or "staging" in point else ("",))
]


@pytest.mark.parametrize("point", IN_DEPLOY)
def test_killed_in_the_shadow_run(point: str, tmp_path: Path) -> None:
    check(tmp_path, deploy=f"{point}:kill")


@pytest.mark.parametrize("point", IN_RUN)
def test_killed_in_the_epoch_that_corrects(point: str, tmp_path: Path) -> None:
    check(tmp_path, run=f"{point}:kill")


def check(folder: Path, deploy: str | None = None, run: str | None = None) -> None:
    for part in (0, 1):
        add(folder, part)
    state = str(folder / "state")
    done_here("run", version(folder, 3), "--checkpoint", state, "--no-flush", "--partitions", "2")
    command = ("deploy", version(folder, 6), "--checkpoint", state, "--partitions", "3")
    if deploy is not None:
        done(folder, *command, point=deploy, code=-signal.SIGKILL)
        assert (folder / "acted").exists()
    done_here(*command)
    again = ("run", version(folder, 6), "--checkpoint", state, "--no-flush")
    if run is not None:
        done(folder, *again, point=run, code=-signal.SIGKILL)
        assert (folder / "acted").exists()
    done_here(*again)
    assert_new(folder, (0, 1))
    add(folder, 2)
    done_here(*again)
    assert_new(folder, (0, 1, 2))


def assert_new(folder: Path, parts: tuple[int, ...]) -> None:
    rows = [json.loads(line) for part in parts for line in (folder / "in" / f"{part}.json").read_text().splitlines()]
    sums: Counter[int] = Counter()
    for row in rows:
        sums[row["k"]] += row["v"] if row["v"] > 6 else 0
    wanted = dict.fromkeys(sums.items(), 1)
    assert held(folder, "out") == wanted
    with sqlite3.connect(folder / "out.db") as database:
        assert dict.fromkeys(database.execute("SELECT k, s FROM sums").fetchall(), 1) == wanted
    assert held(folder, "n") == dict.fromkeys(Counter(row["v"] for row in rows).items(), 1)
