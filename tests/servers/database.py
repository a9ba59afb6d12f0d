"""What servers of databases have in common: a folder with their data, a process, databases of their own for each test."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from tests.servers import free_ports, not_to_be_had, spawn

READY = 60


class Server(ABC):
    """A server with its own data in a folder; `database()` makes a database of its own for a test."""

    title: ClassVar[str]
    variable: ClassVar[str]
    password: ClassVar[str]
    # The database that is always there, and how the server is told to end: as an operator does, and as a power cut does.
    first: ClassVar[str]
    ends: ClassVar[signal.Signals]
    breaks: ClassVar[signal.Signals]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (self.port,) = free_ports(1)
        self.log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._names = (f"db{n}" for n in itertools.count(1))
        folder.chmod(0o755)

    @abstractmethod
    def start(self) -> None:
        """Start it and wait until it answers."""

    @abstractmethod
    def url(self, name: str) -> str:
        """The address of a database."""

    @abstractmethod
    def connect(self, name: str) -> Any:
        """A connection of the test itself, that reads what is there."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether it takes connections."""

    def _begin(self, command: list[str]) -> None:
        self._process = spawn(command, self.log, folder=self.folder)
        deadline = time.monotonic() + READY
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("\n".join(self.log.read_text().splitlines()[-20:]))
            time.sleep(0.02)

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def stop(self) -> None:
        """End it as an operator does: sessions are cut, data is kept."""
        self._end(self.ends)

    def crash(self) -> None:
        """End it as a power cut does."""
        self._end(self.breaks)

    def _end(self, sign: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(sign)
            self._process.wait(READY)
            self._process = None

    def database(self) -> str:
        """A new database; answers its address."""
        name = next(self._names)
        self.run(self.first, f"CREATE DATABASE {name}")
        return self.url(name)

    def run(self, name: str, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, where it has some."""
        with self.connect(name) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []


S = TypeVar("S", bound=Server)


def begun(title: str, make: Callable[[Path], S]) -> S:
    """A server that was made and started in a folder of its own, or the tests that need it are not run."""
    folder = Path(tempfile.mkdtemp(prefix=f"headrace-{title.lower()}-"))
    try:
        server = make(folder)
        server.start()
    except (OSError, RuntimeError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        not_to_be_had(title, str(problem).splitlines()[0])
    return server


@contextlib.contextmanager
def running(server: S) -> Iterator[S]:
    """The server with its password in the environment; then it ends, and what it had is forgotten."""
    os.environ[server.variable] = server.password
    try:
        yield server
    finally:
        server.crash()
        shutil.rmtree(server.folder, ignore_errors=True)


def done(command: list[str], folder: Path) -> None:
    """Run what makes a server's data."""
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise RuntimeError(completed.stdout + completed.stderr)
