"""kill -9 around the commits of Delta and Iceberg tables: every row is there once, and no file that belongs to nobody."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.faults.test_kill import epochs, kill
from tests.unit.connectors.delta import tasks as delta
from tests.unit.connectors.iceberg import tasks as iceberg

EPOCHS, ROWS = 4, 30

POINTS = [
    "before sink commit@summed#2:kill",
    "in sink commit@copied#2:kill",
    "in sink commit@summed#3:kill",
    "in sink commit@told#2:kill",
    "after sink commit@told#2:kill",
    "before the record#2:kill",
]


def lay_out(folder: Path, epochs: int = EPOCHS) -> list[tuple[str, int]]:
    (folder / "in").mkdir(parents=True)
    rows = [(f"k{number % 3}", number) for number in range(epochs * ROWS)]
    for epoch in range(epochs):
        lines = [json.dumps({"k": k, "id": n}) for k, n in rows[epoch * ROWS : (epoch + 1) * ROWS]]
        (folder / "in" / f"{epoch}.json").write_text("\n".join(lines) + "\n")
    return rows


def start(folder: Path, lake: str, point: str = "") -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g", "HEADRACE_POINT": point}
    with (folder / "log").open("ab") as out:
        command = [sys.executable, "-m", "tests.faults.lakes", str(folder), lake]
        return subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)


def finish(folder: Path, lake: str, rows: list[tuple[str, int]]) -> None:
    assert start(folder, lake).wait(600) == 0, (folder / "log").read_text()[-3000:]
    copied, summed, changes, lying, live = (of_delta if lake == "delta" else of_iceberg)(folder)
    assert Counter(copied) == Counter(rows)
    sums: dict[str, tuple[int, int]] = {}
    for k, n in rows:
        count, total = sums.get(k, (0, 0))
        sums[k] = (count + 1, total + n)
    expected = sorted((k, *numbers) for k, numbers in sums.items())
    assert sorted(summed) == expected
    net: Counter[tuple[Any, ...]] = Counter()
    for *row, change in changes:
        net[tuple(row)] += 1 if change == "insert" else -1
    assert sorted((+net).elements()) == expected and not -net
    assert lying == live, "files that belong to nobody"
    assert not [path for path in folder.rglob("_headrace/**/*.parquet") if "state" not in path.parts]


def of_delta(folder: Path) -> Any:
    copied = [(row["k"], row["id"]) for row in DeltaTable(folder / "rows").to_pyarrow_table().to_pylist()]
    lying, live = delta.data_files(folder / "rows"), delta.live_files(folder / "rows")
    return copied, delta.rows_of(folder / "sums"), delta.rows_of(folder / "told"), lying, live


def of_iceberg(folder: Path) -> Any:
    lying = {path for path in iceberg.data_files(folder) if "/rows/" in path}
    tables = [iceberg.rows_of(folder, f"db.{name}") for name in ("rows", "sums", "told")]
    return *tables, lying, iceberg.live_files(folder, "db.rows")


@pytest.mark.full
@pytest.mark.parametrize("lake", ["delta", "iceberg"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_point(tmp_path: Path, point: str, lake: str) -> None:
    rows = lay_out(tmp_path)
    assert start(tmp_path, lake, point).wait(600) == -signal.SIGKILL, (tmp_path / "log").read_text()[-3000:]
    finish(tmp_path, lake, rows)


@pytest.mark.full
@pytest.mark.parametrize("lake", ["delta", "iceberg"])
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_time(tmp_path: Path, seed: int, lake: str) -> None:
    rows = lay_out(tmp_path, 12)
    chance = random.Random(seed)
    for _ in range(3):
        child = start(tmp_path, lake)
        target = epochs(tmp_path) + chance.choice([0, 1])
        while child.poll() is None and epochs(tmp_path) <= target:
            time.sleep(0.02)
        time.sleep(chance.uniform(0, 0.8))
        kill(child, chance.choice(["both", "python", "jvm"]))
    finish(tmp_path, lake, rows)
