"""Starts of jobs that meet in the ledger of one database: each waits for the other's transaction where it has to, and none fails but where two
would write one table twice. Nor are they, or epochs, kept by what died or hangs.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.jdbc import Sink, database
from headrace.connectors.jdbc.dialect import IDLE
from headrace.connectors.jdbc.kinds import NEEDS
from headrace.connectors.jdbc.ledger import Ledger
from headrace.jvm.packages import attach
from headrace.testing import Harness
from tests.servers.tables import Place, Served, held, into, rows, stages, until_waiting
from tests.unit.connectors.delta.tasks import context

pytestmark = pytest.mark.usefixtures("spark", "here")

NAMES = "id, job, sink, target, checkpoint, query, made, term"


@pytest.fixture(params=["postgresql", "mariadb"])
def served(request: pytest.FixtureRequest) -> Served:
    return Served(request.param, request.getfixturevalue({"postgresql": "postgres"}.get(request.param, request.param)))


def start(place: Served, table: str, **options: Any) -> None:
    sink = Sink(place.url, table, **place.options)
    sink.open(context(Path(), "n int", session=hr.session(), **options))
    sink.close()


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


def test_two_checkpoints_of_a_job_start_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither sees the other's row, which is not committed yet; the one that comes to see both gives way, and takes its own back."""
    attach(hr.session(), [NEEDS])
    writers = Ledger._writers

    def meanwhile(ledger: Ledger) -> Any:
        monkeypatch.setattr(Ledger, "_writers", writers)
        committed = writers(ledger)
        start(served, "t", checkpoint_id="other")
        return committed

    monkeypatch.setattr(Ledger, "_writers", meanwhile)
    with pytest.raises(
        hr.HeadraceError, match="TABLE_OWNED: the table t was written by the sink sink of the job job, from another checkpoint"
    ):
        start(served, "t", checkpoint_id="one")
    assert rows(served, "_headrace_epochs", "checkpoint") == [("other",)]
    start(served, "t", checkpoint_id="other", term=2)


def test_a_start_whose_session_is_ended(pg: Served) -> None:
    """While it waits for another: it connects again, and waits anew."""
    attach(hr.session(), [NEEDS])
    start(pg, "u")
    (row,) = rows(pg, "_headrace_epochs", NAMES)
    pg.run("DELETE FROM _headrace_epochs; DROP TABLE u")
    with ThreadPoolExecutor(1) as pool:
        with held(pg, f"INSERT INTO _headrace_epochs ({NAMES}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", *row):
            later = pool.submit(start, pg, "u", term=2)
            until_waiting(pg, 1)
            pg.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
            until_waiting(pg, 1)
        later.result(60)
    assert rows(pg, "_headrace_epochs", "term") == [(2,)]


def died(place: Place, table: str, **options: Any) -> None:
    """A start that leaves its staging table."""
    sink = Sink(place.url, table, **place.options)
    sink.open(context(Path(), "n int", session=hr.session(), **options))
    sink.recover()
    sink._database.close()


def test_what_a_run_that_died_has_staged_goes_with_a_fresh_start(place: Place) -> None:
    attach(hr.session(), [NEEDS])
    died(place, "u", job="busy", checkpoint_id="busy")
    died(place, "t", checkpoint_id="old")
    assert len(stages(place)) == 2
    fresh = Sink(place.url, "t", **place.options)
    fresh.open(context(Path(), "n int", session=hr.session(), checkpoint_id="new", fresh=True))
    fresh.recover()
    fresh.close()
    assert len(stages(place)) == 1
    Sink(place.url, "u", **place.options).discard()
    assert stages(place) == []


def test_a_task_that_falls_asleep_in_its_transaction(maria: Served) -> None:
    """MariaDB gives it up as it does the driver's, so that its rows do not keep the epoch waiting."""
    with Harness() as h:
        source = h.source("s", "n int")
        sink = into(h, source.write.jdbc(maria.url, "t", **maria.options))
        h.commit({"s": [("+", (1,))]})
        maria.run("CREATE TABLE seen (n int)")
        maria.run(
            f"CREATE TRIGGER noted BEFORE INSERT ON {sink._stage} FOR EACH ROW INSERT INTO seen VALUES (@@session.idle_transaction_timeout)"
        )
        h.commit({"s": [("+", (2,))]})
        assert rows(maria, "seen") == [(IDLE,)]


def test_rows_that_a_task_holds_for_too_long(maria: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """MariaDB gives up waiting for a lock, the epoch is tried again."""
    slept: list[float] = []
    impatient = {"options": {**maria.options["options"], "sessionVariables": "innodb_lock_wait_timeout=1"}}
    with Harness() as h, ExitStack() as others:
        source = h.source("s", "n int")
        sink = into(h, source.write.jdbc(maria.url, "t", **{**maria.options, **impatient}))
        h.commit({"s": [("+", (1,))]})

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            others.close()

        monkeypatch.setattr(database, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
        others.enter_context(held(maria, f"INSERT INTO {sink._stage} VALUES (99, 99)"))
        h.commit({"s": [("+", (2,))]})
    assert len(slept) == 1
    assert rows(maria, "t") == [(1,), (2,)]
