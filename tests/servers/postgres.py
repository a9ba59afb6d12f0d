"""A PostgreSQL server, with passwords and a certificate of its own making."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import free_ports, installed, not_to_be_had, spawn, unprivileged

_READY = 60
USER, PASSWORD = "app", "gehéim ' \\"

_SETTINGS = """\
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
fsync = off
full_page_writes = off
max_connections = 50
shared_buffers = 64MB
ssl = on
ssl_cert_file = '{folder}/server.pem'
ssl_key_file = '{folder}/server.key'
"""


class Postgres:
    """A server with its own data in a folder; `database()` makes a database of its own for a test."""

    variable = "TEST_POSTGRES_PASSWORD"

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        (self.port,) = free_ports(1)
        self.authority = folder / "server.pem"
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._names = (f"db{n}" for n in itertools.count(1))
        folder.chmod(0o755)
        told = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "server.key", "-out", "server.pem"]
        _done(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", *told], folder)
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        self.as_other = unprivileged("postgres", folder)
        (folder / "server.key").chmod(0o600)
        init = ["-D", "data", "-U", USER, "-A", "scram-sha-256", "--pwfile=password", "--no-sync", "--locale=C.UTF-8"]
        _done([*self.as_other, str(programs / "initdb"), *init], folder)
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(port=self.port, folder=folder))

    def start(self, *, largest: int = 0) -> None:
        """Start it and wait until it answers. `largest`: how many KiB a file may have, as on a disk that is nearly full."""
        import psycopg

        limited = ["sh", "-c", f'ulimit -f {largest * 2}; exec "$@"', "limited"] if largest else []
        command = [*self.as_other, *limited, str(self.programs / "postgres"), "-D", str(self.folder / "data")]
        self._process = spawn(command, self._log, folder=self.folder)
        deadline = time.monotonic() + _READY
        while True:
            try:
                self.connect("postgres").close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("\n".join(self._log.read_text().splitlines()[-20:])) from None
                time.sleep(0.02)

    def stop(self) -> None:
        """End it as an operator does: sessions are cut, data is kept."""
        self._end(signal.SIGINT)

    def crash(self) -> None:
        """End it as a power cut does: tables that are not logged are empty afterwards."""
        self._end(signal.SIGQUIT)

    def database(self) -> str:
        """A new database; answers its address."""
        name = next(self._names)
        self.run("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, name: str) -> str:
        return f"postgresql://127.0.0.1:{self.port}/{name}"

    def connect(self, name: str) -> Any:
        """A connection of the test itself, that reads what is there."""
        import psycopg

        name = name.rpartition("/")[2]
        return psycopg.connect(host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=name, autocommit=True)

    def run(self, name: str, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, where it has some."""
        with self.connect(name) as connection:
            cursor = connection.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []

    def _end(self, sign: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(sign)
            self._process.wait(_READY)
            self._process = None


def _done(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def started() -> Postgres:
    """A server that runs, or the tests that need it are not run."""
    try:
        import psycopg  # noqa: F401  # what the tests look into it with
    except ImportError as problem:
        not_to_be_had("PostgreSQL", problem)
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not programs and installed("PostgreSQL", "postgresql"):
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not programs:
        not_to_be_had("PostgreSQL", "there is none in /usr/lib/postgresql")
    folder = Path(tempfile.mkdtemp(prefix="headrace-postgres-"))
    try:
        made = Postgres(folder, programs[-1].parent)
        made.start()
    except (OSError, RuntimeError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        not_to_be_had("PostgreSQL", str(problem).splitlines()[0])
    return made


def over(server: Postgres) -> None:
    """End it and forget what it had."""
    server.crash()
    shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server that runs for all tests: each takes a database of its own."""
    server = started()
    os.environ[server.variable] = PASSWORD
    yield server
    over(server)


@pytest.fixture
def other_postgres() -> Iterator[Postgres]:
    """A server of its own for a test that stops it."""
    server = started()
    os.environ[server.variable] = PASSWORD
    yield server
    over(server)
