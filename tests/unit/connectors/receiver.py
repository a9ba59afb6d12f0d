"""A server that takes what is posted to it: it keeps idempotency keys, and answers as it is told."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self


@dataclass(frozen=True)
class Asked:
    key: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Answer:
    """`cut`: the connection ends in the place of an answer, after the request was `taken`."""

    status: int = 200
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    taken: bool = True


class Receiver:
    """`answer` says what becomes of a request; `asked` are all that came, `kept` the bodies that were taken, once for each key.

    With a `certificate` and its key, in one file, it speaks TLS.
    """

    def __init__(self, answer: Callable[[Asked, int], Answer] = lambda asked, number: Answer(), certificate: Path | None = None) -> None:
        self.asked: list[Asked] = []
        self.kept: dict[str, str] = {}
        self.answer = answer
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8")
                asked = Asked(self.headers["Idempotency-Key"], dict(self.headers.items()), body)
                receiver.asked.append(asked)
                answer = receiver.answer(asked, len(receiver.asked))
                if answer.taken and (answer.status < 300 or answer.cut):
                    receiver.kept.setdefault(asked.key, body)
                if answer.cut:
                    self.close_connection = True
                    self.connection.close()
                    return
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.text.encode())))
                self.end_headers()
                self.wfile.write(answer.text.encode())

            def handle(self) -> None:
                # A client that does not trust us goes away in the handshake.
                with contextlib.suppress(ssl.SSLError, ConnectionError):
                    super().handle()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}/charges"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def rows(self) -> list[str]:
        """The lines of all that was taken."""
        return sorted(line for body in self.kept.values() for line in body.splitlines())
