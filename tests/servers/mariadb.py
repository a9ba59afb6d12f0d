"""A MariaDB server."""

from __future__ import annotations

import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.servers import certificate, installed, not_to_be_had, unprivileged
from tests.servers.database import Server, begun, done, running

USER, PASSWORD = "app", "geheim ' \\"


class MariaDb(Server):
    title: ClassVar[str] = "MariaDB"
    variable: ClassVar[str] = "TEST_MARIADB_PASSWORD"
    password: ClassVar[str] = PASSWORD
    first: ClassVar[str] = "mysql"
    ends: ClassVar[signal.Signals] = signal.SIGTERM
    breaks: ClassVar[signal.Signals] = signal.SIGKILL

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.authority = folder / "authority.pem"
        certificate(folder, "IP:127.0.0.1")
        self._as_other = unprivileged("mysql", folder)
        options = ["--no-defaults", f"--datadir={folder}/data", "--auth-root-authentication-method=normal", "--skip-test-db"]
        done([*self._as_other, "mariadb-install-db", *options], folder)

    def start(self) -> None:
        import pymysql

        # Latin 1, as old servers have it: the connector says itself what it needs.
        options = [
            "--skip-networking=0",
            "--skip-name-resolve",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            f"--socket={self.folder}/socket",
            "--skip-log-bin",
            f"--ssl-cert={self.authority}",
            f"--ssl-key={self.folder}/key.pem",
        ]
        more = ["--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=128M", "--character-set-server=latin1", "--sql-mode="]
        program = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
        self._begin([*self._as_other, program, "--no-defaults", f"--datadir={self.folder}/data", *options, *more])
        connection = pymysql.connect(unix_socket=f"{self.folder}/socket", user="root", charset="utf8mb4")
        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER IF NOT EXISTS app@'127.0.0.1' IDENTIFIED BY %s", (PASSWORD,))
            cursor.execute("GRANT ALL ON *.* TO app@'127.0.0.1'")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{self.folder}/socket") == 0

    def url(self, name: str) -> str:
        return f"mariadb://127.0.0.1:{self.port}/{name}"

    def connect(self, name: str) -> Any:
        import pymysql

        name = name.rpartition("/")[2]
        settings = {"user": USER, "password": PASSWORD, "charset": "utf8mb4", "autocommit": True}
        return pymysql.connect(host="127.0.0.1", port=self.port, database=name, init_command="SET time_zone = '+00:00'", **settings)


def started() -> MariaDb:
    """A server that runs, or the tests that need it are not run."""
    try:
        import pymysql  # noqa: F401  # what the tests look into it with
    except ImportError as problem:
        not_to_be_had(MariaDb.title, problem)
    if not shutil.which("mariadb-install-db") and not installed(MariaDb.title, "mariadb-server"):
        not_to_be_had(MariaDb.title, "there is no mariadb-install-db")
    return begun(MariaDb.title, MariaDb)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """A server that runs for all tests: each takes a database of its own."""
    with running(started()) as server:
        yield server


@pytest.fixture
def other_mariadb() -> Iterator[MariaDb]:
    """A server of its own for a test that stops it."""
    with running(started()) as server:
        yield server
