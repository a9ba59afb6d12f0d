"""A PostgreSQL server, with passwords and a certificate of its own making."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.servers import certificate, children, installed, lives, not_to_be_had, unprivileged
from tests.servers.database import READY, Server, begun, done, running

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


class Postgres(Server):
    title: ClassVar[str] = "PostgreSQL"
    variable: ClassVar[str] = "TEST_POSTGRES_PASSWORD"
    password: ClassVar[str] = PASSWORD
    first: ClassVar[str] = "postgres"
    ends: ClassVar[signal.Signals] = signal.SIGINT
    # Tables that are not logged are empty afterwards.
    breaks: ClassVar[signal.Signals] = signal.SIGQUIT

    def __init__(self, folder: Path, programs: Path) -> None:
        super().__init__(folder)
        self.programs = programs
        self.authority = folder / "server.pem"
        certificate(folder, "IP:127.0.0.1", key="server.key", authority="server.pem")
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        self.as_other = unprivileged("postgres", folder)
        (folder / "server.key").chmod(0o600)
        init = ["-D", "data", "-U", USER, "-A", "scram-sha-256", "--pwfile=password", "--no-sync", "--locale=C.UTF-8"]
        done([*self.as_other, str(programs / "initdb"), *init], folder)
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(port=self.port, folder=folder))

    def start(self, *, largest: int = 0) -> None:
        """`largest`: how many KiB a file may have, as on a disk that is nearly full."""
        limited = ["sh", "-c", f'ulimit -f {largest * 2}; exec "$@"', "limited"] if largest else []
        self._begin([*self.as_other, *limited, str(self.programs / "postgres"), "-D", str(self.folder / "data")])

    def _answers(self) -> bool:
        import psycopg

        try:
            self.connect(self.first).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """Kill the server itself, as kill -9 does; those that it started notice and go, before which none can take its place."""
        assert self._process is not None
        started = children(self._process.pid)
        self._end(signal.SIGKILL)
        deadline = time.monotonic() + READY
        while any(map(lives, started)):
            assert time.monotonic() < deadline, "processes of a server that was killed live on"
            time.sleep(0.02)

    def url(self, name: str) -> str:
        return f"postgresql://127.0.0.1:{self.port}/{name}"

    def connect(self, name: str) -> Any:
        import psycopg

        name = name.rpartition("/")[2]
        return psycopg.connect(host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=name, autocommit=True)


def started() -> Postgres:
    """A server that runs, or the tests that need it are not run."""
    try:
        import psycopg  # noqa: F401  # what the tests look into it with
    except ImportError as problem:
        not_to_be_had(Postgres.title, problem)
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not programs and installed(Postgres.title, "postgresql"):
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not programs:
        not_to_be_had(Postgres.title, "there is none in /usr/lib/postgresql")
    return begun(Postgres.title, lambda folder: Postgres(folder, programs[-1].parent))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server that runs for all tests: each takes a database of its own."""
    with running(started()) as server:
        yield server


@pytest.fixture
def other_postgres() -> Iterator[Postgres]:
    """A server of its own for a test that stops it."""
    with running(started()) as server:
        yield server
