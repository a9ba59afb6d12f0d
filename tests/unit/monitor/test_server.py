"""The web server: what it answers, whom, and that it holds up nothing."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from headrace.monitor.server import Pages, Server


def broken(accept: str) -> tuple[bytes, str]:
    raise ZeroDivisionError("in a page")


PAGES: Pages = {"/": lambda accept: (f"for {accept}".encode(), "text/html"), "/broken": broken}


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server("127.0.0.1", 0)
    server.serve(PAGES)
    yield server
    server.close()


def fetch(server: Server, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, bytes, http.client.HTTPMessage]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)) as connection:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read(), response.headers


def test_a_page(server: Server) -> None:
    status, body, headers = fetch(server, "/?again=1", Accept="text/plain")
    assert (status, body, headers["Content-Type"], headers["Content-Length"]) == (200, b"for text/plain", "text/html", "14")
    assert (headers["Server"].strip(), headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("headrace", "no-store", "nosniff")
    assert headers["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def test_head_is_get_without_the_page(server: Server) -> None:
    status, body, headers = fetch(server, method="HEAD", Accept="x")
    assert (status, body, headers["Content-Length"], headers["Content-Type"]) == (200, b"", "5", "text/html")
    assert fetch(server, "/none", method="HEAD")[:2] == (404, b"")
    # the client of Python drops what follows the headers
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        connection.sendall(b"HEAD / HTTP/1.0\r\nHost: localhost\r\nAccept: x\r\n\r\n")
        assert connection.makefile("rb").read().endswith(b"Content-Length: 5\r\n\r\n")


@pytest.mark.parametrize("path", ["/none", "/broken/", "/../etc/passwd", "*"])
def test_there_is_nothing_else(server: Server, path: str) -> None:
    assert fetch(server, path)[:2] == (404, b"404 Not Found\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_it_only_reads(server: Server, method: str) -> None:
    status, body, headers = fetch(server, method=method)
    assert (status, body, headers["Allow"]) == (405, b"405 Method Not Allowed\n", "GET, HEAD")


@pytest.mark.parametrize(
    ("host", "accepted"),
    [
        ("localhost", True),
        ("LOCALHOST:9464", True),
        ("127.0.0.1:9464", True),
        ("127.8.9.1", True),
        ("[::1]:9464", True),
        ("evil.example", False),
        ("evil.example:9464", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("10.0.0.1", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_requests_by_the_name_of_another_site_are_refused(server: Server, host: str, accepted: bool) -> None:
    assert fetch(server, Host=host)[:2] == ((200, b"for ") if accepted else (403, b"403 Forbidden\n"))


def test_a_request_without_a_host_is_refused(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert connection.makefile("rb").readline().split()[1] == b"403"


def test_the_host_of_the_settings_is_accepted() -> None:
    server = Server("LocalHost", 0)
    server._host = "metrics.internal"
    try:
        assert server.accepts("Metrics.Internal:9464") and not server.accepts("other.internal")
    finally:
        server.close()


def test_on_all_addresses_every_name_is_accepted() -> None:
    server = Server("0.0.0.0", 0)
    server.serve(PAGES)
    try:
        assert fetch(server, Host="pod-7.cluster")[0] == 200
        assert server.url == f"http://127.0.0.1:{server.server_port}"
    finally:
        server.close()


def test_what_fails_in_a_page_is_not_printed(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    assert fetch(server, "/broken")[:2] == (500, b"500 Internal Server Error\n")
    assert fetch(server)[0] == 200
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        connection.sendall(b"\x00\x01 nonsense\r\n\r\n")
        assert b"400 Bad Request" in connection.makefile("rb").read()
    assert capfd.readouterr() == ("", "")


def test_a_client_that_goes_away_is_not_printed(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    begun, reset = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def large(accept: str) -> tuple[bytes, str]:
        threads.append(threading.current_thread())
        begun.set()
        reset.wait(30)
        return bytes(1 << 24), "text/plain"

    server.pages = {**PAGES, "/large": large}
    connection = socket.create_connection(("127.0.0.1", server.server_port), timeout=30)
    connection.sendall(b"GET /large HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert begun.wait(30)
    connection.close()
    reset.set()
    threads[0].join(30)
    assert not threads[0].is_alive()
    assert fetch(server)[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_slow_page_and_a_slow_client_hold_up_nothing(server: Server) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(accept: str) -> tuple[bytes, str]:
        begun.set()
        go_on.wait(60)
        return b"at last", "text/plain"

    server.pages = {**PAGES, "/slow": slow}
    answers: list[bytes] = []
    waiting = threading.Thread(target=lambda: answers.append(fetch(server, "/slow")[1]))
    waiting.start()
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as silent:
        silent.sendall(b"GET / HT")
        assert begun.wait(30)
        assert fetch(server)[0] == 200
        # an end does not wait for them
        server.close()
        assert answers == []
    go_on.set()
    waiting.join(30)
    assert answers == [b"at last"]


def test_after_the_end_the_port_is_free() -> None:
    server = Server("127.0.0.1", 0)
    server.serve(PAGES)
    assert fetch(server)[0] == 200
    port = server.server_port
    with pytest.raises(OSError, match="in use"):
        Server("127.0.0.1", port)
    server.close()
    with pytest.raises(ConnectionRefusedError):
        fetch(server)
    again = Server("127.0.0.1", port)
    # never served: nothing to wait for
    again.close()


def test_it_does_not_keep_a_process_alive() -> None:
    script = """
import socket, threading
from headrace.monitor.server import Server
server, begun = Server("127.0.0.1", 0), threading.Event()
def hangs(accept):
    begun.set()
    threading.Event().wait()
server.serve({"/": hangs})
client = socket.create_connection(("127.0.0.1", server.server_port))
client.sendall(b"GET / HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
begun.wait()
print("over")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


def test_an_address_of_version_6() -> None:
    try:
        server = Server("::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    server.serve(PAGES)
    try:
        assert server.url == f"http://[::1]:{server.server_port}"
        with closing(http.client.HTTPConnection("::1", server.server_port, timeout=30)) as connection:
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
    finally:
        server.close()
