"""The monitor of a run: its settings, its address, and what refuses a start."""

from __future__ import annotations

import errno
import json
import socket
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import headrace.monitor
from headrace import masking
from headrace.monitor import monitor_of
from headrace.monitor.monitor import RunMonitor
from headrace.settings import settings
from tests.unit.errors import check_error
from tests.unit.monitor.snapshots import SUMMARY, plan, snapshot


@pytest.fixture
def port() -> Iterator[str]:
    """A port that is in use."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield str(taken.getsockname()[1])


@pytest.fixture(autouse=True)
def _no_file_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def closed(**values: Any) -> RunMonitor:
    monitor = monitor_of(settings("fraud", **values))
    assert monitor is not None and monitor.url is None
    return monitor


def test_by_default_there_is_none() -> None:
    assert monitor_of(settings("fraud")) is None
    assert monitor_of(settings("fraud", {"metrics_port": "9464"}, metrics_port="off")) is None


def test_it_is_set_like_every_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = {"metrics_port": "1"}
    assert (settings("fraud", script).metrics_port, settings("fraud").metrics_host) == (1, "127.0.0.1")
    (tmp_path / "headrace.toml").write_text(
        '[job]\nmetrics_port = 2\nmetrics_host = "0.0.0.0"\n[job.fraud]\nmetrics_port = 3\n', encoding="utf-8"
    )
    assert (settings("other", script).metrics_port, settings("fraud", script).metrics_port) == (2, 3)
    assert settings("fraud").metrics_host == "0.0.0.0"
    monkeypatch.setenv("HEADRACE_METRICS_PORT", "4")
    monkeypatch.setenv("HEADRACE_METRICS_HOST", "::1")
    assert (settings("fraud", script).metrics_port, settings("fraud").metrics_host) == (4, "::1")
    assert settings("fraud", script, metrics_port=5).metrics_port == 5
    monkeypatch.setenv("HEADRACE_METRICS_PORT", "off")
    assert settings("fraud", script).metrics_port is None


def test_its_three_addresses() -> None:
    masking.hide("hunter2hunter2")
    now = snapshot(summary=SUMMARY)
    monitor = closed(metrics_port=0)
    with closing(monitor):
        monitor.open()
        monitor.serve(lambda: now, plan)
        assert monitor.url is not None and monitor.url.startswith("http://127.0.0.1:") and not monitor.url.endswith(":0")

        def fetch(path: str) -> tuple[str, bytes]:
            with urllib.request.urlopen(f"{monitor.url}{path}", timeout=30) as answer:
                return answer.headers["Content-Type"], answer.read()

        kind, text = fetch("/status.json")
        assert (kind, json.loads(text)) == ("application/json", {"status": "running", **SUMMARY.to_json()})
        kind, text = fetch("/")
        assert kind == "text/html; charset=utf-8" and b"<h1>fraud</h1>" in text
        kind, text = fetch("/metrics")
        assert kind == "text/plain; version=0.0.4; charset=utf-8" and b'\nheadrace_epochs_total{job="fraud"} 12.0\n' in text
        now = snapshot(notices=("hunter2hunter2",), summary=replace(SUMMARY, sinks={"hunter2hunter2": 1}))
        assert [b"hunter2" in fetch(path)[1] for path in ("/", "/metrics", "/status.json")] == [False] * 3


def test_a_port_in_use(port: str) -> None:
    check_error(
        """
        BAD_SETTING: `metrics_port` cannot be <port>: the port is in use on 127.0.0.1
          at test_monitor.py:*: lambda: closed(metrics_port=port).open(),
          hint: write a free port from 1 to 65535, 0 for any free port, or "off". All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: closed(metrics_port=port).open(),
        hide={port: "<port>"},
    )


def test_a_port_in_use_of_a_variable(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_METRICS_PORT", port)
    check_error(
        """
        BAD_SETTING: the environment variable HEADRACE_METRICS_PORT cannot be <port>: the port is in use on 127.0.0.1
          hint: write a free port from 1 to 65535, 0 for any free port, or "off". All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: closed().open(),
        hide={port: "<port>"},
    )


def test_a_port_in_use_of_a_file(port: str, tmp_path: Path) -> None:
    (tmp_path / "headrace.toml").write_text(f"[job.fraud]\nmetrics_port = {port}\n", encoding="utf-8")
    check_error(
        """
        BAD_SETTING: the setting metrics_port in [job.fraud] of headrace.toml cannot be <port>: the port is in use on 127.0.0.1
          hint: write a free port from 1 to 65535, 0 for any free port, or "off". All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: closed().open(),
        hide={port: "<port>"},
    )


def test_a_port_that_this_user_may_not_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(host: str, port: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("headrace.monitor.monitor.Server", refuse)
    check_error(
        """
        BAD_SETTING: `metrics_port` cannot be 80: this user may not listen on the port on 127.0.0.1
          at test_monitor.py:*: lambda: closed(metrics_port=80).open(),
          hint: write a free port from 1 to 65535, 0 for any free port, or "off". All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: closed(metrics_port=80).open(),
    )


def test_an_address_of_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    # an address for documentation, which no machine has
    monkeypatch.setenv("HEADRACE_METRICS_HOST", "192.0.2.1")
    check_error(
        """
        BAD_SETTING: the environment variable HEADRACE_METRICS_HOST cannot be '192.0.2.1': this machine has no such address
          hint: write an address or a host name of this machine: 127.0.0.1 (the default), or 0.0.0.0 for all addresses. All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: closed(metrics_port=0).open(),
    )


def test_a_host_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*arguments: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setenv("HEADRACE_METRICS_HOST", "nowhere")
    check_error(
        """
        BAD_SETTING: the environment variable HEADRACE_METRICS_HOST cannot be 'nowhere': this machine has no such address
          hint: write an address or a host name of this machine: 127.0.0.1 (the default), or 0.0.0.0 for all addresses. All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: closed(metrics_port=0).open(),
    )


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headrace.monitor.exposition", raising=False)
    monkeypatch.delattr(headrace.monitor, "exposition", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    check_error(
        """
        PACKAGE_MISSING: the metrics of a run need the package prometheus_client, which is not installed
          hint: install it: pip install 'headrace[metrics]'; or start the job without the setting metrics_port
          more: headrace error PACKAGE_MISSING
        """,
        lambda: closed(metrics_port=0).open(),
    )


def test_an_end_without_a_beginning() -> None:
    closed(metrics_port=0).close()
