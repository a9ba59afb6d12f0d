"""kill -9 in the middle of a run, again and again: in the end every row is there once."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headrace as hr
from headrace.spark.checkpoint.record import newest
from tests.faults.child import job

pytestmark = pytest.mark.usefixtures("spark")

CHILD = Path(__file__).with_name("child.py")
FILES, ROWS, KEYS = 8, 60, 5


def lay_out(folder: Path) -> dict[str, list[int]]:
    """Input files, and the ids of each key in the order of their times."""
    chance = random.Random(7)
    expected: dict[str, list[int]] = {f"k{key}": [] for key in range(KEYS)}
    (folder / "in").mkdir(parents=True)
    for file in range(FILES):
        lines = []
        for row in range(ROWS):
            number = file * ROWS + row
            key = f"k{chance.randrange(KEYS)}"
            expected[key].append(number)
            lines.append(json.dumps({"k": key, "id": number, "ts": f"2026-01-01 00:{number // 60:02}:{number % 60:02}"}))
        chance.shuffle(lines[-5:])
        (folder / "in" / f"{file}.json").write_text("\n".join(lines) + "\n")
    return expected


def start(folder: Path, log: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g"}
    with log.open("ab") as out:
        return subprocess.Popen([sys.executable, str(CHILD), str(folder)], stdout=out, stderr=out, env=environment, start_new_session=True)


def children(process: int) -> list[int]:
    processes = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[1]) == process:
                processes.append(int(status.parent.name))
    return processes


def epochs(folder: Path) -> int:
    """How many the record knows."""
    record = newest(folder / "state" / "record", "main")
    try:
        return 0 if record is None else int(json.loads(record.read_text())["epoch"]) + 1
    except FileNotFoundError:  # a later term's has taken its place
        return epochs(folder)


def kill(child: subprocess.Popen[bytes], what: str) -> None:
    """Python and its JVM at once, or one of them: the other must not go on as if nothing had been. They may have ended by themselves."""
    for process in {"python": [child.pid], "jvm": children(child.pid)}.get(what, []):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    if what == "jvm":
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(60)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait(60)


def run_with_kills(folder: Path, points: int, seed: int) -> None:
    expected = lay_out(folder)
    chance = random.Random(seed)
    log = folder / "log"
    killed = 0
    while killed < points:
        child = start(folder, log)
        # A point within the epochs to come, counted from where this start finds the job.
        target = epochs(folder) + chance.choice([0, 0, 1, 1, 2])
        pause = chance.uniform(0, 1.5)
        while child.poll() is None and epochs(folder) <= target:
            time.sleep(0.02)
        if child.poll() is not None:
            assert child.returncode == 0, log.read_text()[-3000:]
            break
        time.sleep(pause)
        kill(child, chance.choice(["both", "both", "python", "jvm"]))
        killed += 1
    job(folder).run(checkpoint=folder / "state", progress=False)
    check(folder, expected)


def check(folder: Path, expected: dict[str, list[int]]) -> None:
    """Every row is there once, numbered in the order of its key, in both outputs."""
    for name, last in (("out", "numbered"), ("twice", "twice")):
        rows = [json.loads(line) for file in hr.committed_files(folder / name) for line in file.read_text().splitlines()]
        by_key: dict[str, list[tuple[int, int]]] = {}
        for row in rows:
            by_key.setdefault(row["k"], []).append((row["n"], row["id"]))
        for key, ids in expected.items():
            pairs = sorted(by_key[key])
            numbers = [n for n, id in pairs if id >= 0]
            assert numbers == list(range(1, len(ids) + 1)), (last, key)
            assert [id for _, id in pairs if id >= 0] == ids, (last, key)
        # nothing that is not committed lies among the visible files
        visible = {path for path in (folder / name).iterdir() if path.is_file()}
        assert visible == set(hr.committed_files(folder / name))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_killed_at_some_points(tmp_path: Path, seed: int) -> None:
    run_with_kills(tmp_path, points=2, seed=seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 7))
def test_killed_at_many_points(tmp_path: Path, seed: int) -> None:
    run_with_kills(tmp_path, points=4, seed=seed)
