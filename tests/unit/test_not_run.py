"""A run without a server says which tests were not run, and never looks like one that was whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import pytest_terminal_summary
from tests.servers import not_to_be_had


def summary(*reasons: str) -> list[str]:
    lines: list[str] = []
    skipped = [SimpleNamespace(longrepr=("file", 1, f"Skipped: {reason}")) for reason in reasons]
    reporter: Any = SimpleNamespace(stats={"skipped": skipped}, write_line=lambda text, red: lines.append(text))
    pytest_terminal_summary(reporter)
    return lines


def test_what_was_not_run_is_counted_by_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.servers.REQUIRED", False)
    with pytest.raises(pytest.skip.Exception) as skipped:
        not_to_be_had("Kafka", "no jars")
    missing = str(skipped.value)
    assert summary(missing, "a file is made", missing, "no server: Redis: none") == [
        "NOT RUN: 2 tests, no server: Kafka: no jars",
        "NOT RUN: 1 test, no server: Redis: none",
    ]


def test_where_servers_are_required_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.servers.REQUIRED", True)
    with pytest.raises(pytest.fail.Exception, match=r"^no server: Kafka: no jars$"):
        not_to_be_had("Kafka", "no jars")
