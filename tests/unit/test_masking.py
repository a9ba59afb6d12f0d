"""A secret that was read shows in no text: it is planted wherever something can fail, and looked for in all that is said of it."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import socketserver
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

import headrace as hr
from headrace import masking
from headrace.connectors.delta.place import place as delta
from headrace.connectors.http import Sink as HttpSink
from headrace.connectors.iceberg.place import place as iceberg
from headrace.connectors.jdbc.address import address_of
from headrace.connectors.jdbc.connect import refusal as database_refusal
from headrace.connectors.jdbc.database import Problem
from headrace.connectors.kafka.cluster import Cluster
from headrace.connectors.kafka.look import refused
from headrace.connectors.kafka.problems import problem
from headrace.connectors.kafka.registry import Registry
from headrace.connectors.redis.connect import connected, refusal
from headrace.jvm.listed import _Lister
from headrace.ports import SinkContext, Staged
from headrace.ports.aside import put_aside
from headrace.schema import parse_schema
from headrace.spark.run.epochs import Committer
from headrace.spark.run.failures import failure
from headrace.spark.run.loader import Loader
from tests.unit.connectors.receiver import Answer, Receiver
from tests.unit.connectors.served import Handler, Served

TOKEN = "tok/Sesame+43=&x"
PASSWORD = 'p@ss/wörd "7" \\&<x>\''
SCHEMA = parse_schema("card string")
SOURCES = Path(__file__).parents[2] / "src" / "headrace"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", TOKEN)
    monkeypatch.setenv("PASSWORD", PASSWORD)


def spellings(secret: str) -> list[str]:
    """What no text may have in it; of Base64 what a secret is spelled as wherever it stands."""
    inner = [base64.b64encode(b"x" * before + secret.encode())[4:-4].decode() for before in range(3)]
    return [*escaped(secret), *inner, *(text.translate(str.maketrans("+/", "-_")) for text in inner)]


def escaped(secret: str) -> list[str]:
    octets = secret.encode()
    return [
        secret,
        quote(secret, safe=""),
        re.sub("%..", lambda match: match[0].lower(), quote(secret, safe="")),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(json.dumps(secret))[3:-3],
        json.dumps(secret, ensure_ascii=False)[1:-1].replace("/", "\\/"),
        repr(secret)[1:-1],
        repr(octets)[2:-1],
        html.escape(secret),
        secret.replace("'", "''"),
        secret.replace("\\", "\\\\").replace('"', '\\"'),
    ]


@pytest.mark.parametrize("secret", [TOKEN, PASSWORD, "hunter2", "ключ-от-двери", "🔑🔑🔑🔑🔑🔑", "line\nbreak\t"])
def test_every_spelling_is_masked(secret: str) -> None:
    masking.hide(secret)
    for text in escaped(secret):
        assert masking.masked(f"the server says: {text}, and no more") == "the server says: ***, and no more", text
    for before in ("", "a", "ap", "app:", "a user of some length:"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            header = masking.masked(f"Basic {encode(f'{before}{secret}'.encode()).decode()}, and no more")
            assert not [text for text in spellings(secret) if text in header], header
            assert header.startswith("Basic ") and header.endswith("***, and no more"), header


def test_other_text_stays() -> None:
    masking.hide("hunter2")
    masking.hide("abc")  # too short to be told from other text
    for text in ("", "hunter 2", "abc", "row 42 of /data/in.json failed", 'key="country"', "at com.example.Abc(Abc.java:7)"):
        assert masking.masked(text) == text


def test_a_secret_within_another() -> None:
    masking.hide("sesame")
    masking.hide("open sesame now")
    assert masking.masked("open sesame now: sesame") == "***: ***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://app:s3cret@db/shop", "postgresql://app:***@db/shop"),
        ("https://host:8080/path?mail=a@b", "https://host:8080/path?mail=a@b"),
        ("https://app:a/b@host:8080/path", "https://app:***@host:8080/path"),
        ("jdbc:postgresql://db/shop?user=app&password=s3cret&ssl=true", "jdbc:postgresql://db/shop?user=app&password=***&ssl=true"),
        ('hr.read.jdbc(url, password="s3cret", key="id")', 'hr.read.jdbc(url, password="***", key="id")'),
        ("'api_key' = 's3cret', 'topic' = 't'", "'api_key' = '***', 'topic' = 't'"),
        ("{'user': 'me', 'password': 's3cret'}", "{'user': 'me', 'password': '***'}"),
        ('password=hr.secret("DB_PASSWORD")', 'password=hr.secret("DB_PASSWORD")'),
        ("'password.env' = 'DB_PASSWORD'", "'password.env' = 'DB_PASSWORD'"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, shown: str) -> None:
    assert masking.masked(text) == shown


def test_another_process_follows() -> None:
    patterns: list[str] = []
    masking.hide("before it came")
    masking.follow(patterns.append)
    try:
        masking.hide("after it came")
        masking.hide("\udcff\udcfe no text of another process")
    finally:
        masking.follow(lambda pattern: None)
    assert [bool(re.fullmatch(pattern, "before it came")) for pattern in patterns] == [True] * len(patterns)
    assert [bool(re.fullmatch(patterns[at], "after it came")) for at in (0, 1, -1)] == [False, True, True]
    assert all(pattern.encode() for pattern in patterns)


# Each raises, or gives a text, with the secret in it if nobody masks it.


def posted(answer: Answer | None, url: str | None = None) -> object:
    headers: dict[str, Any] = {"X-Api-Key": hr.secret("TOKEN")}

    def say(request: Any, number: int) -> Answer:
        return answer or Answer(401, f"no such key: {request.headers['X-Api-Key']}, {request.headers['Authorization']}")

    with Receiver(say) as server:
        sink = HttpSink(url or server.url, headers=headers, token=hr.secret("TOKEN"), retries=1, backoff="1 ms")
        session: Any = None
        sink.open(SinkContext("job", "out", SCHEMA, session, Path(), "c1"))
        sink.commit(0, Staged(1, rows=lambda: [("a",)]))
    return None


@contextmanager
def registry(status: int, text: Callable[[str], str], headers: tuple[tuple[str, str], ...] = ()) -> Iterator[Registry]:
    class Refusing(Handler):
        def do_GET(self) -> None:
            self.answer(status, text(self.headers["Authorization"]), headers)

        def do_POST(self) -> None:
            self.body()
            self.do_GET()

    with Served(Refusing) as server:
        client = Registry.of("read.kafka", {"url": server.root, "user": "app", "password": hr.secret("PASSWORD")})
        assert client is not None
        yield client


def looked_up(status: int, text: Callable[[str], str], headers: tuple[tuple[str, str], ...] = ()) -> object:
    with registry(status, text, headers) as client:
        return client.latest("orders-value", "avro")


def registered(status: int, text: Callable[[str], str]) -> object:
    with registry(status, text) as client:
        return client.register("orders-value", "avro", '"string"')


def in_redis() -> object:
    """A server that quotes what it does not understand, as servers before ACLs do."""

    class Quoting(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            words = self.request.recv(1 << 16).split()
            self.request.sendall(b"-ERR unknown command, with args: " + b" ".join(words) + b"\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Quoting) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        url = f"redis://127.0.0.1:{server.server_address[1]}/0"
        try:
            return connected("write.redis", url, "app", hr.secret("PASSWORD"), None).ping()
        except Exception as refused:
            raise refusal("out", url, refused) from masking.masked_problem(refused)
        finally:
            server.shutdown()


def database(text: str, state: str = "28P01") -> object:
    raise database_refusal(Problem(state, 0, text, False), address_of("read.jdbc", "postgresql://db/shop"))


def cluster() -> Cluster:
    return Cluster.of("read.kafka", "kafka:9092", {"user": "app", "password": hr.secret("PASSWORD")}, {})


def in_kafka(kind: str) -> object:
    raise refused(cluster(), kind, f"Invalid value {cluster().properties()['sasl.jaas.config']} for sasl.jaas.config")


def in_a_sink_of_kafka(code: str) -> object:
    raise problem(code, cluster(), "orders", f"failed with {cluster().properties()}")


def in_a_lake(place: Any) -> object:
    settings = {name: str(value) for name, value in place.items()}
    try:
        raise ValueError(f"store says: {settings} and {quote(hr.secret('PASSWORD').read())}")
    except ValueError as cause:
        table = delta("read.delta", "s3://b/t", {"AWS_SECRET_ACCESS_KEY": hr.secret("PASSWORD")})
        raise table.unreadable(cause) from masking.masked_problem(cause)


def in_a_catalog() -> object:
    options = {"type": "sql", "uri": hr.secret("PASSWORD")}
    return iceberg("read.iceberg", "db.charges", options).catalog()


def of_java(folder: Path, condition: str | None) -> object:
    secret = hr.secret("PASSWORD").read()
    trace = f"java.lang.Exception: {secret}\n\tat a.B.c(B.java:1)\nCaused by: {quote(secret)}"
    report = {
        "class": "x.Y",
        "condition": condition,
        "message": f"refused {secret}",
        "trace": trace,
        "node": None,
        "site": None,
        "hint": secret,
    }
    log = folder / "errors.log"
    error = failure(json.dumps(report), log)
    return f"{error}\n{log.read_text(encoding='utf-8')}"


def committed(problem: BaseException) -> object:
    def held() -> None:
        raise problem

    record: Any = None
    committer = Committer({}, record, held)
    report = {"class": "x", "condition": None, "message": "m", "trace": str(committer.still()), "node": None, "site": None, "hint": None}
    return f"{committer.still()} {shown(failure(json.dumps(report), None, committer.failed, 'out'))}"


def listed() -> object:
    class Log:
        def latest(self, start: Any) -> Any:
            raise OSError(f"no {hr.secret('PASSWORD').read()}")

        def files(self, start: Any, end: Any) -> Any:
            return []

    return _Lister(Log()).latest(None)


def loaded() -> object:
    class Table:
        def load(self, session: Any, context: Any) -> Any:
            raise OSError(f"no {hr.secret('PASSWORD').read()}")

    table: Any = Table()
    return Loader({"cards": (table, table)}).load("cards")


def letters(folder: Path) -> object:
    session: Any = None
    put_aside(SinkContext("job", "out", SCHEMA, session, folder, "c1"), 0, [(f"refused: {hr.secret('PASSWORD').read()}", "{}")])
    return "".join(file.read_text(encoding="utf-8") for file in folder.rglob("*.json"))


def a_job(folder: Path) -> object:
    file = folder / "job.py"
    file.write_text('import headrace as hr\nraise ValueError(hr.secret("PASSWORD").read())\n')
    return hr.load(file)


def a_handler() -> object:
    class Leaking(hr.Program):
        def on_event(self, e: hr.Row) -> None:
            raise ValueError(hr.secret("PASSWORD").read())

    rows = hr.read.memory([], "card string, ts timestamp", name="rows").watermark("ts", "1 minute")
    return rows.key_by("card").process(Leaking)


def with_notes() -> object:
    problem = ValueError("no")
    problem.add_note(hr.secret("PASSWORD").read())
    with masking.leaving():
        raise problem


def in_a_chain() -> object:
    with masking.leaving():
        try:
            try:
                raise KeyError(hr.secret("PASSWORD").read())
            except KeyError as first:
                raise ValueError("second") from first
        except ValueError:
            raise OSError("third")  # noqa: B904  # so that the second is its context


def as_data() -> object:
    error = hr.HeadraceError("RUN_FAILED", f"no {hr.secret('PASSWORD').read()}", hint=hr.secret("PASSWORD").read())
    return json.dumps([error.to_json(), error.message, error.hint, repr(error), list(error.args)])


def of_the_repository() -> object:
    from headrace.jvm import fetch
    from headrace.packages import Jar

    os.environ["HEADRACE_MAVEN"] = f"http://app:{quote(PASSWORD, safe='')}@127.0.0.1:9/maven2"
    try:
        return fetch._one(Jar("org.example:none:1", "0" * 64))
    finally:
        del os.environ["HEADRACE_MAVEN"]


PLACES: dict[str, Callable[[Path], object]] = {
    "an answer that quotes a header": lambda folder: posted(None),
    "an answer that is cut in the middle of a secret": lambda folder: posted(Answer(403, "x" * 190 + TOKEN)),
    "a server that is busy": lambda folder: posted(Answer(503, f"later, {TOKEN}")),
    "a server that nobody reaches": lambda folder: posted(None, "http://127.0.0.1:9/in"),
    "a registry that quotes": lambda folder: looked_up(500, lambda word: f"no {word}"),
    "a registry with a reason": lambda folder: looked_up(401, lambda word: json.dumps({"message": f"{word} {PASSWORD}"})),
    "a registry of no JSON": lambda folder: looked_up(200, lambda word: f"<html>{word}{PASSWORD}"),
    "a registry that sends on": lambda folder: looked_up(302, lambda word: "", (("Location", f"http://app:{quote(PASSWORD)}@x"),)),
    "a registry that refuses a schema": lambda folder: registered(409, lambda word: json.dumps({"message": PASSWORD})),
    "a registry that takes no schema": lambda folder: registered(422, lambda word: json.dumps({"message": f"{word}: {PASSWORD}"})),
    "a server of Redis": lambda folder: in_redis(),
    "a database that refuses": lambda folder: database(f"password authentication failed: {hr.secret('PASSWORD').read()}"),
    "a database that is away": lambda folder: database(f"no route, {hr.secret('PASSWORD').read()}", "08001"),
    "a statement": lambda folder: database(f"syntax error at '{hr.secret('PASSWORD').read()}'".replace("'", "''"), "42601"),
    "brokers that deny": lambda folder: in_kafka("denied"),
    "brokers without TLS": lambda folder: in_kafka("tls"),
    "brokers that are away": lambda folder: in_kafka("unreachable"),
    "settings of Kafka": lambda folder: in_kafka("settings"),
    "a sink of Kafka": lambda folder: in_a_sink_of_kafka("KAFKA_FAILED"),
    "a transaction of Kafka": lambda folder: in_a_sink_of_kafka("KAFKA_FENCED"),
    "a store of a table": lambda folder: in_a_lake({"secret": hr.secret("PASSWORD").read()}),
    "a catalog": lambda folder: in_a_catalog(),
    "an error of Spark": lambda folder: of_java(folder, None),
    "a condition of Spark": lambda folder: of_java(folder, "BAD_SYNTAX"),
    "a sink that could not write": lambda folder: of_java(folder, "SINK_WRITE"),
    "a fault of the kernel": lambda folder: of_java(folder, "INTERNAL"),
    "a commit": lambda folder: committed(ValueError(f"Invalid header value {hr.secret('TOKEN').read().encode()!r}")),
    "a commit to a disk": lambda folder: committed(OSError(28, "no room", hr.secret("PASSWORD").read())),
    "a list of files": lambda folder: listed(),
    "a table of a lookup": lambda folder: loaded(),
    "dead letters": letters,
    "a file of a job": a_job,
    "a handler": lambda folder: a_handler(),
    "a note of an exception": lambda folder: with_notes(),
    "a chain of exceptions": lambda folder: in_a_chain(),
    "an error as data": lambda folder: as_data(),
    "a repository of jars": lambda folder: of_the_repository(),
    "an address of HTTP": lambda folder: hr.lookup.http(f"https://app:{quote(PASSWORD)}@x/{{id}}", "id int, a int"),
    "an address of no HTTP": lambda folder: hr.lookup.http(f"ftp://app:{quote(PASSWORD)}@x/{{id}}", "id int, a int"),
    "an address of Redis": lambda folder: hr.lookup.redis(f"redis://app:{quote(PASSWORD)}@x", "id int, a int", key="id"),
    "an address of no Redis": lambda folder: hr.lookup.redis(f"http://app:{quote(PASSWORD)}@x", "id int, a int", key="id"),
    "an address of a database": lambda folder: hr.lookup.jdbc(f"postgresql://app:{quote(PASSWORD)}@db/x", "t", "id int, a int"),
    "an address of no database": lambda folder: hr.lookup.jdbc(f"oracle://app:{quote(PASSWORD)}@db/x", "t", "id int, a int"),
    "an option of a driver": lambda folder: hr.lookup.jdbc("postgresql://db/x", "t", "id int", options={"password": PASSWORD}),
    "a password in clear": lambda folder: hr.lookup.jdbc("postgresql://db/x", "t", "id int", password=PASSWORD),  # type: ignore[arg-type]
    "an address of a registry": lambda folder: Registry.of("read.kafka", f"http://app:{quote(PASSWORD)}@x"),
    "a misspelled option": lambda folder: Registry.of("read.kafka", {"url": "http://x", "pasword": PASSWORD}),
    "a header in clear": lambda folder: HttpSink("https://x", headers={"X-Api-Key": TOKEN}),
    "a misspelled header": lambda folder: HttpSink("https://x", headers={"X Api": TOKEN}),
}


def shown(problem: BaseException) -> str:
    return "".join(traceback.format_exception(problem))


@pytest.mark.parametrize("place", PLACES)
def test_no_failure_shows_a_secret(place: str, tmp_path: Path) -> None:
    try:
        text = str(PLACES[place](tmp_path))
        assert len(text) > 4, "nothing failed"
    except AssertionError:
        raise
    except Exception as problem:
        # A line of this file may have it in clear: what is checked is what is said of it.
        text = re.sub(r'(?m)^  File ".*\n(?:    .*\n)*', "", shown(problem))
    for secret in (TOKEN, PASSWORD):
        for spelled in spellings(secret):
            assert spelled not in text, text


def test_no_error_carries_the_raw_exception_that_led_to_it() -> None:
    """`raise ... from cause` prints the cause, too."""
    raw = re.compile(r"(?m)^\s*(?:raise .*\)|\)) from (?!None$|masked_problem\()(\w+)$")
    unmasked = [
        f"{file.name}: {line[0].strip()}" for file in SOURCES.rglob("*.py") for line in raw.finditer(file.read_text(encoding="utf-8"))
    ]
    assert unmasked == []
