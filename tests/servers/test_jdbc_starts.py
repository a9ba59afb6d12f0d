"""Starts of jobs that meet in the ledger of one database: each waits for the other's transaction where it has to, and none fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.jdbc import Sink
from headrace.connectors.jdbc.kinds import NEEDS
from headrace.jvm.packages import attach
from tests.servers.tables import Served, rows
from tests.unit.connectors.delta.tasks import context

pytestmark = pytest.mark.usefixtures("spark", "here")

WAITING = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    "mariadb": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
}
NAMES = "id, job, sink, target, checkpoint, query, made, term"


@pytest.fixture(params=["postgresql", "mariadb"])
def served(request: pytest.FixtureRequest) -> Served:
    return Served(request.param, request.getfixturevalue({"postgresql": "postgres"}.get(request.param, request.param)))


@contextmanager
def held(place: Served, sql: str, *values: Any) -> Iterator[None]:
    """What another's transaction does, which ends with the block."""
    connection = place.server.connect(place.url)
    try:
        if place.kind == "postgresql":
            connection.autocommit = False
        else:
            connection.begin()
        connection.cursor().execute(sql, values)
        yield
        connection.commit()
    finally:
        connection.close()


def start(place: Served, table: str, **given: Any) -> None:
    made = Sink(place.url, table, **place.options)
    made.open(context(Path(), "n int", session=hr.session(), **given))
    made.close()


def until_waiting(place: Served, count: int) -> None:
    deadline = time.monotonic() + 60
    while place.run(WAITING[place.kind]) != [(count,)]:
        assert time.monotonic() < deadline, f"no {count} transactions wait for another"
        time.sleep(0.2)  # MariaDB shows what it showed last to whoever asks sooner


def test_two_jobs_start_at_once(maria: Served) -> None:
    """Neither has a row. If each locked the place where its own would be, MariaDB's gap, none could insert."""
    attach(hr.session(), [NEEDS])
    start(maria, "t")
    maria.run("TRUNCATE _headrace_epochs")
    with ThreadPoolExecutor(2) as pool:
        with held(maria, "SELECT * FROM _headrace_epochs WHERE id = 'none' FOR UPDATE"):
            both = [pool.submit(start, maria, "t", job=job, checkpoint_id=job) for job in ("one", "other")]
            until_waiting(maria, 2)
        for one in both:
            one.result(60)
    assert rows(maria, "_headrace_epochs", "job") == [("one",), ("other",)]


def test_two_jobs_make_their_table_at_once(pg: Served) -> None:
    """The other one's, which is not committed yet, is as good."""
    attach(hr.session(), [NEEDS])
    with ThreadPoolExecutor(1) as pool:
        with held(pg, "CREATE TABLE t (n int)"):
            second = pool.submit(start, pg, "t")
            until_waiting(pg, 1)
        second.result(60)
    assert rows(pg, "_headrace_epochs", "target, made") == [("public.t", 0)]


def test_two_starts_of_a_job_at_once(served: Served) -> None:
    """The earlier one has put the row of both into the ledger, and has not committed it."""
    attach(hr.session(), [NEEDS])
    start(served, "t", term=1)
    (row,) = rows(served, "_headrace_epochs", NAMES)
    served.run("DELETE FROM _headrace_epochs")
    with ThreadPoolExecutor(1) as pool:
        with held(served, f"INSERT INTO _headrace_epochs ({NAMES}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", *row):
            later = pool.submit(start, served, "t", term=2)
            until_waiting(served, 1)
        later.result(60)
    assert rows(served, "_headrace_epochs", "term") == [(2,)]


def test_a_fresh_start_waits_for_no_other_job(served: Served) -> None:
    """Another job's epoch is being written while this one's former checkpoint is taken out of the ledger."""
    attach(hr.session(), [NEEDS])
    start(served, "t", checkpoint_id="old")
    start(served, "u", job="busy", checkpoint_id="busy")
    ((busy,),) = served.run("SELECT id FROM _headrace_epochs WHERE job = 'busy'")
    with held(served, "UPDATE _headrace_epochs SET epoch = 7 WHERE id = %s", busy):
        start(served, "t", checkpoint_id="new", fresh=True)
    assert rows(served, "_headrace_epochs", "job, checkpoint, epoch") == [("busy", "busy", 7), ("job", "new", None)]
