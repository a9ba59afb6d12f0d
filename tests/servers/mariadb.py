"""A MariaDB server."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import free_ports, installed, not_to_be_had, spawn, unprivileged

_READY = 60
USER, PASSWORD = "app", "geheim ' \\"


class MariaDb:
    """A server with its own data in a folder; `database()` makes a database of its own for a test."""

    variable = "TEST_MARIADB_PASSWORD"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (self.port,) = free_ports(1)
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._names = (f"db{n}" for n in itertools.count(1))
        folder.chmod(0o755)
        self._as_other = unprivileged("mysql", folder)
        made = ["--no-defaults", f"--datadir={folder}/data", "--auth-root-authentication-method=normal", "--skip-test-db"]
        command = [*self._as_other, "mariadb-install-db", *made]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def start(self) -> None:
        """Start it and wait until it answers."""
        import pymysql

        # Latin 1, as old servers have it: the connector says itself what it needs.
        told = [
            "--skip-networking=0",
            "--skip-name-resolve",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            f"--socket={self.folder}/socket",
            "--skip-log-bin",
        ]
        more = ["--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=128M", "--character-set-server=latin1", "--sql-mode="]
        program = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
        command = [*self._as_other, program, "--no-defaults", f"--datadir={self.folder}/data", *told, *more]
        self._process = spawn(command, self._log, folder=self.folder)
        deadline = time.monotonic() + _READY
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("\n".join(self._log.read_text().splitlines()[-20:]))
            time.sleep(0.02)
        connection = pymysql.connect(unix_socket=f"{self.folder}/socket", user="root", charset="utf8mb4")
        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER IF NOT EXISTS app@'127.0.0.1' IDENTIFIED BY %s", (PASSWORD,))
            cursor.execute("GRANT ALL ON *.* TO app@'127.0.0.1'")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{self.folder}/socket") == 0

    def stop(self) -> None:
        """End it as an operator does."""
        self._end(signal.SIGTERM)

    def crash(self) -> None:
        """End it as a power cut does."""
        self._end(signal.SIGKILL)

    def database(self) -> str:
        """A new database; answers its address."""
        name = next(self._names)
        self.run("mysql", f"CREATE DATABASE {name}")
        return f"mariadb://127.0.0.1:{self.port}/{name}"

    def connect(self, name: str) -> Any:
        """A connection of the test itself, that reads what is there."""
        import pymysql

        name = name.rpartition("/")[2]
        told = {"user": USER, "password": PASSWORD, "charset": "utf8mb4", "autocommit": True}
        return pymysql.connect(host="127.0.0.1", port=self.port, database=name, init_command="SET time_zone = '+00:00'", **told)

    def run(self, name: str, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, where it has some."""
        with self.connect(name) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def _end(self, sign: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(sign)
            self._process.wait(_READY)
            self._process = None


def started() -> MariaDb:
    """A server that runs, or the tests that need it are not run."""
    try:
        import pymysql  # noqa: F401  # what the tests look into it with
    except ImportError as problem:
        not_to_be_had("MariaDB", problem)
    if not shutil.which("mariadb-install-db") and not installed("MariaDB", "mariadb-server"):
        not_to_be_had("MariaDB", "there is no mariadb-install-db")
    folder = Path(tempfile.mkdtemp(prefix="headrace-mariadb-"))
    try:
        made = MariaDb(folder)
        made.start()
    except (OSError, RuntimeError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        not_to_be_had("MariaDB", str(problem).splitlines()[0])
    return made


def over(server: MariaDb) -> None:
    """End it and forget what it had."""
    server.crash()
    shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """A server that runs for all tests: each takes a database of its own."""
    server = started()
    os.environ[server.variable] = PASSWORD
    yield server
    over(server)


@pytest.fixture
def other_mariadb() -> Iterator[MariaDb]:
    """A server of its own for a test that stops it."""
    server = started()
    os.environ[server.variable] = PASSWORD
    yield server
    over(server)
