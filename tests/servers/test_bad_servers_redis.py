"""A Redis that refuses, or goes away, with a real server: what the user is told, and that each row counts once when it is mended."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Harness
from tests.servers import certificate
from tests.servers.problems import lines, problem
from tests.servers.redis import VARIABLE, Redis
from tests.servers.tables import into
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")

WRITE, LOOK = "Redis sinks", "Redis lookups"
FULL = pytest.mark.full
NOTHING = "nothing was written; the next start resumes"
AGAIN = "the run ends before the epoch is written; the next start runs it again"


def write(redis: Redis, count: int, url: str = "", **options: Any) -> None:
    """Run a job of so many rows, of which it has written some before."""
    Path("in").mkdir(exist_ok=True)
    for n in range(count):
        Path("in", f"{n}.json").write_text(json.dumps({"k": f"k{n}"}) + "\n")
    read = hr.read.files("in", format="json", schema="k string", name="rows")
    sink = read.write.redis(url or redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), name="out", **options)
    hr.job("bad", sink).run(checkpoint="ck", progress=False, flush=False)


def refused(redis: Redis, url: str, **options: Any) -> str:
    """What is said where the server's certificate does not do."""
    with pytest.raises(HeadraceError) as raised:
        write(redis, 1, url, **options)
    return re.sub(r"\.? \(_ssl\.c:\d+\)", "", str(raised.value)).replace(f"{redis.encrypted}.", "PORT.")


def keys(redis: Redis) -> list[str]:
    return sorted(key for key in redis.run("KEYS", "t:*").split("\n") if key)


@problem(
    WRITE,
    "a wrong password",
    """
    DATABASE_REFUSED: <url> rejected the request: invalid username-password pair or user is disabled.
      at test_bad_servers_redis.py:*: sink = read.write.redis(url or redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), name="out", **options)
      hint: check user= and password=hr.secret("REDIS_PASSWORD")
      more: headrace error DATABASE_REFUSED
    """,
    NOTHING,
)
def test_a_wrong_password(redis: Redis, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(redis, 1)
    with monkeypatch.context() as wrong:
        wrong.setenv(VARIABLE, "nonsense")
        error = check_error(says, lambda: write(redis, 2), hide={redis.url: "<url>"})
    assert error is not None and "nonsense" not in str(error)
    assert keys(redis) == ["t:k0"]
    write(redis, 2)
    assert keys(redis) == ["t:k0", "t:k1"]


@problem(
    WRITE,
    "a server certificate of an untrusted authority",
    """
    DATABASE_UNREACHABLE: no TLS connection to <url>: Error 1 connecting to 127.0.0.1:PORT. [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate.
      at test_bad_servers_redis.py:*: sink = read.write.redis(url or redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), name="out", **options)
      hint: check that the certificate is for the host in the address, and that ca="ca.pem" names the authority that signed it
      more: headrace error DATABASE_UNREACHABLE
    """,
    NOTHING,
)
def test_a_certificate_of_another_authority(redis: Redis, says: str, tmp_path: Path) -> None:
    url = f"rediss://127.0.0.1:{redis.encrypted}/0"
    certificate(tmp_path, "IP:127.0.0.1")
    for trusting in ({}, {"ca": str(tmp_path / "authority.pem")}):
        check_error(says, refused(redis, url, **trusting).replace(url, "<url>"))
    write(redis, 1, url, ca=str(redis.authority))
    assert keys(redis) == ["t:k0"]
    write(redis, 2, f"{url}?ssl_ca_certs={redis.authority}")
    assert keys(redis) == ["t:k0", "t:k1"]


@problem(
    WRITE,
    "a server certificate for another host",
    """
    DATABASE_UNREACHABLE: no TLS connection to <url>: Error 1 connecting to localhost:PORT. [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid for 'localhost'.
      at test_bad_servers_redis.py:*: sink = read.write.redis(url or redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), name="out", **options)
      hint: check that the certificate is for the host in the address, and that ca="ca.pem" names the authority that signed it
      more: headrace error DATABASE_UNREACHABLE
    """,
    NOTHING,
)
def test_a_certificate_of_another_host(redis: Redis, says: str) -> None:
    url = f"rediss://localhost:{redis.encrypted}/0"
    check_error(says, refused(redis, url, ca=str(redis.authority)).replace(url, "<url>"))
    write(redis, 1, url.replace("localhost", "127.0.0.1"), ca=str(redis.authority))
    assert keys(redis) == ["t:k0"]


@problem(
    WRITE,
    "the server stays unavailable",
    """
    DATABASE_UNREACHABLE: <url> cannot be reached: <what its client says>
      hint: check that the server runs and that its port can be reached from here
      more: headrace error DATABASE_UNREACHABLE
    """,
    "the run ends after `retry`; the next start writes the epoch, each key once",
)
@FULL
def test_a_server_that_stays_away(redis: Redis, says: str) -> None:
    with Harness() as h:
        source = h.source("s", "k string, n int")
        output = source.write.redis(redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), retry="50 milliseconds", name="out")
        sink = into(h, output)
        h.commit({"s": [("+", ("a", 1))]})
        send = sink._send

        def stopping(*arguments: Any) -> None:
            redis.stop()
            send(*arguments)

        sink._send = stopping
        with pytest.raises(HeadraceError) as raised:
            h.commit({"s": [("+", ("b", 2))]})
        sink._send = send
        check_error(says, re.sub(r"(reached: ).*", r"\1<what its client says>", str(raised.value)).replace(redis.url, "<url>"))
        redis.start()
        h.restart()
        h._settle()
        assert keys(redis) == ["t:a", "t:b"]


def look(redis: Redis, **options: Any) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", "0.json").write_text('{"id": "a"}\n')
    orders = hr.read.files("in", format="json", schema="id string", name="orders")
    settings = {"url": redis.url, "key": "id", "prefix": "c:", "value": "hash", "password": hr.secret(VARIABLE), **options}
    table = hr.lookup.redis(schema="id string, v string", **settings)
    job = hr.job("bad", orders.lookup(table, on="id", retry="0 seconds").write.files("out", format="json", name="out"))
    job.run(checkpoint="ck", progress=False, flush=False)


def lookup_error(redis: Redis, url: str, **options: Any) -> str:
    """What is said where the server's certificate does not do."""
    with pytest.raises(HeadraceError) as raised:
        look(redis, url=url, **options)
    return re.sub(r"\n  at .*", "", str(raised.value)).replace(f":{redis.encrypted} ", ":PORT ")


@pytest.mark.full
@problem(
    LOOK,
    "a wrong password",
    """
    LOOKUP_FAILED: orders.lookup_c: the lookup failed: WRONGPASS invalid username-password pair or user is disabled
      hint: check user= and password=hr.secret("REDIS_PASSWORD") of the lookup. No row is lost: the next start repeats the epoch.
      more: headrace error LOOKUP_FAILED
    """,
    AGAIN,
)
def test_a_wrong_password_for_looking_up(redis: Redis, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    redis.run("HSET", "c:a", "v", "1")
    with monkeypatch.context() as wrong:
        wrong.setenv(VARIABLE, "nonsense")
        with pytest.raises(HeadraceError) as raised:
            look(redis)
    check_error(says, re.sub(r"\n  at .*", "", str(raised.value)))
    look(redis)
    assert lines(Path("out")) == [{"id": "a", "v": "1"}]


@problem(
    LOOK,
    "a server certificate of an untrusted authority",
    """
    LOOKUP_FAILED: orders.lookup_c: the lookup failed: the certificate of 127.0.0.1:PORT is not trusted: unable to find valid certification path to requested target
      hint: check that the certificate is valid for the host in the address, and signed by the authority in ca="ca.pem". No row is lost: the next start repeats the epoch.
      more: headrace error LOOKUP_FAILED
    """,
    AGAIN,
)
@FULL
def test_a_certificate_of_another_authority_for_looking_up(redis: Redis, says: str, tmp_path: Path) -> None:
    redis.run("HSET", "c:a", "v", "1")
    url = f"rediss://127.0.0.1:{redis.encrypted}/0"
    certificate(tmp_path, "IP:127.0.0.1")
    check_error(says, lookup_error(redis, url))
    # This one has the name of the server's own.
    chained = says.replace(
        "unable to find valid certification path to requested target", "Path does not chain with any of the trust anchors"
    )
    check_error(chained, lookup_error(redis, url, ca=str(tmp_path / "authority.pem")))
    look(redis, url=url, ca=str(redis.authority))
    assert lines(Path("out")) == [{"id": "a", "v": "1"}]


@problem(
    LOOK,
    "a server certificate for another host",
    """
    LOOKUP_FAILED: orders.lookup_c: the lookup failed: the certificate of localhost:PORT is not accepted: No name matching localhost found
      hint: check that the certificate is valid for the host in the address, and signed by the authority in ca="ca.pem". No row is lost: the next start repeats the epoch.
      more: headrace error LOOKUP_FAILED
    """,
    AGAIN,
)
def test_a_certificate_of_another_host_for_looking_up(redis: Redis, says: str) -> None:
    redis.run("HSET", "c:a", "v", "1")
    check_error(says, lookup_error(redis, f"rediss://localhost:{redis.encrypted}/0", ca=str(redis.authority)))
    look(redis, url=f"rediss://127.0.0.1:{redis.encrypted}/0", ca=str(redis.authority))
    assert lines(Path("out")) == [{"id": "a", "v": "1"}]
