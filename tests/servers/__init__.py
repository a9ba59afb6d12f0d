"""Tests with real servers: one file per server, which installs what is missing, starts it on this machine alone and stops it.

A server that cannot be had is told by `not_to_be_had`: its tests are skipped, and counted as not run at the end of the run; with
HEADRACE_SERVERS=required they fail instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

# The settings of the shell are taken out of the way of all tests, so this one is read before.
REQUIRED = os.environ.get("HEADRACE_SERVERS") == "required"
SIGN = "no server: "


def not_to_be_had(server: str, why: object) -> NoReturn:
    """Skip what needs the server, or fail where servers are required."""
    text = f"{SIGN}{server}: {why}"
    if REQUIRED:
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address on which nothing listens."""
    opened = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in opened]
    finally:
        for one in opened:
            one.close()


_starter = ThreadPoolExecutor(1)
"""What starts servers: they end with the thread that has started them, and that of a test, or of a query, may end before."""


def spawn(
    command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a server that ends with this process, even if that is killed; what it says goes to the end of `log`."""
    libc = ctypes.CDLL(None)

    def begin() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: libc.prctl(1, signal.SIGKILL),  # PR_SET_PDEATHSIG
            )

    return _starter.submit(begin).result()


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    return [int(text) for task in Path(f"/proc/{process}/task").iterdir() for text in (task / "children").read_text().split()]


def hang(process: int, seconds: float) -> None:
    """Stop a server with all that it has started, and let it go on after so long."""
    # The server first: what it has started can then neither become more nor disappear.
    os.kill(process, signal.SIGSTOP)
    stopped = children(process)
    for one in stopped:
        os.kill(one, signal.SIGSTOP)

    def wake() -> None:
        for one in (*stopped, process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGCONT)

    threading.Timer(seconds, wake).start()


def lives(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def installed(server: str, package: str) -> bool:
    """Install a Debian package where that can be done; whether it was."""
    if os.geteuid() != 0 or not Path("/usr/bin/apt-get").exists():
        return False
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    # A package's own scripts would start the server of the system.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for attempt in (command, ["apt-get", "update", "-qq"], command):
        done = subprocess.run(attempt, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode == 0 and attempt is command:
            return True
    not_to_be_had(server, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{package} could not be installed")


def certificate(folder: Path, name: str, *, key: str = "key.pem", authority: str = "authority.pem") -> None:
    """Make a key, and a certificate for one name (`IP:127.0.0.1`, `DNS:elsewhere`) that is its own authority."""
    if shutil.which("openssl") is None and not installed("OpenSSL", "openssl"):
        not_to_be_had("OpenSSL", "there is no openssl to make a certificate with")
    options = ["-subj", f"/CN={name.partition(':')[2]}", "-addext", f"subjectAltName={name}", "-keyout", key, "-out", authority]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)


def unprivileged(user: str, folder: Path) -> list[str]:
    """What goes in front of a server's command, as databases refuse to run as root: another user, to whom the folder then belongs."""
    if os.geteuid() != 0:
        return []
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        entry = pwd.getpwnam("nobody")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, entry.pw_uid, entry.pw_gid)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--pdeathsig", "KILL"]
