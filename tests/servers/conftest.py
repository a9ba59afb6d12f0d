"""What tests with servers share: the session, the servers, and a line at the end for what could not be run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.servers import SIGN
from tests.servers.disks import disk as disk
from tests.servers.kafka import broker as broker
from tests.servers.kafka import other_broker as other_broker
from tests.servers.mariadb import mariadb as mariadb
from tests.servers.mariadb import other_mariadb as other_mariadb
from tests.servers.postgres import other_postgres as other_postgres
from tests.servers.postgres import postgres as postgres
from tests.servers.problems import says as says
from tests.servers.redis import _redis as _redis
from tests.servers.redis import redis as redis
from tests.servers.registry import registry as registry
from tests.servers.tables import maria as maria
from tests.servers.tables import pg as pg
from tests.servers.tables import sqlite as sqlite
from tests.spark.conftest import spark as spark


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints lie where the test is."""
    monkeypatch.chdir(tmp_path)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which servers could not be had, and how many tests were not run for that."""
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", []) if isinstance(report.longrepr, tuple)]
    missing = Counter(text.removeprefix("Skipped: ") for text in skipped if SIGN in text)
    for text, count in sorted(missing.items()):
        terminalreporter.write_line(f"NOT RUN: {count} test{'' if count == 1 else 's'}, {text}", red=True)
