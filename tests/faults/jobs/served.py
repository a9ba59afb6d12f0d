"""Servers that jobs of the fault matrix write to: started for them, and in between killed and started again, or stopped for a while."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults import receiver
from tests.servers import free_ports, hang, spawn
from tests.servers import kafka as kafka_server
from tests.servers import mariadb as mariadb_server
from tests.servers import postgres as postgres_server
from tests.servers import redis as redis_server
from tests.servers.database import running

HANGS = 12.0
"""Seconds for which a server is silent. Its sockets still take connections, and no connector gives one up so soon: the job sits it out."""


@dataclass(frozen=True)
class Servers:
    """Their addresses by connector; `restart` kills all of them as kill -9 does, and starts them again; `hang` stops them for a while."""

    addresses: Mapping[str, str]
    restart: Callable[[], None]
    hang: Callable[[], None]


@contextmanager
def kafka() -> Iterator[Servers]:
    folder = Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
    broker = kafka_server.started(folder / "broker")

    def restart() -> None:
        broker.kill()
        broker.start()

    try:
        yield Servers({"kafka": broker.servers}, restart, lambda: hang(broker.pid, HANGS))
    finally:
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgresql() -> Iterator[Servers]:
    with running(postgres_server.started()) as server:

        def restart() -> None:
            server.kill()
            server.start()

        yield Servers({"jdbc": server.database()}, restart, lambda: hang(server.pid, HANGS))


@contextmanager
def mariadb() -> Iterator[Servers]:
    with running(mariadb_server.started()) as server:

        def restart() -> None:
            server.crash()
            server.start()

        yield Servers({"jdbc": server.database()}, restart, lambda: hang(server.pid, HANGS))


@contextmanager
def redis() -> Iterator[Servers]:
    server = redis_server.started()
    os.environ[redis_server.VARIABLE] = redis_server.PASSWORD

    def restart() -> None:
        server.stop()
        server.start()

    try:
        yield Servers({"redis": server.url}, restart, lambda: hang(server.pid, HANGS))
    finally:
        redis_server.over(server)


@contextmanager
def http() -> Iterator[Servers]:
    import urllib3

    folder = Path(tempfile.mkdtemp(prefix="headrace-http-"))
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"

    def started() -> subprocess.Popen[bytes]:
        process = spawn([sys.executable, receiver.__file__, str(port), str(folder / "kept.db")], folder / "log")
        urllib3.request("GET", url, retries=urllib3.Retry(100, backoff_factor=0.02, backoff_max=0.5))
        return process

    def killed() -> None:
        server.kill()
        server.wait()

    def restart() -> None:
        nonlocal server
        killed()
        server = started()

    server = started()
    try:
        yield Servers({"http": url}, restart, lambda: hang(server.pid, HANGS))
    finally:
        killed()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kafka_and_postgresql() -> Iterator[Servers]:
    with kafka() as topics, postgresql() as tables:

        def restart() -> None:
            topics.restart()
            tables.restart()

        def both_hang() -> None:
            topics.hang()
            tables.hang()

        yield Servers({**topics.addresses, **tables.addresses}, restart, both_hang)
