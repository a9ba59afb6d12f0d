"""`headrace prepare` by itself: when it begins, and what it leaves behind. That it prepares is tested in tests/spark/jvm."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import prepare
from headrace.jvm import archive, cache, doctor, java, launch, preparing

JAVA = java.Java(Path("/opt/java/bin/java"), "21", "PATH", None)

Begun = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _prepares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HEADRACE_PREPARE")
    monkeypatch.setattr(launch, "free_memory", lambda: 3 << 30)
    yield
    preparing._unprepared = None


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Begun:
    """What was started, instead of starting it."""
    started: Begun = []

    class Thread:
        def __init__(self, target: Any, **_: object) -> None:
            self.start = target

    class Process:
        def __init__(self, command: list[str], **options: Any) -> None:
            started.append({"command": command, **options})

        def wait(self) -> None:
            pass

    monkeypatch.setattr(preparing.threading, "Thread", Thread)
    monkeypatch.setattr(preparing.subprocess, "Popen", Process)
    return started


def test_it_begins_once_and_knows_nothing_of_the_job(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_POINT", "before sink commit:kill")
    monkeypatch.setenv("HEADRACE_MASTER", "spark://north:7077")
    preparing.later()
    assert begun == []
    preparing.started_without(JAVA)
    preparing.later()
    preparing.later()
    (one,) = begun
    assert one["command"] == [sys.executable, "-m", "headrace", "prepare", "--in-background"]
    assert one["start_new_session"]
    assert [name for name in one["env"] if name.startswith("HEADRACE_")] == ["HEADRACE_CACHE"]


def switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_PREPARE", "never")


def prepared_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.folder("classes")
    archive.place(JAVA).touch()


def failed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.folder("classes")
    preparing.failure(JAVA).touch()


def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "free_memory", lambda: 1 << 30)


def little_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_DISK", 1 << 60)


def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(os.environ["HEADRACE_CACHE"])
    file.touch()


@pytest.mark.parametrize("against", [switched_off, prepared_meanwhile, failed_before, little_memory, little_disk, no_cache])
def test_there_is_something_against_it(against: Any, begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    against(monkeypatch)
    preparing.started_without(JAVA)
    preparing.later()
    assert begun == []


def test_one_at_a_time_removes_what_another_left(tmp_path: Path) -> None:
    left = cache.folder("classes", "making-it")
    (left / "classes.jsa").touch()
    with preparing.alone(wait=False) as first:
        assert first
        assert not left.exists()
        with preparing.alone(wait=False) as second:
            assert not second
    with preparing.alone(wait=False) as third:
        assert third


def test_the_doctor_reports_an_earlier_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare_nothing(*, again: bool) -> int:
        raise RuntimeError("no space left\nat all")

    monkeypatch.setattr(java, "find", lambda: JAVA)
    monkeypatch.setattr(preparing, "step_back", lambda: None)
    monkeypatch.setattr(prepare, "_prepare", prepare_nothing)
    monkeypatch.setenv("HEADRACE_PREPARE", "")  # put back after the test
    with pytest.raises(RuntimeError):
        prepare.run(argparse.Namespace(in_background=True, again=False))
    assert preparing.failure(JAVA).read_text(encoding="utf-8") == "no space left\nat all\n"
    check = doctor._archive()
    assert (check.ok, check.cure) == (False, "headrace prepare")
    assert check.found == "not prepared: each takes about twice as long (tried next to a job: no space left)"


_CHILD = """
import os, tempfile, time
from headrace.jvm import cache, preparing
preparing.step_back()
with preparing.alone(wait=False), tempfile.TemporaryDirectory(dir=cache.folder("classes"), prefix="making-"):
    print(os.nice(0), flush=True)
    time.sleep(600)
"""


def test_a_process_that_is_terminated_leaves_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "19\n"
        assert list(cache.folder("classes").iterdir()) != []
        child.send_signal(signal.SIGTERM)
        assert child.wait() == 1
    assert list(cache.folder("classes").iterdir()) == []
