"""Every point is passed by a job with state and two sinks, in its place. (That they kill is seen in test_certify.py.)"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.points import OF_SINKS, POINTS

CHILD = Path(__file__).with_name("child.py")
FILES, ROWS = 2, 6


@pytest.mark.full
def test_each_point_is_passed_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        rows = [{"k": f"k{id % 2}", "id": id, "ts": f"2026-01-01 00:00:{id:02}"} for id in range(file * ROWS, file * ROWS + ROWS)]
        (tmp_path / "in" / f"{file}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    points = tmp_path / "points"
    points.mkdir()
    environment = {**os.environ, "HEADRACE_MASTER": "local[1]", "SPARK_DRIVER_MEMORY": "1g", "HEADRACE_POINT_FOLDER": str(points)}
    done = subprocess.run([sys.executable, str(CHILD), str(tmp_path)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]

    passed = [tuple(line.split("@")) for line in (points / "passed").read_text().splitlines()]
    assert passed[0] == ("before offsets are logged", "main")
    assert {name for name, _ in passed} == set(POINTS)
    assert {of for name, of in passed if name in OF_SINKS} == {"out", "twice", "#dead_letters"}
    assert not (points / "acted").exists()
    # the epoch that gives rows out for the first time
    task = passed.index(("in a task", "out"))
    begun = max(at for at, line in enumerate(passed[:task]) if line == ("before offsets are logged", "main"))
    ended = passed.index(("after the commit log", "main"), task)
    names = list(dict.fromkeys(name for name, of in passed[begun : ended + 1] if of in ("main", "out")))
    # of the two levels the first has written its state before the second gives rows to a writer
    assert [name for name in names if "state" not in name] == [name for name in POINTS if "state" not in name]
    assert names.index("before state commit") < names.index("after state commit") < names.index("after staging")
