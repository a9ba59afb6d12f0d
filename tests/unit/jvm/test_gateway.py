"""A JVM is started so that an interrupt leaves none behind. A script stands in for `spark-submit`."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from headrace.jvm import gateway

SUBMIT = """#!/bin/sh
echo $$ > {folder}/pid
exec sleep 60
"""
PROGRAM = """
import sys
from pathlib import Path
from pyspark import SparkConf
from headrace.interrupts import interruptible
from headrace.jvm import gateway
with interruptible():
    gateway.launch(Path(sys.argv[1]), SparkConf(loadDefaults=False), Path(sys.argv[1], "log"))
"""


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_jvm_that_does_not_listen_yet_ends_with_an_interrupt(number: signal.Signals, tmp_path: Path) -> None:
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(SUBMIT.format(folder=tmp_path), encoding="utf-8")
    submit.chmod(0o755)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 60
    pid = tmp_path / "pid"
    while not (pid.is_file() and pid.read_text(encoding="ascii").strip()) and child.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    child.send_signal(number)
    errors = child.communicate(timeout=30)[1]
    assert (child.returncode, errors, list(temporary.iterdir())) == (130, "", [])
    assert not _lives(int(pid.read_text(encoding="ascii")))


def test_a_jvm_ends_when_it_cannot_read_any_more(tmp_path: Path) -> None:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    gateway.end(process)
    assert process.returncode == 0


def test_a_jvm_that_does_not_end_is_killed() -> None:
    process = subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE)
    gateway.end(process, 0.1)
    assert process.returncode == -signal.SIGKILL


def test_py4j_logs_no_interrupt(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    loggers = [logging.getLogger(name) for name in ("", "py4j.java_gateway", "py4j.clientserver")]
    for logger in loggers:
        monkeypatch.setattr(logger, "filters", [*logger.filters, gateway._is_news])
        for problem in (KeyboardInterrupt(), ValueError("theirs")):
            try:
                try:
                    raise problem
                finally:
                    raise BrokenPipeError  # as where py4j closes the connection of a call that was interrupted
            except BrokenPipeError:
                logger.exception("while sending")
    assert len(caplog.records) == len(loggers)
    assert all(
        record.exc_info and isinstance(record.exc_info[1].__context__, ValueError) for record in caplog.records if record.exc_info[1]
    )
