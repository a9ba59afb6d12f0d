"""The HTTP sink against a server on this machine: what it sends, what it sends again, and what it says."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.http import Sink
from headrace.errors import HeadraceError
from headrace.ports import Elsewhere, SinkContext, Staged, sink_class
from headrace.schema import parse_schema
from tests.unit.connectors.receiver import Answer, Receiver, Request
from tests.unit.connectors.served import Handler, Served, self_signed
from tests.unit.errors import check_error

pytest.importorskip("urllib3")

SCHEMA = parse_schema("card string, amount decimal(10,2)")
SOON = {"backoff": "1 ms"}


def opened(sink: Sink, folder: Path, mode: str = "append") -> Sink:
    spark: Any = None
    sink.open(SinkContext("job", "out", SCHEMA, spark, folder, "c1", mode=mode))
    return sink


def staged(*rows: tuple[Any, ...]) -> Staged:
    return Staged(len(rows), rows=lambda: [(row[0], Decimal(row[1]), *row[2:]) for row in rows])


def test_batches_of_lines_in_an_order_that_is_always_the_same(tmp_path: Path) -> None:
    with Receiver() as server:
        sink = opened(Sink(server.url, batch=2), tmp_path)
        sink.commit(3, staged(("b", "2"), ("ä", "1"), ("a", "0.5")))
        sink.commit(3, staged(("ä", "1"), ("a", "0.5"), ("b", "2")))
        sink.commit(4, staged())
        sink.close()
    assert [(one.key, one.body) for one in server.requests[:2]] == [
        ("c1-out-3-0", '{"card":"a","amount":"0.50"}\n{"card":"b","amount":"2.00"}\n'.replace("2.00", "2").replace("0.50", "0.5")),
        ("c1-out-3-1", '{"card":"ä","amount":"1"}\n'),
    ]
    assert [(one.key, one.body) for one in server.requests[2:]] == [(one.key, one.body) for one in server.requests[:2]]
    assert server.requests[0].headers["Content-Type"] == "application/x-ndjson"
    assert len(server.kept) == 2


def test_a_key_has_the_identity_of_its_epoch(tmp_path: Path) -> None:
    """An epoch of the same number of another history is another one to the server."""
    with Receiver() as server:
        sink = opened(Sink(server.url, batch=1), tmp_path)
        for identity in ("one", "one", "two"):
            sink.commit(3, replace(staged(("a", "1"), ("b", "2")), identity=identity))
        sink.close()
    assert list(server.kept) == ["c1-out-3-0-one", "c1-out-3-1-one", "c1-out-3-0-two", "c1-out-3-1-two"]


def test_an_array_and_headers_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_TOKEN", "sesame")
    with Receiver() as server:
        headers: dict[str, Any] = {"X-Job": "fraud", "X-Api-Key": hr.secret("HTTP_TOKEN")}
        sink = opened(Sink(server.url, format="json", headers=headers, token=hr.secret("HTTP_TOKEN")), tmp_path)
        sink.commit(0, staged(("a", "1"), ("b", "2")))
        sink.close()
    [request] = server.requests
    assert [row["card"] for row in json.loads(request.body)] == ["a", "b"]
    sent_headers = {name: request.headers[name] for name in ("Content-Type", "X-Job", "X-Api-Key", "Authorization")}
    assert sent_headers == {"Content-Type": "application/json", "X-Job": "fraud", "X-Api-Key": "sesame", "Authorization": "Bearer sesame"}


def test_changes_say_what_they_are(tmp_path: Path) -> None:
    with Receiver() as server:
        sink = opened(Sink(server.url), tmp_path, "changes")
        sink.commit(0, staged(("a", "7", 1), ("b", "1", 2), ("a", "5", -1)))
        sink.close()
    [request] = server.requests
    rows = [json.loads(line) for line in request.body.splitlines()]
    assert [(row["card"], row["amount"], row["_change"]) for row in rows] == [
        ("a", "5", "delete"),
        ("a", "7", "insert"),
        ("b", "1", "insert"),
        ("b", "1", "insert"),
    ]


@pytest.mark.parametrize(
    "trouble",
    [Answer(503), Answer(429, headers=(("Retry-After", "0"),)), Answer(408), Answer(cut=True), Answer(cut=True, taken=False)],
    ids=["unavailable", "too many", "timeout", "answer lost", "request lost"],
)
def test_what_may_be_taken_later_is_sent_again_under_its_key(tmp_path: Path, trouble: Answer) -> None:
    with Receiver(lambda request, number: trouble if number in (1, 3) else Answer()) as server:
        sink = opened(Sink(server.url, batch=1, **SOON), tmp_path)
        sink.commit(0, staged(("a", "1"), ("b", "2")))
        sink.close()
    assert [one.key for one in server.requests] == ["c1-out-0-0", "c1-out-0-0", "c1-out-0-1", "c1-out-0-1"]
    assert server.rows() == ['{"card":"a","amount":"1"}', '{"card":"b","amount":"2"}']


def test_a_key_that_is_still_being_processed(tmp_path: Path) -> None:
    """A server that knows the keys answers 409 while the first request of a key is not finished: its rows are not at fault."""
    with Receiver(lambda request, number: Answer(cut=True) if number == 1 else Answer(409) if number == 2 else Answer()) as server:
        sink = opened(Sink(server.url, idempotent=True, **SOON), tmp_path)
        sink.commit(0, staged(("a", "1"), ("b", "2")))
        sink.close()
    assert [one.key for one in server.requests] == ["c1-out-0-0"] * 3
    assert not (tmp_path / "refused").exists()


def test_a_key_that_is_processed_for_ever(tmp_path: Path) -> None:
    with Receiver(lambda request, number: Answer(409, "in progress")) as server:
        sink = opened(Sink(server.url, idempotent=True, retries=1, **SOON), tmp_path)
        check_error(
            """
            HTTP_FAILED: <url> did not accept batch 0 of epoch 7 of out, sent 2 times: HTTP 409: in progress
              hint: retries= and backoff= set how long it retries. The next start sends it again, with the same key.
              more: headrace error HTTP_FAILED
            """,
            lambda: sink.commit(7, staged(("a", "1"))),
            hide={server.url: "<url>"},
        )
        sink.close()


def test_a_server_that_stays_away(tmp_path: Path) -> None:
    with Receiver(lambda request, number: Answer(503, "come\nback later")) as server:
        sink = opened(Sink(server.url + "?token=abc", retries=2, **SOON), tmp_path)
        check_error(
            """
            HTTP_FAILED: <url> did not accept batch 0 of epoch 7 of out, sent 3 times: HTTP 503: come back later
              hint: retries= and backoff= set how long it retries. The next start sends it again, with the same key.
              more: headrace error HTTP_FAILED
            """,
            lambda: sink.commit(7, staged(("a", "1"))),
            hide={server.url: "<url>"},
        )
        sink.close()
    assert len(server.requests) == 3


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        sink = opened(Sink(f"http://127.0.0.1:{port}/", retries=0), tmp_path)
        with pytest.raises(HeadraceError) as raised:
            sink.commit(0, staged(("a", "1")))
        sink.close()
    assert raised.value.code == "HTTP_FAILED"
    assert "sent once: " in raised.value.message and "Connection refused" in raised.value.message


def test_rows_that_are_refused_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_TOKEN", "sesame")
    with Receiver(lambda request, number: Answer(422, "amount is no number; you are sesame")) as server:
        sink = opened(Sink(server.url, token=hr.secret("HTTP_TOKEN")), tmp_path)
        sink.on_refused = "fail"
        check_error(
            """
            HTTP_REFUSED: <url> rejected batch 0 of epoch 1 of out: HTTP 422: amount is no number; you are ***
              hint: the next start sends it again, with the same key; with on_refused="dead_letter", rejected rows become dead letters
              more: headrace error HTTP_REFUSED
            """,
            lambda: sink.commit(1, staged(("a", "1"))),
            hide={server.url: "<url>"},
        )
        sink.close()
    assert len(server.requests) == 1


def test_rows_that_are_refused_are_put_aside(tmp_path: Path) -> None:
    def answer(request: Request, number: int) -> Answer:
        return Answer(422, "no") if '"b"' in request.body else Answer()

    with Receiver(answer) as server:
        sink = opened(Sink(server.url), tmp_path)
        for _ in range(2):
            sink.commit(5, staged(("a", "1"), ("b", "2"), ("c", "3")))
        sink.close()
    assert server.rows() == ['{"card":"a","amount":"1"}', '{"card":"c","amount":"3"}'] and len(server.kept) == 2
    [file] = (tmp_path / "refused" / "out").iterdir()
    assert [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] == [
        {"node": "out", "reason": "HTTP 422: no", "file": None, "position": None, "raw": '{"card":"b","amount":"2"}'}
    ]


@pytest.mark.parametrize("status", [301, 401, 403, 404])
def test_what_is_not_about_the_rows_is_never_put_aside(tmp_path: Path, status: int) -> None:
    with Receiver(lambda request, number: Answer(status, headers=(("Location", "/elsewhere"),))) as server:
        sink = opened(Sink(server.url), tmp_path)
        with pytest.raises(HeadraceError) as raised:
            sink.commit(0, staged(("a", "1")))
        sink.close()
    assert raised.value.code == "HTTP_REFUSED" and f"HTTP {status}" in raised.value.message
    assert not (tmp_path / "refused").exists() and len(server.requests) == 1


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("certificate"))


def test_a_certificate_that_is_trusted_only_by_its_file(certificate: Path, tmp_path: Path) -> None:
    with Receiver(certificate=certificate) as server:
        by_name = server.url.replace("127.0.0.1", "localhost")
        sink = opened(Sink(by_name, ca=str(certificate.with_name("certificate"))), tmp_path)
        sink.commit(0, staged(("a", "1")))
        sink.close()
        assert server.rows() == ['{"card":"a","amount":"1"}']
        for url, ca, reason in [
            (by_name, None, "self-signed certificate"),
            (server.url, str(certificate.with_name("certificate")), "IP address mismatch"),
        ]:
            sink = opened(Sink(url, ca=ca), tmp_path)
            with pytest.raises(HeadraceError) as raised:
                sink.commit(1, staged(("a", "1")))
            sink.close()
            assert raised.value.code == "HTTP_FAILED" and reason in raised.value.message, raised.value
            assert "batch 0 of epoch 1 of out, sent once: its certificate is not trusted: " in raised.value.message
    assert len(server.requests) == 1


def test_what_a_plan_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_TOKEN", "sesame")
    sink = Sink("https://example.org/x?y=1", batch=7, token=hr.secret("HTTP_TOKEN"), headers={"X": "y"}, timeout="5 s", idempotent=True)
    stored = json.loads(json.dumps(sink.options()))
    assert "sesame" not in json.dumps(stored)
    assert Sink.from_options(stored).options() == sink.options()
    assert sink.describe() == "http https://example.org/x"
    assert (sink.traits.commit, Sink("http://h").traits.commit) == ("idempotent", "plain")


def test_it_is_found_by_its_name() -> None:
    if "http" in dir(hr.read.memory([], "a int", name="s").write):
        assert sink_class("http") is Sink


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "example.org"}, "write.http: the url cannot be 'example.org'"),
        ({"url": "ftp://example.org"}, "write.http: the url cannot be 'ftp://example.org'"),
        ({"url": "https://me:pass@example.org/"}, "write.http: the url for example.org has a user or password in it"),
        ({"headers": {"Authorization": "Bearer x"}}, "write.http: the header Authorization must be a secret, given by its name"),
        ({"token": "x"}, "write.http: token must be a secret, given by its name"),
        ({"format": "xml"}, "write.http: format cannot be 'xml'"),
        ({"batch": 0}, "write.http: batch cannot be 0"),
        ({"retries": -1}, "write.http: retries cannot be -1"),
        ({"idempotent": "yes"}, "write.http: idempotent cannot be 'yes'"),
    ],
)
def test_options_that_do_not_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        Sink(**{"url": "https://example.org/", **options})
    assert (raised.value.code, raised.value.message) == ("BAD_OPTION", message)
    assert "pass@" not in str(raised.value) and "Bearer x" not in str(raised.value)


def test_written_elsewhere_it_tells_no_secret(tmp_path: Path) -> None:
    ca = str(self_signed(tmp_path))
    sink = Sink("https://example.org/charges", batch=7, idempotent=True, headers={"X-Job": "fraud"}, token=hr.secret("TOKEN"), ca=ca)
    assert sink.elsewhere(Elsewhere("t1", tmp_path)) is None
    copy = sink.elsewhere(Elsewhere("t1", tmp_path, "http://localhost:8080/"))
    assert copy is not None
    assert copy.options() == {**sink.options(), "url": "http://localhost:8080/t1", "headers": {}, "token": None, "ca": None}


def test_a_server_that_does_not_show_what_it_has(tmp_path: Path) -> None:
    class Deaf(Handler):
        def do_GET(self) -> None:
            self.answer(405, "")

    with Served(Deaf) as server:
        session: Any = None
        check_error(
            """
            HTTP_FAILED: <url>/t1 does not return what was posted to it: HTTP 405
              hint: --server http=URL needs a server whose GET returns the rows posted to the same address, as JSON lines
              more: headrace error HTTP_FAILED
            """,
            lambda: Sink(f"{server.root}/t1").contents(session, SCHEMA, "append"),
            hide={server.root: "<url>"},
        )
