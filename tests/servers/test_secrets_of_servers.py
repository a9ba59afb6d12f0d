"""Passwords and tokens of real servers, over many ways to fail: none is in an error, a file of the job, explain, Spark's log or a process's line."""

from __future__ import annotations

import base64
import json
import subprocess
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import headrace as hr
from headrace.jvm.session import log_file
from tests.servers import free_ports, kafka, mariadb, postgres, redis
from tests.servers.kafka import Broker
from tests.servers.registry import Registry
from tests.servers.tables import Served
from tests.spark.lookups.service import Reply, Service
from tests.unit.connectors.receiver import Answer, Receiver

pytestmark = pytest.mark.usefixtures("spark", "here")

WRONG = "wr0ng/Sesame+4711&x"
TOKEN = "tok/Sesame+4711&x"
SECRETS = [WRONG, TOKEN, postgres.PASSWORD, mariadb.PASSWORD, redis.PASSWORD, kafka.PASSWORD]


def spelled(secret: str) -> list[bytes]:
    inner = (base64.b64encode(b"x" * before + secret.encode())[4:-4] for before in range(3))
    return [secret.encode(), quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode(), *inner]


SPELLED = [one for secret in SECRETS for one in spelled(secret) if len(one) >= 6]


def shown(text: bytes) -> list[bytes]:
    return [one for one in SPELLED if one in text]


@dataclass
class Ground:
    """The servers, and what jobs of this test are made of."""

    pg: Served
    maria: Served
    redis: redis.Redis
    broker: Broker
    registry: Registry
    receiver: Receiver
    service: Service
    number: int = 0

    @property
    def away(self) -> str:
        return f"127.0.0.1:{free_ports(1)[0]}"

    def rows(self) -> hr.Stream:
        folder = Path("in").absolute()
        if not folder.exists():
            folder.mkdir()
            (folder / "a.json").write_text('{"id": "a", "n": 1}\n{"id": "b", "n": 2}\n', encoding="utf-8")
        return hr.read.files(folder, format="json", schema="id string, n int", name="rows")

    def out(self, stream: hr.Stream) -> Any:
        return stream.write.files(Path("out", str(self.number)), format="json", name="out")

    def jdbc(self, place: Served, url: str = "", table: str = "t", **options: Any) -> Any:
        return self.rows().write.jdbc(url or place.url, table, name="out", retry="1 second", **{**place.options, **options})

    def table(self, place: Served, url: str = "", table: str = "t", **options: Any) -> Any:
        lookup = hr.lookup.jdbc(url or place.url, table, "id string, x int", name="t", **{**place.options, **options})
        return self.out(self.rows().lookup(lookup, on="id"))

    def read(self, place: Served, url: str = "", table: str = "t", **options: Any) -> Any:
        return self.out(hr.read.jdbc(url or place.url, table, schema="id string, n int", name="rows", **{**place.options, **options}))

    def topic(self, servers: str = "", topic: str = "", **options: Any) -> Any:
        """To Kafka."""
        security = {"protocol": "SASL_PLAINTEXT", "user": kafka.USER, "password": hr.secret("KAFKA_PASSWORD")}
        defaults = {
            "security": security,
            "options": {"max.block.ms": "3000", "delivery.timeout.ms": "3000", "request.timeout.ms": "2000", "linger.ms": "0"},
        }
        name = topic or self.broker.create_topic(f"secret-{self.number}", 1)
        return self.rows().write.kafka(name, servers=servers or self.broker.secured, name="out", **{**defaults, **options})

    def records(self, servers: str = "", topic: str = "", **options: Any) -> Any:
        security = {"protocol": "SASL_PLAINTEXT", "user": kafka.USER, "password": hr.secret("KAFKA_PASSWORD")}
        defaults = {"security": security, "value": "text"}
        name = topic or self.broker.create_topic(f"secret-{self.number}", 1)
        return self.out(hr.read.kafka(name, servers=servers or self.broker.secured, name="rows", **{**defaults, **options}))

    def keys(self, url: str = "", **options: Any) -> Any:
        defaults = {"prefix": f"p{self.number}:", "key": "id", "password": hr.secret(redis.VARIABLE), "retry": "0 seconds"}
        return self.rows().write.redis(url or self.redis.url, name="out", **{**defaults, **options})

    def key_lookup(self, url: str = "", **options: Any) -> Any:
        lookup = hr.lookup.redis(
            url or self.redis.url, "id string, x int", key="id", name="t", **{"password": hr.secret(redis.VARIABLE), **options}
        )
        return self.out(self.rows().lookup(lookup, on="id"))

    def sent(self, url: str = "", **options: Any) -> Any:
        defaults = {"token": hr.secret("TOKEN"), "headers": {"X-Key": hr.secret("TOKEN")}, "retries": 1, "backoff": "1 ms"}
        return self.rows().write.http(url or self.receiver.url, name="out", **{**defaults, **options})

    def http_lookup(self, url: str = "", **options: Any) -> Any:
        lookup = hr.lookup.http(f"{url or self.service.root}/t/{{id}}", "id string, x int", token=hr.secret("TOKEN"), name="t", **options)
        return self.out(self.rows().lookup(lookup, on="id"))

    def answers(self, status: int, *, cut: bool = False) -> None:
        """Let the servers of HTTP say what they were sent."""

        def quoted(headers: dict[str, str]) -> str:
            authorization = headers.get("Authorization", "")
            return f"{authorization} {quote(authorization, safe='')} {json.dumps(headers)}"

        self.receiver.answer = lambda request, number: Answer(status, quoted(request.headers), cut=cut, taken=status < 300)
        self.service.reply = lambda request: Reply(status, quoted(request.headers), cut=cut)


Case = Callable[[Ground], Any]
CASES: dict[str, Case] = {}
LEDGER = {
    "postgresql": "SELECT 1 FROM pg_tables WHERE tablename = '_headrace_epochs'",
    "mariadb": "SELECT 1 FROM information_schema.tables WHERE table_schema = database() AND table_name = '_headrace_epochs'",
}
FEW = ("postgresql: a wrong password", "redis: a wrong password", "http: 422 of a row")
"""Those that short runs try."""


def wrong(variable: str = "WRONG") -> dict[str, Any]:
    return {"password": hr.secret(variable)}


def _databases() -> None:
    kinds: list[tuple[str, Callable[[Ground], Served]]] = [("postgresql", lambda g: g.pg), ("mariadb", lambda g: g.maria)]
    for kind, of in kinds:

        def case(what: str, make: Callable[[Ground, Served], Any], kind: str = kind, of: Callable[[Ground], Served] = of) -> None:
            CASES[f"{kind}: {what}"] = lambda g: make(g, of(g))

        def with_table(place: Served, sql: str) -> Served:
            # The ledger remembers who has written a table that was dropped.
            place.run("DROP TABLE IF EXISTS t")
            if place.run(LEDGER[place.kind]):
                place.run("DELETE FROM _headrace_epochs")
            place.run(sql)
            return place

        # Only what this very place is called says which database it is.
        def other(g: Ground, place: Served, kind: str = kind) -> str:
            return f"{kind}://{g.away}/db"

        plain = "CREATE TABLE t (id varchar(20), n int)"
        case("a wrong password", lambda g, p: g.jdbc(p, **wrong()))
        case("a wrong password for reading", lambda g, p: g.read(p, **wrong()))
        case("a wrong password for looking up", lambda g, p: g.table(p, **wrong()))
        case("nobody listens", lambda g, p, other=other: g.jdbc(p, other(g, p)))
        case("nobody listens to who reads", lambda g, p, other=other: g.read(p, other(g, p)))
        case("nobody listens to who looks up", lambda g, p, other=other: g.table(p, other(g, p)))
        case("no such database", lambda g, p: g.jdbc(p, p.url.rpartition("/")[0] + "/nowhere"))
        case("no such user", lambda g, p: g.jdbc(p, user="nobody", **wrong()))
        case("no such table", lambda g, p: g.jdbc(p, table="nowhere", create=False))
        case("no such table to read", lambda g, p: g.read(p, table="nowhere"))
        case("no such table to look up in", lambda g, p: g.table(p, table="nowhere"))
        case("another type", lambda g, p: g.jdbc(with_table(p, "CREATE TABLE t (id int, n int)")))
        case("a refused row", lambda g, p: g.jdbc(with_table(p, "CREATE TABLE t (id varchar(20), n int CHECK (n < 2))"), on_refused="fail"))
        case("a row put aside", lambda g, p: g.jdbc(with_table(p, "CREATE TABLE t (id varchar(20), n int CHECK (n < 2))")))
        case(
            "a row that is refused with a secret in it",
            lambda g, p, plain=plain: _with_secret(g, with_table(p, f"{plain[:-1]}, CHECK (n < 2))")),
        )


def _with_secret(g: Ground, place: Served) -> Any:
    """The table says the row, which shows the token."""
    hr.secret("TOKEN").read()
    place.run("ALTER TABLE t ADD COLUMN x varchar(50)")
    # Not as a text of the plan, which is not a place for secrets.
    folder = Path("tokens").absolute()
    folder.mkdir(exist_ok=True)
    (folder / "a.json").write_text(json.dumps({"id": "a", "n": 3, "x": TOKEN}), encoding="utf-8")
    read = hr.read.files(folder, format="json", schema="id string, n int, x string", name="rows")
    return read.write.jdbc(place.url, "t", name="out", on_refused="fail", **place.options)


_databases()
CASES |= {
    "postgresql: another certificate": lambda g: g.jdbc(g.pg, options={"sslmode": "verify-full", "sslrootcert": str(g.redis.authority)}),
    "mariadb: another certificate": lambda g: g.jdbc(g.maria, options={"sslMode": "verify-full", "serverSslCert": str(g.redis.authority)}),
    "redis: a wrong password": lambda g: g.keys(**wrong()),
    "redis: a wrong password for looking up": lambda g: g.key_lookup(**wrong()),
    "redis: no such user": lambda g: g.keys(user="nobody", **wrong()),
    "redis: nobody listens": lambda g: g.keys(f"redis://{g.away}/0"),
    "redis: nobody listens to who looks up": lambda g: g.key_lookup(f"redis://{g.away}/0"),
    "redis: no TLS": lambda g: g.keys(f"rediss://127.0.0.1:{g.redis.port}/0"),
    "redis: another certificate": lambda g: g.keys(f"rediss://127.0.0.1:{g.redis.encrypted}/0"),
    "redis: another kind of key": lambda g: (g.redis.run("SET", f"_headrace:p{g.number}:", "x"), g.keys())[1],
    "kafka: a wrong password": lambda g: g.topic(security={"protocol": "SASL_PLAINTEXT", "user": kafka.USER, **wrong()}),
    "kafka: a wrong password for reading": lambda g: g.records(security={"protocol": "SASL_PLAINTEXT", "user": kafka.USER, **wrong()}),
    "kafka: a user without rights": lambda g: g.topic(
        security={"protocol": "SASL_PLAINTEXT", "user": kafka.GUEST, "password": hr.secret("KAFKA_PASSWORD")}
    ),
    "kafka: another mechanism": lambda g: g.topic(
        security={"protocol": "SASL_PLAINTEXT", "mechanism": "SCRAM-SHA-256", "user": kafka.USER, "password": hr.secret("KAFKA_PASSWORD")}
    ),
    "kafka: no such topic": lambda g: g.records(topic="nowhere"),
    "kafka: no password asked": lambda g: g.topic(g.broker.servers),
    "kafka: a row that is too large": lambda g: g.topic(options={"max.request.size": "10"}, on_refused="fail"),
    "registry: a wrong password": lambda g: g.topic(value="avro", registry={"url": g.registry.url, "user": "me", **wrong()}),
    "registry: a wrong password for reading": lambda g: g.records(value="avro", registry={"url": g.registry.url, "user": "me", **wrong()}),
    "registry: nobody listens": lambda g: g.topic(value="avro", registry={"url": f"http://{g.away}", "user": "me", **wrong()}),
    "http: 401": lambda g: (g.answers(401), g.sent())[1],
    "http: 403": lambda g: (g.answers(403), g.sent())[1],
    "http: 404": lambda g: (g.answers(404), g.sent())[1],
    "http: 301": lambda g: (g.answers(301), g.sent())[1],
    "http: 422": lambda g: (g.answers(422), g.sent(on_refused="fail"))[1],
    "http: 422 of a row": lambda g: (g.answers(422), g.sent())[1],
    "http: 500": lambda g: (g.answers(500), g.sent())[1],
    "http: a connection that is cut": lambda g: (g.answers(500, cut=True), g.sent())[1],
    "http: nobody listens": lambda g: g.sent(f"http://{g.away}/"),
    "http: 401 to who looks up": lambda g: (g.answers(401), g.http_lookup())[1],
    "http: 400 to who looks up": lambda g: (g.answers(400), g.http_lookup())[1],
    "http: 500 to who looks up": lambda g: (g.answers(500), g.http_lookup())[1],
    "http: no JSON for who looks up": lambda g: (g.answers(200), g.http_lookup())[1],
    "http: nobody listens to who looks up": lambda g: g.http_lookup(f"http://{g.away}"),
}


@pytest.fixture
def ground(
    postgres: Any, mariadb: Any, redis: Any, broker: Broker, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ground]:
    monkeypatch.setenv("WRONG", WRONG)
    monkeypatch.setenv("TOKEN", TOKEN)
    monkeypatch.setenv("KAFKA_PASSWORD", kafka.PASSWORD)
    registry.locked = True
    with Receiver() as receiver, Service() as service:
        yield Ground(Served("postgresql", postgres), Served("mariadb", mariadb), redis, broker, registry, receiver, service)


def outcome(ground: Ground, case: Case) -> tuple[str, list[str]]:
    """What a job tells of its failure, or of its dead letters, and in what of it a secret is."""
    checkpoint = Path("ck", str(ground.number))
    texts: list[str] = []
    ending = ""
    try:
        job = hr.job("secret", case(ground))
        texts += [str(job.explain()), json.dumps([job.plan.to_json(), job.explain().to_json()])]
        summary = job.run(checkpoint=checkpoint, progress=False)
        ending = f"dead {sum(summary.dead_letters.values())}"
    except hr.HeadraceError as error:
        ending = error.code
        texts += ["".join(traceback.format_exception(error)), json.dumps(error.to_json())]
    leaks = [text for text in texts if shown(text.encode())]
    if checkpoint.exists():
        texts = [json.dumps([list(row) for row in hr.letters(checkpoint).table().rows()], default=str)]
        leaks += [text for text in texts if shown(text.encode())]
        leaks += [str(file) for file in checkpoint.rglob("*") if file.is_file() and shown(file.read_bytes())]
    return ending, leaks


def lines() -> Iterator[bytes]:
    """The lines by which the JVM and what it started were started; servers of tests have their passwords in theirs."""
    table = [
        line.split(None, 2)
        for line in subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout.splitlines()
    ]
    driver = {pid for pid, _, _ in table if b"org.apache.spark.deploy.SparkSubmit" in _line(pid)}
    for _ in range(5):
        driver |= {pid for pid, parent, _ in table if parent in driver}
    yield from (_line(pid) for pid in driver)


def _line(pid: str) -> bytes:
    try:
        return (Path("/proc") / pid / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("names", [pytest.param(FEW, id="few"), pytest.param(tuple(CASES), id="all", marks=pytest.mark.full)])
def test_no_secret_is_shown(ground: Ground, names: tuple[str, ...]) -> None:
    log = log_file()
    assert log is not None
    before = log.stat().st_size
    failed, shows = {}, {}
    for number, name in enumerate(names):
        ground.number = number
        ending, texts = outcome(ground, CASES[name])
        failed[name] = ending
        if texts:
            shows[name] = texts
    assert shows == {}
    assert [name for name, ending in failed.items() if ending in ("dead 0", "TABLE_OWNED")] == [], "these did not fail as they should"
    with log.open("rb") as file:
        file.seek(before)
        assert shown(file.read()) == []
    texts = list(lines())
    assert texts and not any(shown(line) for line in texts)
