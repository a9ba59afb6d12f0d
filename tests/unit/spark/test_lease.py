"""The lease of a checkpoint: one holder, a dead one is replaced at once, a silent one after a while, and terms only rise."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.spark.checkpoint import lease as leases
from headrace.spark.checkpoint.lease import Lease
from tests.unit.errors import check_error

HOLDS = """
import sys, time
from pathlib import Path
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.lease import Lease
lease = Lease(Path(sys.argv[1]), silence=float(sys.argv[2]))
print(lease.term, flush=True)
sys.stdin.readline()
try:
    lease.check()
    print("held", flush=True)
except HeadraceError as error:
    print(error.code, flush=True)
sys.stdin.readline()
"""


def holder(folder: Path, silence: float = 20) -> subprocess.Popen[str]:
    """Another process that holds the lease; a line to it makes it look whether it still does."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLDS, str(folder), str(silence)]
    child = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and int(child.stdout.readline()) > 0
    return child


def says(child: subprocess.Popen[str]) -> str:
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    return child.stdout.readline().strip()


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


def test_a_killed_holder_is_replaced_at_once(tmp_path: Path) -> None:
    child = holder(tmp_path)
    with pytest.raises(HeadraceError, match="CHECKPOINT_IN_USE"):
        Lease(tmp_path)
    end(child)
    lease = Lease(tmp_path)
    assert lease.term == 2
    lease.release()


def test_a_standby_waits_for_the_end(tmp_path: Path) -> None:
    child = holder(tmp_path)
    messages: list[str] = []

    def waits(text: str) -> None:
        messages.append(text)
        if len(messages) == 3:
            end(child)

    lease = Lease(tmp_path, waits)
    assert lease.term == 2 and len(messages) >= 3
    assert set(messages) == {f"the checkpoint {tmp_path} is in use by process {child.pid} on {os.uname().nodename}; waiting to take over"}
    lease.release()


def test_a_standby_can_be_ended(tmp_path: Path) -> None:
    held = Lease(tmp_path)

    def waits(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Lease(tmp_path, waits)
    held.check()
    held.release()


def test_a_holder_that_sleeps_is_replaced_and_can_tell(tmp_path: Path) -> None:
    child = holder(tmp_path, silence=1)
    os.kill(child.pid, signal.SIGSTOP)
    lease = Lease(tmp_path, lambda _: None)
    assert lease.term == 2
    os.kill(child.pid, signal.SIGCONT)
    assert says(child) == "LEASE_LOST"
    end(child)
    lease.check()
    lease.release()


def test_a_holder_that_gives_signs_is_not_replaced(tmp_path: Path) -> None:
    child = holder(tmp_path, silence=3)
    looks = 0

    def waits(_: str) -> None:
        nonlocal looks
        looks += 1
        if looks == 35:  # more than twice as long as it would be patient
            raise TimeoutError

    with pytest.raises(TimeoutError):
        Lease(tmp_path, waits)
    assert says(child) == "held"
    end(child)


def test_one_of_many_takes_it(tmp_path: Path) -> None:
    leases: list[Lease] = []
    refused: list[str] = []

    def take() -> None:
        try:
            leases.append(Lease(tmp_path))
        except HeadraceError as error:
            refused.append(error.code)

    threads = [threading.Thread(target=take) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(leases) == 1 and refused == ["CHECKPOINT_IN_USE"] * 15
    leases[0].check()
    leases[0].release()


def test_the_one_that_was_replaced_says_by_whom(tmp_path: Path) -> None:
    held = Lease(tmp_path)
    (tmp_path / "lock.2").write_text(json.dumps({"host": "elsewhere", "pid": 7}))
    check_error(
        """
        LEASE_LOST: process 7 on elsewhere has taken over the checkpoint <tmp>: this one gave no sign of life for too long
          hint: nothing is lost or duplicated, and the other process continues; to let this one take over later, start it again as a standby.
          more: headrace error LEASE_LOST
        """,
        held.check,
        hide={str(tmp_path): "<tmp>"},
    )
    held.release()


def test_terms_go_on_behind_those_of_another_checkpoint(tmp_path: Path) -> None:
    lease = Lease(tmp_path, after=7)
    assert lease.term == 8
    lease.release()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("lock.8", "")]


def test_a_version_that_is_refused_gives_back_only_its_own_term(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.renew()
    lease.renew()
    assert (lease.term, [path.name for path in tmp_path.iterdir()]) == (3, ["lock.3"])
    lease.decline()
    lease.release()
    later = Lease(tmp_path)
    assert later.term == 3
    later.release()


def test_a_later_term_that_another_process_has_taken(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    (tmp_path / "lock.2").write_text('{"host": "elsewhere", "pid": 7}')
    with pytest.raises(HeadraceError, match="LEASE_LOST"):
        lease.renew()
    assert (tmp_path / "lock.2").read_text() == '{"host": "elsewhere", "pid": 7}'
    lease.release()


def test_a_holder_is_seen_while_its_term_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(tmp_path)
    living = leases._living

    def renewed(file: Path) -> leases.Holder | None:
        monkeypatch.setattr(leases, "_living", living)
        lease.renew()
        return living(file)

    monkeypatch.setattr(leases, "_living", renewed)
    assert leases.heartbeat(tmp_path)() is not None and lease.term == 2
    lease.release()


def test_a_start_that_was_refused_spends_no_term(tmp_path: Path) -> None:
    for _ in range(3):
        refused = Lease(tmp_path)
        refused.decline()
        assert refused.term == 1
        with pytest.raises(HeadraceError, match="CHECKPOINT_IN_USE"):  # it is held until it is released
            Lease(tmp_path)
        refused.release()
    Lease(tmp_path).release()
    later = Lease(tmp_path)
    assert later.term == 2
    later.release()
