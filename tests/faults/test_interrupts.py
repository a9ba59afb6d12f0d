"""Ctrl-C and SIGTERM while Spark starts and while a job runs: exit code 130, no traceback, no JVM left behind.

A terminal and a supervisor signal the JVM as well as Python: the whole group of processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

JOB = """
import headrace as hr
job = hr.job("ticks", hr.read.rate(rows_per_second=5).write.files("out", format="json"))
"""
TAG = "HEADRACE_TEST_TAG"


class Command:
    """`headrace run` on a job without an end, in a process group of its own."""

    def __init__(self, folder: Path) -> None:
        (folder / "job.py").write_text(JOB, encoding="utf-8")
        self._folder, self._tag = folder, f"{TAG}={uuid.uuid4()}"
        name, _, value = self._tag.partition("=")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headrace", "run", "job.py"],
            cwd=folder,
            env={**os.environ, "HEADRACE_MASTER": "local[1]", "SPARK_DRIVER_MEMORY": "1g", "HEADRACE_PREPARE": "never", name: value},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def others(self) -> list[int]:
        """The processes that it has started: they have its environment."""
        numbers = [int(place.name) for place in Path("/proc").glob("[0-9]*")]
        return [
            number for number in numbers if self._tag.encode() in self._of(number, "environ").split(b"\0") and number != self._process.pid
        ]

    @staticmethod
    def _of(number: int, what: str) -> bytes:
        """A file of a process; nothing if it has ended meanwhile."""
        try:
            return (Path("/proc") / str(number) / what).read_bytes()
        except OSError:
            return b""

    def jvm_starts(self) -> bool:
        return bool(self.others())

    def spark_starts(self) -> bool:
        """The JVM has loaded Spark and is told what to do."""
        return any(b"libnio" in self._of(number, "maps") for number in self.others())

    def runs(self) -> bool:
        return any(self._folder.glob(".headrace/ticks/record/main.*.json"))

    def until(self, moment: Callable[[Command], bool]) -> None:
        end = time.monotonic() + 300
        while not moment(self) and self._process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)

    def strike(self, number: signal.Signals) -> tuple[int, str, str]:
        """Signal the group; what it ended with, and what it said."""
        os.killpg(self._process.pid, number)
        try:
            out, err = self._process.communicate(timeout=300)
        finally:
            self._process.kill()
        return self._process.returncode, out, err


@pytest.mark.parametrize(
    ("moment", "number"),
    [(Command.jvm_starts, signal.SIGINT), (Command.spark_starts, signal.SIGTERM), (Command.runs, signal.SIGTERM)],
    ids=["while the JVM starts", "while Spark starts", "while the job runs"],
)
def test_a_signal_ends_a_command(moment: Callable[[Command], bool], number: signal.Signals, tmp_path: Path) -> None:
    command = Command(tmp_path)
    command.until(moment)
    code, out, err = command.strike(number)
    assert (code, err) == (130, "")
    assert (", stopped" in out) == (moment is Command.runs)
    end = time.monotonic() + 20
    while command.others() and time.monotonic() < end:
        time.sleep(0.1)
    assert not command.others()
    # nor anything in the folder that is not the job's
    assert {path.name for path in tmp_path.iterdir()} <= {"job.py", "out", ".headrace", "__pycache__"}
