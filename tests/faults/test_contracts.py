"""What is counted, put aside and repaired, where the run fails or is killed at its points: each row once, each count as if nothing had been."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import points
from headrace.points import CALL, POINTS, Armed
from tests.faults import contracts

CHILD = Path(__file__).with_name("contracts.py")
ROWS = [[("a", 1), ("b", -1), ("a", 200)], [("b", 2), ("a", 3), ("c", 0)], [("c", 7), ("a", 4), ("b", 5)]]
MENDED = [("b", 1), ("c", 9), ("c", -9)]


def line(row: tuple[str, int]) -> str:
    return json.dumps(dict(zip("kv", row, strict=True)))


def lay_out(folder: Path) -> None:
    """Two epochs are done; a third waits, and so does what was repaired."""
    (folder / "in").mkdir(parents=True)
    for number, rows in enumerate(ROWS[:2]):
        (folder / "in" / f"{number}.json").write_text("".join(line(row) + "\n" for row in [*rows]) + "{oops\n", encoding="utf-8")
    contracts.job(folder).run(checkpoint=folder / "state", progress=False, flush=False)
    (folder / "in" / "2.json").write_text("".join(line(row) + "\n" for row in ROWS[2]), encoding="utf-8")
    (folder / "mended.json").write_text("".join(line(row) + "\n" for row in MENDED), encoding="utf-8")
    hr.letters(folder / "state").replay("rows", folder / "mended.json")


def rows(folder: Path) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(json.loads(text).values()) for file in hr.committed_files(folder) for text in file.read_text().splitlines())


def check(folder: Path, summary: hr.Summary) -> None:
    """Against what the input says by itself."""
    all_rows = [row for part in (*ROWS, MENDED) for row in part]
    sound = [row for row in all_rows if row[1] > 0]
    assert rows(folder / "out") == Counter(sound)
    net = Counter[tuple[Any, ...]]()
    for (*row, change), n in rows(folder / "sums").items():
        net[tuple(row)] += n if change == "insert" else -n
    groups = {k: [v for key, v in sound if key == k] for k in "abc"}
    assert +net == Counter((k, sum(vs), len(vs)) for k, vs in groups.items()) and not -net
    counted = {one.name: (one.passed, one.violated) for one in summary.expectations}
    assert counted == {"positive": (len(sound), len(all_rows) - len(sound)), "small": (len(sound) - 1, 1), "few": (3, 0)}
    assert [(one.read, one.malformed) for one in summary.sources] == [(len(all_rows) + 2, 2)]
    letters = [row[4].partition(":")[0] for row in hr.letters(folder / "state").table().rows()]
    assert Counter(letters) == {"not JSON": 2, "EXPECTATION": len(all_rows) - len(sound)}


@pytest.mark.full
@pytest.mark.parametrize("name", ["before sink commit", "after sink commit", "before the record", "after the record"])
def test_a_failure_at_a_point(name: str, spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path)
    with monkeypatch.context() as armed:
        armed.setattr(points, "OFF", False)
        armed.setattr(points, "_armed", Armed(name, "main" if "record" in name else "out", 1, "fail"))
        armed.setattr(points, "_passed", 0)
        with pytest.raises(hr.HeadraceError):
            contracts.job(tmp_path).run(checkpoint=tmp_path / "state", progress=False, flush=False)
    check(tmp_path, contracts.job(tmp_path).run(checkpoint=tmp_path / "state", progress=False, flush=False))


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in POINTS if name not in ("in sink commit", CALL)])
def test_a_kill_at_a_point(name: str, spark: object, tmp_path: Path) -> None:
    lay_out(tmp_path)
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g", "HEADRACE_POINT": f"{name}:kill"}
    died = subprocess.run([sys.executable, str(CHILD), str(tmp_path)], env=environment, capture_output=True, check=False)
    assert died.returncode == -9, died.stderr[-3000:]
    check(tmp_path, contracts.job(tmp_path).run(checkpoint=tmp_path / "state", progress=False, flush=False))
