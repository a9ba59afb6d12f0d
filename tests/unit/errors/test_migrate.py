"""Errors of the offline rewrite that need no Spark: they are raised before anything is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from headrace.spark.deploy.migrate import migrate

from headrace.errors import HeadraceError
from headrace.spark.checkpoint.folder import MIGRATED, Checkpoint
from headrace.spark.compile.identity import Identity
from headrace.spark.run.failures import failure
from headrace.spark.run.start import begin
from tests.unit.errors import check_error
from tests.unit.errors.test_run import job


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A checkpoint in which a run was started."""
    one = Checkpoint(tmp_path / "old")
    one.store("sums", {"nodes": []}, dict(job("sums").settings), 1, Identity())
    one.query("main").joinpath("offsets").mkdir(parents=True)
    one.close()
    return one.folder


def test_place_that_is_taken(tmp_path: Path, old: Path) -> None:
    (tmp_path / "new").mkdir()
    check_error(
        """
        CHECKPOINT_EXISTS: <folder>/new already exists
          hint: name a folder that does not exist
          more: headrace error CHECKPOINT_EXISTS
        """,
        lambda: migrate(job("sums"), old, tmp_path / "new"),
        hide={str(tmp_path): "<folder>"},
    )
    check_error(
        """
        CHECKPOINT_EXISTS: <folder>/old/new is inside the old checkpoint <folder>/old
          hint: name a folder outside it
          more: headrace error CHECKPOINT_EXISTS
        """,
        lambda: migrate(job("sums"), old, old / "new"),
        hide={str(tmp_path): "<folder>"},
    )


def test_nothing_to_migrate(tmp_path: Path, old: Path) -> None:
    check_error(
        """
        NOTHING_TO_MIGRATE: this version of the job can continue from <folder>/old, so there is nothing to migrate
          hint: run the job with this checkpoint
          more: headrace error NOTHING_TO_MIGRATE
        """,
        lambda: migrate(job("sums"), old, tmp_path / "new"),
        hide={str(tmp_path): "<folder>"},
    )
    check_error(
        """
        NOTHING_TO_MIGRATE: <folder>/away is not a folder, so there is nothing to migrate
          hint: set checkpoint= to the checkpoint of an earlier version of the job
          more: headrace error NOTHING_TO_MIGRATE
        """,
        lambda: migrate(job("sums"), tmp_path / "away", tmp_path / "new"),
        hide={str(tmp_path): "<folder>"},
    )
    (old / "queries" / "main" / "offsets").rmdir()
    check_error(
        """
        NOTHING_TO_MIGRATE: no run has been started in <folder>/old, so there is nothing to migrate
          hint: run the job with this checkpoint
          more: headrace error NOTHING_TO_MIGRATE
        """,
        lambda: migrate(job("sums"), old, tmp_path / "new"),
        hide={str(tmp_path): "<folder>"},
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]


def test_checkpoint_that_was_migrated(tmp_path: Path, old: Path) -> None:
    (old / MIGRATED).write_text(f"{tmp_path / 'new'}\n")
    text = """
        CHECKPOINT_MIGRATED: the checkpoint <folder>/old was migrated to <folder>/new
          hint: continue with checkpoint=<folder>/new
                to undo the migration, delete <folder>/new and the file <folder>/old/migrated
          more: headrace error CHECKPOINT_MIGRATED
        """
    check_error(
        """
        CHECKPOINT_MIGRATED: the checkpoint <folder>/old was migrated to <folder>/new
          hint: continue with checkpoint=<folder>/new
                to undo the migration, delete <folder>/new and the file <folder>/old/migrated
          more: headrace error CHECKPOINT_MIGRATED
        """,
        lambda: begin(job("sums"), old),
        hide={str(tmp_path): "<folder>"},
    )
    # a mark alone is of a rewrite that was killed at its very end: it may be done again
    with pytest.raises(HeadraceError, match="NOTHING_TO_MIGRATE: this version"):
        migrate(job("sums"), old, tmp_path / "new")
    (tmp_path / "new").mkdir()
    check_error(text, lambda: migrate(job("sums"), old, tmp_path / "newer"), hide={str(tmp_path): "<folder>"})


def test_checkpoint_in_use_or_of_another_job(tmp_path: Path, old: Path) -> None:
    other = Checkpoint(old)
    with pytest.raises(HeadraceError, match="CHECKPOINT_IN_USE"):
        migrate(job("sums"), old, tmp_path / "new")
    other.close()
    with pytest.raises(HeadraceError, match="CHECKPOINT_OTHER_JOB"):
        migrate(job("others"), old, tmp_path / "new")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").touch()
    with pytest.raises(HeadraceError, match="NOT_A_CHECKPOINT"):
        migrate(job("sums"), tmp_path / "notes", tmp_path / "new")


def test_keys_that_meet(tmp_path: Path) -> None:
    check_error(
        """
        KEYS_MEET: sums: two keys of `by_day` become equal when they are converted to TIMESTAMP
          hint: keep the old key type; the state of two keys cannot be merged
          more: headrace error KEYS_MEET
        """,
        failure(
            json.dumps(
                {
                    "class": "headrace.HeadraceKernelException",
                    "condition": "KEYS_MEET",
                    "message": "two keys of `by_day` become equal when they are converted to TIMESTAMP",
                    "trace": "",
                    "node": "sums",
                    "site": None,
                }
            ),
            None,
        ),
    )
