"""Which sinks are brought back to a checkpoint, to which epoch, and when none is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors.files import Sink
from headrace.connectors.memory import Sink as Memory
from headrace.durable.manifest import Manifest, Owner
from headrace.errors import HeadraceError
from headrace.ops import sources_of
from headrace.plan import Plan
from headrace.schema import parse_schema
from headrace.spark.checkpoint.folder import Checkpoint, Stored
from headrace.spark.checkpoint.lease import Lease
from headrace.spark.checkpoint.record import Record, Written
from headrace.spark.compile.identity import Identity
from headrace.spark.deploy.rewind import Rewinding, left_out, repairable
from headrace.spark.run import ahead, outlets
from headrace.spark.run.ahead import Rewound, planned
from headrace.spark.run.outlets import Outlet
from tests.unit.spark.test_history import Logs
from tests.unit.test_manifest import stage

JOB: Any = SimpleNamespace(plan=SimpleNamespace(job="job"), time_zone="UTC", shown=str)


class Put:
    """A checkpoint whose query has ended four epochs, and outputs of files that it feeds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoint = Checkpoint(folder / "checkpoint")
        self.checkpoint.store("job", {"nodes": []}, {}, 1, Identity())
        logs = Logs(self.checkpoint.folder)
        self.identities = logs.run(range(4))
        self.outlets: list[Outlet] = []
        self.written: dict[str, Written] = {}

    def sink(self, name: str, held: range, written: int = -1, place: str = "") -> Path:
        """An output that holds some epochs, of which the checkpoint has written those up to one."""
        folder = self.folder / name
        manifest = Manifest(folder)
        manifest.claim(Owner("job", name, self.checkpoint.id))
        for epoch in held:
            identity = self.identities[epoch] if epoch <= 3 and written >= epoch else f"{epoch:032}"
            manifest.commit(epoch, stage(folder, epoch, "a.json"), identity)
        if written >= 0:
            self.written[name] = Written(written, self.identities[written], place or str(folder.resolve()))
        self.outlets.append(Outlet(name, Sink(folder, format="json"), parse_schema("k string")))
        return folder

    def planned(self) -> list[tuple[str, int, int]]:
        return [(one.sink, one.held, one.to) for one in self.steps()]

    def refused(self) -> str:
        with pytest.raises(HeadraceError) as caught:
            self.steps()
        assert caught.value.code == "CANNOT_REWIND"
        return caught.value.message.replace(f"{self.folder}/", "")

    def steps(self) -> tuple[Rewound, ...]:
        Record(self.checkpoint.folder / "record", "main", 1).add(3, [], {}, self.written)
        return planned(JOB, self.checkpoint, {"main": self.outlets})


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    monkeypatch.setattr(outlets, "session", lambda: None)
    # the logs are made by hand
    monkeypatch.setattr(ahead, "needed", lambda query: ())
    restored = Put(tmp_path)
    yield restored
    restored.checkpoint.close()


def test_sinks_come_back_to_what_was_written_there(put: Put) -> None:
    put.sink("behind", range(6), written=3)
    put.sink("seldom", range(0, 6, 2), written=2)
    put.sink("same", range(3), written=2)
    put.sink("empty", range(0))
    put.sink("later", range(4, 6))
    assert put.planned() == [("behind", 5, 3), ("seldom", 4, 2), ("later", 5, -1)]


def test_a_sink_whose_epochs_may_be_of_another_place_stays(put: Put) -> None:
    put.sink("moved", range(6), written=3, place="elsewhere")
    assert put.refused() == "moved: the checkpoint has written nothing at moved, which already holds epoch 0"


def test_one_that_cannot_keeps_all(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put.sink("behind", range(6), written=3)
    put.outlets.append(Outlet("kept", Memory(), parse_schema("k string")))
    assert put.refused() == "kept: it has no mark of its epochs, and would receive rows again"
    fixed: Callable[..., Any] = ports.Sink.rewind
    monkeypatch.setattr(Sink, "rewind", fixed)
    put.outlets.pop()
    assert put.refused() == "behind: a files sink cannot undo what was written"


def test_sinks_that_hold_nothing_later_stay(put: Put) -> None:
    put.sink("same", range(4), written=3)
    put.outlets.append(Outlet("kept", Memory(), parse_schema("k string")))
    assert put.planned() == []


def test_places_to_which_the_job_does_not_write_any_more(tmp_path: Path) -> None:
    rows = hr.read.memory([("a",)], "k string", name="rows")
    written = [*(rows.write.files(tmp_path / name, format="json", name=name) for name in ("kept", "old")), rows.write.console()]
    plan = Plan.of("job", [sink._use() for sink in written]).to_json()
    stored = Stored("id", "job", plan, {}, 1, Identity())
    assert left_out(stored, [f"{tmp_path}/kept"]) == (("old", f"{tmp_path}/old"),)
    plan["nodes"].append({"name": "gone", "op": "sink", "connector": "of another package", "options": {}})
    assert left_out(stored, [f"{tmp_path}/kept", f"{tmp_path}/old"]) == (("gone", "of another package"),)


def test_rows_that_were_repaired_since_go_with_what_comes_back(put: Put) -> None:
    put.sink("behind", range(5), written=3)
    rows = hr.read.files("in", format="json", schema="k string", name="rows")
    plan = Plan.of("job", [rows.union(hr.read.memory([("a",)], "k string", name="fixed")).write.console()._use()])
    job: Any = SimpleNamespace(sources=sources_of(plan.nodes.values()), shown=str)
    rewinding = Rewinding("job", Path("c"), put.steps(), True, repairable=repairable(job))
    notice = (
        "  rows that `headrace letters replay` has fed to rows since the checkpoint was copied are withdrawn, too: replay their files again"
    )
    first = f"  behind, from epoch 4 to epoch 3: 1 file and its manifest are moved to {put.folder}/behind/_headrace/withdrawn/"
    assert str(rewinding).splitlines()[1].startswith(first)
    assert str(rewinding).splitlines()[2:] == [notice, "nothing was changed; dry_run=False (--yes) rewinds them"]
    assert "replay" not in str(replace(rewinding, repairable=())) + str(replace(rewinding, sinks=()))


def test_terms_of_the_copy_that_went_on_are_skipped(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.skip(1000)
    assert (lease.term, [path.name for path in tmp_path.iterdir()]) == (1001, ["lock.1001"])
    lease.check()
    lease.release()
    again = Lease(tmp_path)
    again.skip(1000)
    again.decline()
    again.release()
    assert [path.name for path in tmp_path.iterdir()] == ["lock.1001"]
