"""Unit tests start no JVM: they are those that are run all the time, in seconds. What needs Spark is tested in tests/spark."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_LAUNCHERS = ("spark-submit", "spark-class")


class _Guard:
    on = False


def starts_a_jvm(program: str) -> bool:
    """Whether a program is Java, or starts it; a script by the name of `java` stands in for it in some tests."""
    name = os.path.basename(program)
    if name != "java":
        return name in _LAUNCHERS
    path = shutil.which(program)
    return path is None or Path(path).read_bytes()[:2] != b"#!"


def _watch(event: str, details: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen" and _Guard.on:
        executable, arguments = details[:2]
        program = os.fsdecode(executable or (arguments if isinstance(arguments, str | bytes) else arguments[0]))
        if starts_a_jvm(program):
            # Not an error that the code under test could take for its own.
            pytest.fail(f"unit tests start no JVM, and this one starts {program}: move it to tests/spark, or test what needs no session")


sys.addaudithook(_watch)


@pytest.fixture(scope="package", autouse=True)
def _no_jvm() -> Iterator[None]:
    _Guard.on = True
    yield
    _Guard.on = False
