"""A full disk: the child may not write files beyond a size. It is answered clearly, and nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from headrace import cli

pytestmark = pytest.mark.usefixtures("spark")

JOB = """
import headrace as hr

rows = hr.read.files("in", format="json", schema="id bigint", name="rows", files_per_epoch=1)
big = rows.with_columns(text="repeat('x', IF(id < 3, 10, 3000000))")
job = hr.job("full", big.write.files("out", format="json", name="out"))
"""

LIMITED = """
import resource, sys

from headrace.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(main(sys.argv[2:]))
"""
RUN = ("run", "job.py", "--quiet", "--no-flush")


def run(folder: Path, limit: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g"}
    command = [sys.executable, "-c", LIMITED, str(limit), *RUN]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.full
def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    for file in range(2):
        ids = range(file * 3, file * 3 + (3 if file == 0 else 30))
        (tmp_path / "in" / f"{file}.json").write_text("".join(json.dumps({"id": number}) + "\n" for number in ids))
    (tmp_path / "job.py").write_text(JOB)
    # Spark's own libraries, which it unpacks, have to fit; an epoch of the output does not.
    full = run(tmp_path, 40 << 20)
    assert full.returncode == 4, full.stderr
    assert full.stderr.startswith("DISK_FULL: "), full.stderr
    assert "no row is lost or duplicated" in full.stderr
    assert "\tat " not in full.stderr and "Traceback" not in full.stderr
    written = [json.loads(line)["id"] for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted(written) == [0, 1, 2]
    assert not any((tmp_path / "out" / "_headrace" / "staging").glob("**/*.json"))

    monkeypatch.chdir(tmp_path)
    assert cli.main(RUN) == 0
    written = [json.loads(line)["id"] for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted(written) == list(range(33))
