"""A server of HTTP in a thread of this process, and a certificate for it that nobody has signed."""

from __future__ import annotations

import contextlib
import shutil
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest


class Handler(BaseHTTPRequestHandler):
    """What a server does with a request, without a word on the terminal."""

    protocol_version = "HTTP/1.1"

    def answer(self, status: int, text: str, headers: tuple[tuple[str, str], ...] = (), held: threading.Event | None = None) -> None:
        """An answer; the text of it comes when `held` is set."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        if held is not None:
            held.wait(20)
        self.wfile.write(text.encode())

    def cut(self) -> None:
        """The connection ends in the place of an answer."""
        self.close_connection = True
        self.connection.close()

    def body(self) -> str:
        return self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8")

    def handle(self) -> None:
        # A client that does not trust us goes away in the handshake.
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Served:
    """A server while it is entered; with a `certificate` and its key, in one file, it speaks TLS."""

    def __init__(self, handler: type[Handler], certificate: Path | None = None) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._scheme = "http"
        if certificate is not None:
            self._scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # The handshake is the thread's that handles the request, where a failure ends no other.
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def root(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def self_signed(folder: Path) -> Path:
    """A certificate for `localhost` with its key in one file, and alone in `certificate` beside it."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    arguments = [*command, "-addext", "subjectAltName=DNS:localhost", "-keyout", str(folder / "key"), "-out", str(folder / "certificate")]
    subprocess.run(arguments, check=True, capture_output=True)
    (folder / "both.pem").write_text((folder / "key").read_text() + (folder / "certificate").read_text())
    return folder / "both.pem"
