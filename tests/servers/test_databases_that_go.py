"""Databases that go away in the middle of an epoch, and come back: the job waits, or says so, and each row counts once."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.jdbc import database
from headrace.testing import Harness
from tests.servers import free_ports
from tests.servers.problems import problem
from tests.servers.tables import File, Served, into, rows
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")

WRITE = "Database sinks"
FULL = pytest.mark.full
WAITS = "the job waits up to `retry` and continues: each row is written once"


@problem(WRITE, "the server restarts between staging and commit", "", WAITS)
def test_server_restarted_before_the_commit(other_postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Served("postgresql", other_postgres)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            other_postgres.start()

    with Harness() as h:
        source = h.source("s", "k string, n int")
        sink = into(h, source.write.jdbc(place.url, "result", key="k", name="out", **place.options))
        h.commit({"s": [("+", ("a", 1))]})
        monkeypatch.setattr(database, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
        written = sink._write

        def write(epoch: int, tasks: str, count: int, *, gone: bool) -> None:
            if not slept:
                other_postgres.stop()
            written(epoch, tasks, count, gone=gone)

        sink._write = write
        h.commit({"s": [("+", ("b", 2))]})
        assert len(slept) == 3
        assert rows(place, "result") == [("a", 1), ("b", 2)]


@problem(
    WRITE,
    "the server stays unavailable",
    """
    DATABASE_UNREACHABLE: postgresql://127.0.0.1:PORT/db1 cannot be reached: Connection to 127.0.0.1:PORT refused. Check that the hostname and port are correct and that the postmaster is accepting TCP/IP connections. (Connection refused)
      hint: check that the server runs and that its port can be reached from here
      more: headrace error DATABASE_UNREACHABLE
    """,
    "the run ends after `retry`; the next start writes the epoch exactly once",
)
@FULL
def test_server_that_does_not_come_back(other_postgres: Any, says: str) -> None:
    place = Served("postgresql", other_postgres)
    with Harness() as h:
        source = h.source("s", "k string, n int")
        sink = into(h, source.write.jdbc(place.url, "result", name="out", retry="50 milliseconds", **place.options))
        h.commit({"s": [("+", ("a", 1))]})
        written = sink._write

        def write(epoch: int, tasks: str, count: int, *, gone: bool) -> None:
            other_postgres.stop()
            written(epoch, tasks, count, gone=gone)

        sink._write = write
        check_error(says, lambda: h.commit({"s": [("+", ("b", 2))]}), hide={str(other_postgres.port): "PORT"})
        sink._write = written
        other_postgres.start()
        assert rows(place, "result") == [("a", 1)]
        h.restart()
        h._settle()
        assert rows(place, "result") == [("a", 1), ("b", 2)]


@problem(
    WRITE,
    "the server crashes between staging and commit",
    """
    SINK_FAILED: out: postgresql://127.0.0.1:PORT/db1 has 0 of the 1 rows that tasks have staged there, as after a crash
      hint: the next start writes the epoch again
      more: headrace error SINK_FAILED
    """,
    "the next start writes the epoch exactly once",
)
@FULL
def test_server_that_crashed_has_lost_what_was_staged(other_postgres: Any, says: str) -> None:
    place = Served("postgresql", other_postgres)
    with Harness() as h:
        source = h.source("s", "k string, n int")
        sink = into(h, source.write.jdbc(place.url, "result", name="out", **place.options))
        h.commit({"s": [("+", ("a", 1))]})
        written = sink._write

        def write(epoch: int, tasks: str, count: int, *, gone: bool) -> None:
            if sink._write is write:
                sink._write = written
                other_postgres.crash()
                other_postgres.start()
            written(epoch, tasks, count, gone=gone)

        sink._write = write
        check_error(says, lambda: h.commit({"s": [("+", ("b", 2))]}), hide={str(other_postgres.port): "PORT"})
        h.restart()
        h._settle()
        assert rows(place, "result") == [("a", 1), ("b", 2)]


@problem(
    WRITE,
    "the server is unavailable while tasks stage rows",
    """
    DATABASE_UNREACHABLE: out: postgresql://127.0.0.1:PORT/db1 cannot be reached: Connection to 127.0.0.1:PORT refused. Check that the hostname and port are correct and that the postmaster is accepting TCP/IP connections. (Connection refused)
      hint: check that the server runs and that its port can be reached from here; the next start writes the epoch again
      more: headrace error DATABASE_UNREACHABLE
    """,
    "the run ends after `retry`; the next start writes the epoch exactly once",
)
@FULL
def test_server_that_is_away_while_rows_are_staged(other_postgres: Any, says: str) -> None:
    place = Served("postgresql", other_postgres)
    with Harness() as h:
        source = h.source("s", "k string, n int")
        into(h, source.write.jdbc(place.url, "result", name="out", retry="50 milliseconds", **place.options))
        h.commit({"s": [("+", ("a", 1))]})
        other_postgres.stop()
        check_error(says, lambda: h.commit({"s": [("+", ("b", 2))]}), hide={str(other_postgres.port): "PORT"})
        other_postgres.start()
        assert rows(place, "result") == [("a", 1)]
        h.restart()
        h._settle()
        assert rows(place, "result") == [("a", 1), ("b", 2)]


def test_a_chunk_that_arrives_after_it_was_sent_again(pg: Served) -> None:
    """What a task sends again since no answer came may be there twice in the end, after it was counted."""
    with Harness() as h:
        source = h.source("s", "k string, n int")
        sink = into(h, source.write.jdbc(pg.url, "result", name="out", **pg.options))
        h.commit({"s": [("+", ("a", 1))]})
        counted = sink._database.query

        def count(sql: str, *values: Any) -> list[list[Any]]:
            rows: list[list[Any]] = counted(sql, *values)
            if "count(*)" in sql and sink._stage in sql:
                pg.run(f"INSERT INTO {sink._stage} SELECT * FROM {sink._stage}")
            return rows

        sink._database.query = count
        with pytest.raises(hr.HeadraceError, match="has more rows than the 1 that tasks have staged there"):
            h.commit({"s": [("+", ("b", 2))]})
        assert rows(pg, "result") == [("a", 1)]
        h.restart()
        h._settle()
        assert rows(pg, "result") == [("a", 1), ("b", 2)]


class Cable:
    """What lies between a job and its server: it can be cut when so many bytes have gone through."""

    def __init__(self, port: int, after: int) -> None:
        self.cuts = 0
        self._target, self._left = port, after
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                for one, other, counts in ((near, far, True), (far, near, False)):
                    threading.Thread(target=self._pass, args=(one, other, counts), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, counts: bool) -> None:
        with suppress(OSError), closing(one), closing(other):
            while some := one.recv(65536):
                if counts and self._left > 0:
                    self._left -= len(some)
                    if self._left <= 0:
                        self.cuts += 1
                        one.shutdown(socket.SHUT_RDWR)
                        other.shutdown(socket.SHUT_RDWR)
                        return
                other.sendall(some)

    def close(self) -> None:
        self._server.close()


@problem(WRITE, "the connection breaks during a `COPY`", "", WAITS)
def test_a_cable_that_is_cut(pg: Served) -> None:
    """Two megabytes into what a task sends; it sends its rows again on a new connection."""
    hr.session().range(60_000).selectExpr("id", "repeat('x', 100) AS pad").coalesce(1).write.parquet(str(Path("in").absolute()))
    cable = Cable(pg.server.port, after=2_000_000)
    try:
        url = pg.url.replace(str(pg.server.port), str(cable.port))
        stream = hr.read.files("in", format="parquet", schema="id bigint, pad string", name="rows")
        hr.job("bad", stream.write.jdbc(url, "t", name="out", **pg.options)).run(checkpoint="ck", progress=False)
    finally:
        cable.close()
    assert cable.cuts == 1
    assert pg.run("SELECT count(*), count(DISTINCT id), sum(id) FROM t") == [(60_000, 60_000, 60_000 * 59_999 // 2)]


@contextmanager
def dropping(pg: Served, stage: str) -> Iterator[list[int]]:
    """Ends the sessions that wait to COPY, once."""
    dropped: list[int] = []
    holder = pg.server.connect(pg.url)
    holder.autocommit = False
    holder.execute(f"LOCK TABLE {stage} IN ACCESS EXCLUSIVE MODE")

    def drop() -> None:
        with pg.server.connect(pg.url) as watcher:
            sql = "SELECT pg_terminate_backend(pid), pid FROM pg_stat_activity WHERE query LIKE 'COPY%' AND wait_event_type = 'Lock'"
            while not dropped:
                dropped.extend(pid for _, pid in watcher.execute(sql))
        holder.rollback()
        holder.close()

    thread = threading.Thread(target=drop, daemon=True)
    thread.start()
    yield dropped
    thread.join(60)


@problem(WRITE, "an administrator terminates the session during a `COPY`", "", WAITS)
def test_a_session_that_is_ended(pg: Served) -> None:
    """A lock keeps the COPY waiting until its session is ended; the task sends the rows again."""
    with Harness() as h:
        source = h.source("s", "k string, n int")
        sink = into(h, source.write.jdbc(pg.url, "result", key="k", **pg.options))
        h.commit({"s": [("+", ("a", 1))]})
        with dropping(pg, sink._stage) as dropped:
            h.commit({"s": [("+", ("b", 2))]})
        assert dropped
        assert rows(pg, "result") == [("a", 1), ("b", 2)]


def shut(url: str, says: str, hide: dict[str, str], **options: Any) -> None:
    job = hr.job("shut", hr.read.memory([(1,)], "a int", name="s").write.jdbc(url, "t", **options))
    check_error(says, lambda: job.run(progress=False), hide=hide)


@problem(
    WRITE,
    "no server at the address",
    """
    DATABASE_UNREACHABLE: postgresql://127.0.0.1:PORT/db cannot be reached: Connection to 127.0.0.1:PORT refused. Check that the hostname and port are correct and that the postmaster is accepting TCP/IP connections. (Connection refused)
      at test_databases_that_go.py:*: job = hr.job("shut", hr.read.memory([(1,)], "a int", name="s").write.jdbc(url, "t", **options))
      hint: check that the server runs and that its port can be reached from here
      more: headrace error DATABASE_UNREACHABLE
    """,
    "nothing was read or written",
)
def test_nobody_listens(pg: Served, says: str) -> None:
    (port,) = free_ports(1)
    shut(f"postgresql://127.0.0.1:{port}/db", says, {str(port): "PORT"}, **pg.options)


@problem(
    WRITE,
    "an SQLite file in a missing folder",
    """
    DATABASE_UNREACHABLE: sqlite:<folder>/nowhere/out.db cannot be reached: [SQLITE_CANTOPEN] Unable to open the database file (unable to open database file)
      at test_databases_that_go.py:*: job = hr.job("shut", hr.read.memory([(1,)], "a int", name="s").write.jdbc(url, "t", **options))
      hint: choose a file in a folder that this user can write to
      more: headrace error DATABASE_UNREACHABLE
    """,
    "nothing was read or written",
)
def test_a_file_in_no_folder(tmp_path: Path, says: str) -> None:
    shut(File(tmp_path / "nowhere").url, says, {str(tmp_path): "<folder>"})
