"""kill -9 in the middle of `headrace state migrate`: the old checkpoint is as it was, and doing it again works."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headrace as hr
from headrace.spark.deploy import copies

JOB = """
import headrace as hr

class Count(hr.Program):
    seen = hr.List("{key}")

    def on_event(self, e):
        self.seen.append(e.k)
        hr.emit(k=self.key.k, n=self.seen.size())

rows = hr.read.files("{folder}/in", format="json", schema="k {key}", name="in")
counts = rows.key_by("k").process(Count, order="arrival").named("counts")
job = hr.job("counts", counts.write.files("{folder}/out", format="json", name="out"))
"""


def version(folder: Path, key: str) -> Path:
    file = folder / f"{key}.py"
    file.write_text(JOB.format(key=key, folder=folder))
    return file


def add(folder: Path, name: str) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_text("".join(f"{json.dumps({'k': k % 7})}\n" for k in range(70)))


def started(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g"}
    with (folder / "log").open("ab") as log:
        arguments = [sys.executable, "-m", "headrace", *command]
        return subprocess.Popen(arguments, stdout=log, stderr=log, env=environment, cwd=folder, start_new_session=True)


def done(folder: Path, *command: str) -> str:
    """What a command says that ends well."""
    before = len((folder / "log").read_text()) if (folder / "log").exists() else 0
    code = started(folder, *command).wait(300)
    output = (folder / "log").read_text()[before:]
    assert code == 0, output
    return output


def killed(folder: Path, at: Path, *command: str) -> None:
    """Start a command and kill it, with its JVM, as soon as a path is there."""
    child = started(folder, *command)
    try:
        until = time.monotonic() + 240
        while not at.exists():
            assert child.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.002)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(60)


@pytest.mark.full
def test_killed_twice(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    add(tmp_path, "1.json")
    done(tmp_path, "run", str(version(tmp_path, "int")), "--checkpoint", "old", "--no-flush", "--partitions", "2")
    before = files(old)
    half = copies.unfinished(new)
    migrate = ("state", "migrate", str(version(tmp_path, "bigint")), "--checkpoint", "old", "--to", "new")
    # first while files are copied, then while Spark writes the state
    for at in (half / "record", half / "queries" / "main" / "state" / "0" / "1"):
        killed(tmp_path, at, *migrate)
        assert (files(old), new.exists(), half.is_dir(), (half / "job.json").exists()) == (before, False, True, False)
    assert "  counts: 7 keys, 70 entries, " in done(tmp_path, *migrate)
    assert (new.is_dir(), half.exists()) == (True, False)
    add(tmp_path, "2.json")
    done(tmp_path, "run", str(version(tmp_path, "bigint")), "--checkpoint", "new")
    rows = [json.loads(line) for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted((row["k"], row["n"]) for row in rows) == [(k, n) for k in range(7) for n in range(1, 21)]


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("lock")
    }
