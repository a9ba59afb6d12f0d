"""A small web server that only reads: each path has a function that makes its page."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

Pages = Mapping[str, Callable[[str], tuple[bytes, str]]]
"""By path: the function that makes the page and its content type, for a header `Accept`."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PAUSE = 0.1
"""How long, in seconds, the thread waits for a connection before it looks whether to end."""


class Server(ThreadingHTTPServer):
    """Listens from its creation on; answers requests between `serve` and `close`, each in a daemon thread."""

    daemon_threads = True
    # otherwise two processes could listen on one port
    allow_reuse_port = False

    def __init__(self, host: str, port: int) -> None:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family = family
        self.pages: Pages = {}
        self._host = host.lower()
        self._thread: threading.Thread | None = None
        super().__init__(address[:2], _Handler)  # type: ignore[arg-type]  # a host and a port in every family

    def server_bind(self) -> None:
        # HTTPServer would look up the name of the host, which may take seconds
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address for a browser on this machine."""
        name = ("::1" if ":" in self._host else "127.0.0.1") if self.is_open else self._host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.server_port}"

    @property
    def is_open(self) -> bool:
        """Whether it listens on all addresses of the machine."""
        return ipaddress.ip_address(self.server_name.partition("%")[0]).is_unspecified

    def accepts(self, header: str | None) -> bool:
        """Return whether a request has the right `Host`: another one comes from a page of another site, whose name leads here."""
        if self.is_open:
            return True
        try:
            name = urlsplit(f"//{header or ''}").hostname or ""
        except ValueError:
            return False
        return name in ("localhost", self._host, self.server_name) or _is_loopback(name)

    def serve(self, pages: Pages) -> None:
        """Answer requests for these pages from now on."""
        self.pages = pages
        self._thread = threading.Thread(target=self.serve_forever, args=(_PAUSE,), name="headrace monitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End, and release the port. Requests that are being answered are not waited for."""
        if self._thread is not None:
            self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client that went away concerns nobody."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 10
    server_version, sys_version = "headrace", ""

    def do_GET(self) -> None:
        if not self.server.accepts(self.headers.get("Host")):
            self.send_error(403)
            return
        page = self.server.pages.get(urlsplit(self.path).path)
        if page is None:
            self.send_error(404)
            return
        try:
            body, kind = page(self.headers.get("Accept", ""))
        except Exception:  # the run goes on, whatever fails here
            self.send_error(500)
            return
        self._answer(200, body, kind)

    do_HEAD = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        # the base class answers methods that have no function with 501
        code = 405 if code == 501 else code
        self._answer(code, f"{code} {self.responses[code][0]}\n".encode(), "text/plain; charset=utf-8")

    def _answer(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if code == 405:
            self.send_header("Allow", "GET, HEAD")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def _is_loopback(name: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(name).is_loopback
    return False
