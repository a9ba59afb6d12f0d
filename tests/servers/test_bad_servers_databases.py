"""Databases that refuse, or go away, with real servers: what the user is told, and that each row counts once when it is mended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.jdbc import Sink
from headrace.errors import HeadraceError
from tests.servers import certificate
from tests.servers.problems import lines, problem
from tests.servers.tables import Place, Served, rows
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")

READ, WRITE, LOOK = "Database sources", "Database sinks", "Database lookups"
FULL = pytest.mark.full
NOTHING = "nothing was read or written; the next start resumes"
WAITS = "the job waits up to `retry` and continues: each row is written once"


def write(place: Place, count: int, *, url: str | None = None, fresh: bool = False, **options: Any) -> None:
    """Run a job of so many rows, of which it has written some before."""
    Path("in").mkdir(exist_ok=True)
    for n in range(count):
        Path("in", f"{n}.json").write_text(json.dumps({"id": n}) + "\n")
    read = hr.read.files("in", format="json", schema="id int", name="rows")
    job = hr.job("bad", read.write.jdbc(url or place.url, "t", name="out", **{**place.options, **options}))
    job.run(checkpoint="ck", progress=False, flush=False, fresh=fresh)


def read(place: Place, **options: Any) -> hr.Job:
    orders = hr.read.jdbc(place.url, "t", by="id", schema="id bigint", name="orders", **{**place.options, **options})
    return hr.job("bad", orders.write.files("out", format="json", name="out"))


def written_ids() -> list[int]:
    return sorted(row["id"] for row in lines(Path("out")))


def signs(place: Place) -> dict[str, str]:
    """What differs from run to run."""
    return {place.url: "<url>", place.url.partition("/")[2].strip("/"): "<server>"}


# Who is not let in


@problem(
    WRITE,
    "a wrong password",
    """
    DATABASE_REFUSED: <url> rejected the request: password authentication failed for user "app"
      at test_bad_servers_databases.py:*: job = hr.job("bad", read.write.jdbc(url or place.url, "t", name="out", **{**place.options, **options}))
      hint: check user= and password=hr.secret("DB_PASSWORD")
      more: headrace error DATABASE_REFUSED
    """,
    NOTHING,
)
def test_a_wrong_password(pg: Served, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(pg, 1)
    monkeypatch.setenv("TEST_WRONG", "nonsense")
    check_error(says, lambda: write(pg, 2, password=hr.secret("TEST_WRONG")), hide=signs(pg))
    assert rows(pg, "t") == [(0,)]
    write(pg, 2)
    assert rows(pg, "t") == [(0,), (1,)]


@problem(
    WRITE,
    "a wrong password (MariaDB)",
    """
    DATABASE_REFUSED: <url> rejected the request: (conn=N) Access denied for user 'app'@'127.0.0.1' (using password: YES)
      at test_bad_servers_databases.py:*: job = hr.job("bad", read.write.jdbc(url or place.url, "t", name="out", **{**place.options, **options}))
      hint: check user= and password=hr.secret("DB_PASSWORD")
      more: headrace error DATABASE_REFUSED
    """,
    NOTHING,
)
@FULL
def test_a_wrong_password_for_mariadb(maria: Served, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_WRONG", "nonsense")
    with pytest.raises(HeadraceError) as raised:
        write(maria, 1, password=hr.secret("TEST_WRONG"))
    check_error(says, re.sub(r"conn=\d+", "conn=N", str(raised.value)).replace(maria.url, "<url>"))
    write(maria, 1)
    assert rows(maria, "t") == [(0,)]


@problem(
    READ,
    "a wrong password",
    """
    DATABASE_REFUSED: <url> rejected the request: password authentication failed for user "app"
      at test_bad_servers_databases.py:*: orders = hr.read.jdbc(place.url, "t", by="id", schema="id bigint", name="orders", **{**place.options, **options})
      hint: check user= and password=hr.secret("DB_PASSWORD")
      more: headrace error DATABASE_REFUSED
    """,
    NOTHING,
)
def test_a_wrong_password_for_reading(pg: Served, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pg.run("CREATE TABLE t (id bigint); INSERT INTO t VALUES (1)")
    read(pg).run(checkpoint="ck", progress=False, flush=False)
    pg.run("INSERT INTO t VALUES (2)")
    monkeypatch.setenv("TEST_WRONG", "nonsense")
    wrong = {"password": hr.secret("TEST_WRONG")}
    check_error(says, lambda: read(pg, **wrong).run(checkpoint="ck", progress=False, flush=False), hide=signs(pg))
    assert written_ids() == [1]
    read(pg).run(checkpoint="ck", progress=False, flush=False)
    assert written_ids() == [1, 2]


@problem(
    LOOK,
    "a wrong password",
    """
    LOOKUP_FAILED: orders.lookup_t: the lookup failed: password authentication failed for user "app"
      hint: check user= and password=hr.secret("DB_PASSWORD") of the lookup. No row is lost: the next start repeats the epoch.
      more: headrace error LOOKUP_FAILED
    """,
    "the run ends before the epoch is written; the next start runs it again",
)
@FULL
def test_a_wrong_password_for_looking_up(pg: Served, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pg.run("CREATE TABLE t (k text, v int); INSERT INTO t VALUES ('a', 1)")
    Path("in").mkdir()
    Path("in", "0.json").write_text('{"k": "a"}\n')

    def run(**options: Any) -> None:
        orders = hr.read.files("in", format="json", schema="k string", name="orders")
        table = hr.lookup.jdbc(pg.url, "t", "k string, v int", **{**pg.options, **options})
        job = hr.job("bad", orders.lookup(table, on="k", retry="0 seconds").write.files("out", format="json", name="out"))
        job.run(checkpoint="ck", progress=False, flush=False)

    monkeypatch.setenv("TEST_WRONG", "nonsense")
    with pytest.raises(HeadraceError) as raised:
        run(password=hr.secret("TEST_WRONG"))
    check_error(says, re.sub(r"\n  at .*", "", str(raised.value)))
    run()
    assert lines(Path("out")) == [{"k": "a", "v": 1}]


@problem(
    WRITE,
    "a server certificate of an untrusted authority",
    """
    DATABASE_UNREACHABLE: no TLS connection to <url>: PKIX path validation failed: Path does not chain with any of the trust anchors
      at test_bad_servers_databases.py:*: job = hr.job("bad", read.write.jdbc(url or place.url, "t", name="out", **{**place.options, **options}))
      hint: check that the certificate is for this host, and signed by the authority in options={"sslmode": "verify-full", "sslrootcert": "root.crt"}
      more: headrace error DATABASE_UNREACHABLE
    """,
    NOTHING,
)
def test_a_certificate_of_another_authority(pg: Served, says: str, tmp_path: Path) -> None:
    certificate(tmp_path, "IP:127.0.0.1")

    def trusting(authority: Path) -> dict[str, Any]:
        return {"options": {"sslmode": "verify-full", "sslrootcert": str(authority)}}

    check_error(says, lambda: write(pg, 1, **trusting(tmp_path / "authority.pem")), hide=signs(pg))
    write(pg, 1, **trusting(pg.server.authority))
    assert rows(pg, "t") == [(0,)]


@problem(
    WRITE,
    "a server certificate for another host",
    """
    DATABASE_UNREACHABLE: no TLS connection to postgresql://localhost:PORT/DB: The hostname localhost could not be verified by hostnameverifier PgjdbcHostnameVerifier.
      at test_bad_servers_databases.py:*: job = hr.job("bad", read.write.jdbc(url or place.url, "t", name="out", **{**place.options, **options}))
      hint: check that the certificate is for this host, and signed by the authority in options={"sslmode": "verify-full", "sslrootcert": "root.crt"}
      more: headrace error DATABASE_UNREACHABLE
    """,
    NOTHING,
)
@FULL
def test_a_certificate_of_another_host(pg: Served, says: str) -> None:
    trusting = {"options": {"sslmode": "verify-full", "sslrootcert": str(pg.server.authority)}}
    url = pg.url.replace("127.0.0.1", "localhost")
    hide = {url: "postgresql://localhost:PORT/DB"}
    check_error(says, lambda: write(pg, 1, url=url, **trusting), hide=hide)
    write(pg, 1, **trusting)
    assert rows(pg, "t") == [(0,)]


@problem(
    WRITE,
    "a server certificate of an untrusted authority (MariaDB)",
    """
    DATABASE_UNREACHABLE: no TLS connection to <url>: <what its driver says>
      at test_bad_servers_databases.py:*: job = hr.job("bad", read.write.jdbc(url or place.url, "t", name="out", **{**place.options, **options}))
      hint: check that the certificate is for this host, and signed by the authority in options={"sslMode": "verify-full", "serverSslCert": "root.crt"}
      more: headrace error DATABASE_UNREACHABLE
    """,
    NOTHING,
)
@FULL
def test_a_certificate_of_another_authority_of_mariadb(maria: Served, says: str, tmp_path: Path) -> None:
    certificate(tmp_path, "IP:127.0.0.1")

    def trusting(authority: Path) -> dict[str, Any]:
        return {"options": {"sslMode": "verify-full", "serverSslCert": str(authority)}}

    with pytest.raises(HeadraceError) as raised:
        write(maria, 1, **trusting(tmp_path / "authority.pem"))
    assert "PKIX path" in str(raised.value), raised.value
    check_error(says, re.sub(r"(TLS connection to \S+: ).*", r"\1<what its driver says>", str(raised.value)).replace(maria.url, "<url>"))
    write(maria, 1, **trusting(maria.server.authority))
    assert rows(maria, "t") == [(0,)]


@pytest.fixture
def guest(pg: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A user of the database who may look, and make tables."""
    pg.run("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    pg.run("GRANT CREATE, USAGE ON SCHEMA public TO guest")
    monkeypatch.setenv("TEST_GUEST", "guest")
    yield {"user": "guest", "password": hr.secret("TEST_GUEST")}
    pg.run("DROP OWNED BY guest")
    pg.run("DROP ROLE guest")


@problem(
    WRITE,
    "a user without the right to write the table",
    """
    DATABASE_REFUSED: <url> rejected the request: permission denied for table t
      at test_bad_servers_databases.py:*: job = hr.job("bad", read.write.jdbc(url or place.url, "t", name="out", **{**place.options, **options}))
      hint: grant the user SELECT, INSERT, UPDATE and DELETE on the table and on _headrace_epochs, and CREATE and USAGE on its schema for staging tables
      more: headrace error DATABASE_REFUSED
    """,
    NOTHING,
)
def test_no_right_to_write(pg: Served, guest: dict[str, Any], says: str) -> None:
    pg.run("CREATE TABLE t (id int)")
    check_error(says, lambda: write(pg, 1, **guest), hide=signs(pg))
    pg.run("GRANT SELECT, INSERT, UPDATE, DELETE ON t TO guest")
    write(pg, 1, **guest)
    assert rows(pg, "t") == [(0,)]


@problem(
    READ,
    "a user without the right to read the table",
    """
    DATABASE_REFUSED: <url> rejected the request: permission denied for table t
      at test_bad_servers_databases.py:*: orders = hr.read.jdbc(place.url, "t", by="id", schema="id bigint", name="orders", **{**place.options, **options})
      hint: grant the user SELECT on the table and USAGE on its schema
      more: headrace error DATABASE_REFUSED
    """,
    NOTHING,
)
@FULL
def test_no_right_to_read(pg: Served, guest: dict[str, Any], says: str) -> None:
    pg.run("CREATE TABLE t (id bigint); INSERT INTO t VALUES (1)")
    check_error(says, lambda: read(pg, **guest).run(checkpoint="ck", progress=False), hide=signs(pg))
    pg.run("GRANT SELECT ON t TO guest")
    read(pg, **guest).run(checkpoint="ck", progress=False)
    assert written_ids() == [1]


# Tables that go


@problem(
    WRITE,
    "the table is dropped while a job writes it",
    """
    TABLE_MISSING: out: the table t of <url> is missing: relation "t" does not exist
      hint: restore it, or start over with fresh=True, which writes all rows again
      more: headrace error TABLE_MISSING
    """,
    "nothing of the epoch was written; the next start does not create the table, because earlier rows would be missing",
)
def test_a_table_that_is_dropped(pg: Served, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(pg, 1)
    commit = Sink.commit

    def dropped(self: Sink, epoch: int, staged: Any) -> None:
        pg.run("ALTER TABLE t RENAME TO kept")
        commit(self, epoch, staged)

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "commit", dropped)
        with pytest.raises(HeadraceError) as raised:
            write(pg, 2)
    check_error(says, str(raised.value).replace(pg.url, "<url>"))
    check_error(
        """
        TABLE_MISSING: out: <url>, table t no longer exists, but the job has written to it up to epoch 0
          hint: restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. Nothing was changed.
          more: headrace error TABLE_MISSING
        """,
        lambda: write(pg, 2),
        hide={pg.url: "<url>"},
    )
    pg.run("ALTER TABLE kept RENAME TO t")
    write(pg, 2)
    assert rows(pg, "t") == [(0,), (1,)]
    pg.run("DROP TABLE t")
    write(pg, 3, fresh=True)
    assert rows(pg, "t") == [(0,), (1,), (2,)]


@problem(
    READ,
    "the table is dropped while a job follows it",
    """
    TABLE_MISSING: orders: the table t of <url> no longer exists
      hint: restore it and start again: the run continues after the last committed epoch
      more: headrace error TABLE_MISSING
    """,
    "rows read before are in the result once",
)
@FULL
def test_a_table_that_is_dropped_while_it_is_read(pg: Served, says: str) -> None:
    pg.run("CREATE TABLE t (id bigint); INSERT INTO t VALUES (1)")
    following(pg, lambda: pg.run("ALTER TABLE t RENAME TO kept"), says)
    pg.run("ALTER TABLE kept RENAME TO t")
    pg.run("INSERT INTO t VALUES (2)")
    read(pg).run(checkpoint="ck", progress=False)
    assert written_ids() == [1, 2]


def following(pg: Served, spoil: Any, says: str) -> None:
    """Spoil something while a job follows the table, of which it has read a row."""
    run = read(pg, follow=True, settle="0 seconds").start(checkpoint="ck")
    try:
        while not Path("out").exists() or not written_ids():
            assert not run.wait(0.05)
        spoil()
    except BaseException:
        run.stop()
        raise
    with pytest.raises(HeadraceError) as raised:
        run.wait(300)
    assert "\tat " not in str(raised.value)
    check_error(says, str(raised.value).replace(pg.url, "<url>"))


@problem(
    READ,
    "the server stops while a job follows a table",
    """
    DATABASE_UNREACHABLE: orders: <url> cannot be reached: <what its driver says>
      hint: check that the server runs and start again: the run continues after the last committed epoch
      more: headrace error DATABASE_UNREACHABLE
    """,
    "rows read before are in the result once; the next start resumes after them",
)
@FULL
def test_a_server_that_stops_while_it_is_read(other_postgres: Any, says: str) -> None:
    pg = Served("postgresql", other_postgres)
    pg.run("CREATE TABLE t (id bigint)")
    pg.run("INSERT INTO t VALUES (1)")
    run = read(pg, follow=True, settle="0 seconds").start(checkpoint="ck")
    try:
        while not Path("out").exists() or not written_ids():
            assert not run.wait(0.05)
        other_postgres.stop()
    except BaseException:
        run.stop()
        raise
    with pytest.raises(HeadraceError) as raised:
        run.wait(300)
    check_error(says, re.sub(r"(reached: ).*", r"\1<what its driver says>", str(raised.value)).replace(pg.url, "<url>"))
    other_postgres.start()
    pg.run("INSERT INTO t VALUES (2)")
    read(pg).run(checkpoint="ck", progress=False)
    assert written_ids() == [1, 2]
