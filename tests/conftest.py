"""What all tests share: a cache and surroundings of their own where they change them, and no settings of the user."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from headrace import masking
from headrace.jvm.launch import SHORT_LIVED, machine_memory
from tests import installed  # noqa: F401  # connectors of this tree are found, whatever was installed before they were made
from tests.scale import FULL
from tests.servers import SIGN


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_user() -> Iterator[None]:
    """Tests see the defaults, whatever HEADRACE_* the shell has; the cache stays, or each run would build the kernel again.

    No job of a test prepares later starts beside it. JVMs that are over soon take a fifth less processor time with their first compiler alone, and a tenth
    less again if its code has room: by default Java throws away code from 48 MB on, and compiles it anew.
    """
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("HEADRACE_") and name != "HEADRACE_CACHE"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_PREPARE", "never")
        if not FULL:
            patch.setenv(
                "SPARK_SUBMIT_OPTS",
                f"{SHORT_LIVED} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".strip(),
            )
        yield
    os.environ.update(taken)


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> Iterator[None]:
    """A secret that a test reads is masked in its own texts only."""
    yield
    masking._secrets.clear()
    masking._any = None


WORKERS = 2
"""How many processes run tests, at most. Each has a Spark of its own, which keeps about 1.3 cores busy."""
_MEMORY = 5 << 30
"""What one of them may need: Spark's driver, a process that a test starts, the servers."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many processes `-n auto` means; 0 is this one alone."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(cores, machine_memory() // _MEMORY, WORKERS)
    return workers if workers > 1 else 0


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which servers could not be had, and how many tests were not run for that."""
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", []) if isinstance(report.longrepr, tuple)]
    missing = Counter(text.removeprefix("Skipped: ") for text in skipped if SIGN in text)
    for text, count in sorted(missing.items()):
        terminalreporter.write_line(f"NOT RUN: {count} test{'' if count == 1 else 's'}, {text}", red=True)
