"""Errors of looking into state, as far as they need no Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.schema import parse_schema
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.compile.identity import Entry, Identity, QueryIdentity
from headrace.spark.compile.layout import Cell, first
from headrace.spark.compile.shapes import Shape
from headrace.spark.inspect.inspect import unknown_table, unreadable
from tests.unit.errors import check_error

charges = hr.read.memory([], "card string, amount int", name="charges")


class Count(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e: hr.Row) -> None:
        self.n.set(1)
        hr.emit(card=self.key.card)


def checkpoint(folder: Path, *, programs: bool = True) -> Path:
    """A checkpoint as the first start of a job leaves it before its first epoch."""
    stream = charges.key_by("card").process(Count).named("counts") if programs else charges
    plan = hr.Plan.of("count", [stream.write.memory(name="out")._use()])
    entries = (Entry(1, Shape("counts", "program", 1, "card string"), (first([Cell("n", "value", "bigint")]),)),) if programs else ()
    one = Checkpoint(folder)
    one.store("count", plan.to_json(), {}, 2, Identity((QueryIdentity("main", ("charges",), 1, "none", entries),), 2))
    one.close()
    return folder


def test_no_folder(tmp_path: Path) -> None:
    check_error(
        """
        NOT_A_CHECKPOINT: <folder>/none is not a checkpoint: there is no such folder
          hint: a job keeps its checkpoint in .headrace/NAME unless the setting `checkpoint` names another folder
          more: headrace error NOT_A_CHECKPOINT
        """,
        lambda: hr.state(tmp_path / "none"),
        hide={str(tmp_path): "<folder>"},
    )
    check_error(
        """
        NOT_A_CHECKPOINT: <folder> is not a checkpoint: it has no job.json
          hint: a job keeps its checkpoint in .headrace/NAME unless the setting `checkpoint` names another folder
          more: headrace error NOT_A_CHECKPOINT
        """,
        lambda: hr.state(tmp_path),
        hide={str(tmp_path): "<folder>"},
    )


def test_folder_beside_the_checkpoint_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint(tmp_path / ".headrace" / "sums")
    (tmp_path / "sums").mkdir()
    check_error(
        """
        NOT_A_CHECKPOINT: <folder>/sums is not a checkpoint: it has no job.json
          hint: the job sums keeps its checkpoint in .headrace/sums
          more: headrace error NOT_A_CHECKPOINT
        """,
        lambda: hr.letters("sums"),
        hide={str(tmp_path): "<folder>"},
    )
    check_error(
        """
        NOT_A_CHECKPOINT: <folder>/smus is not a checkpoint: there is no such folder
          hint: did you mean .headrace/sums? A job keeps its checkpoint in .headrace/NAME unless the setting `checkpoint` names another folder
          more: headrace error NOT_A_CHECKPOINT
        """,
        lambda: hr.state("smus"),
        hide={str(tmp_path): "<folder>"},
    )


def test_folder_that_is_being_emptied(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "c")
    (folder / "clearing").touch()
    check_error(
        """
        NOT_A_CHECKPOINT: <folder>/c is being cleared by a start with fresh=True
          hint: wait until the job has started; if that start was interrupted, start it again
          more: headrace error NOT_A_CHECKPOINT
        """,
        lambda: hr.state(folder),
        hide={str(tmp_path): "<folder>"},
    )


def test_job_without_state(tmp_path: Path) -> None:
    check_error(
        """
        NO_STATE: the job count has no operator that keeps state
          hint: job.explain() lists the state of each operator
          more: headrace error NO_STATE
        """,
        lambda: hr.state(checkpoint(tmp_path / "c", programs=False)),
    )


def test_job_before_its_first_epoch(tmp_path: Path) -> None:
    check_error(
        """
        NO_STATE: the checkpoint <folder>/c has no state yet: no epoch is committed
          hint: run the job first, or wait a moment
          more: headrace error NO_STATE
        """,
        lambda: hr.state(checkpoint(tmp_path / "c")),
        hide={str(tmp_path): "<folder>"},
    )


def test_epoch_that_is_gone(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "c")
    for number in (3, 4, 5, 7):
        for place in (f"commits/{number}", f"offsets/{number}", f"state/0/0/{number + 1}_a.changelog"):
            path = folder / "queries" / "main" / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    check_error(
        """
        UNKNOWN_EPOCH: the checkpoint <folder>/c has no state of epoch 2
          hint: it has epochs 3 to 5, 7
          more: headrace error UNKNOWN_EPOCH
        """,
        lambda: hr.state(folder, epoch=2),
        hide={str(tmp_path): "<folder>"},
    )
    state = hr.state(folder)
    assert (state.epochs, state.epoch, state.queries) == ((3, 4, 5, 7), 7, {"main": 7})
    assert hr.state(folder, epoch=4).epoch == 4
    assert [path.read_text() for path in folder.glob("lock.*")] == [""]


def test_table_that_is_not_there() -> None:
    tables = {"alerts": parse_schema("n int"), "alerts_xs": parse_schema("x int")}
    check_error(
        """
        UNKNOWN_TABLE: the state has no table alert
          hint: did you mean `alerts`? It has: alerts, alerts_xs
          more: headrace error UNKNOWN_TABLE
        """,
        unknown_table("alert", tables),
    )


def test_state_that_cannot_be_read() -> None:
    check_error(
        """
        STATE_UNREADABLE: the state in state/fraud cannot be read: [STDS_FAILED_TO_READ_STATE_SCHEMA] Failed to read the state schema
          hint: a running job deletes its oldest epochs: try again. A checkpoint that was moved can be read after its job has started in the new place.
          more: headrace error STATE_UNREADABLE
        """,
        unreadable(Path("state/fraud"), HeadraceError("RUN_FAILED", "[STDS_FAILED_TO_READ_STATE_SCHEMA] Failed to read the state schema")),
    )
    known = HeadraceError("STATE_MISMATCH", "the state of alerts was written in layout 3; this version of the job knows 1, 2")
    assert unreadable(Path("state/fraud"), known) is known
