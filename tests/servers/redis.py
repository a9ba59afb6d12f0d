"""A Redis server with a password."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import certificate, free_ports, installed, not_to_be_had, spawn

_READY = 30
PASSWORD = "gehéim ' \\"
VARIABLE = "TEST_REDIS_PASSWORD"


class Redis:
    """A server with its data in a folder, so that it can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.encrypted = free_ports(2)
        self.authority = folder / "authority.pem"
        certificate(folder, "IP:127.0.0.1")
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--requirepass", PASSWORD]
        keys = ["--tls-cert-file", str(self.authority), "--tls-key-file", str(self.folder / "key.pem"), "--tls-auth-clients", "no"]
        options += ["--tls-port", str(self.encrypted), *keys]
        self._process = spawn(["redis-server", *options, "--appendonly", "yes", "--appendfsync", "no"], self._log)
        deadline = time.monotonic() + _READY
        while self.run("PING") != "PONG":
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("\n".join(self._log.read_text().splitlines()[-20:]))
            time.sleep(0.02)

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def stop(self) -> None:
        """End it as a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_READY)
            self._process = None

    def run(self, *command: str) -> str:
        """What the server answers, by its own client."""
        arguments = ["redis-cli", "-p", str(self.port), "--no-auth-warning", "-a", PASSWORD, *command]
        return subprocess.run(arguments, capture_output=True, text=True, check=False).stdout.strip()

    def load(self, commands: list[list[str]]) -> None:
        """Many commands in one go."""
        words = (b"".join(_command(command)) for command in commands)
        arguments = ["redis-cli", "-p", str(self.port), "--no-auth-warning", "-a", PASSWORD, "--pipe"]
        done = subprocess.run(arguments, input=b"".join(words), capture_output=True, check=False)
        assert done.returncode == 0 and b"errors: 0" in done.stdout, done.stdout


def _command(words: list[str]) -> Iterator[bytes]:
    yield b"*%d\r\n" % len(words)
    for word in words:
        encoded = word.encode()
        yield b"$%d\r\n%s\r\n" % (len(encoded), encoded)


def started() -> Redis:
    """A server that runs, or the tests that need it are not run."""
    if shutil.which("redis-server") is None and not installed("Redis", "redis-server"):
        not_to_be_had("Redis", "there is no redis-server")
    folder = Path(tempfile.mkdtemp(prefix="headrace-redis-"))
    try:
        server = Redis(folder)
        server.start()
    except (OSError, RuntimeError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        not_to_be_had("Redis", str(problem).splitlines()[0])
    return server


def over(server: Redis) -> None:
    """End it and forget what it had."""
    server.stop()
    shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def _redis() -> Iterator[Redis]:
    server = started()
    yield server
    over(server)


@pytest.fixture
def redis(_redis: Redis, monkeypatch: pytest.MonkeyPatch) -> Redis:
    """The server, empty, its password in the environment."""
    monkeypatch.setenv(VARIABLE, PASSWORD)
    assert (reply := _redis.run("FLUSHALL")) == "OK", reply
    return _redis
