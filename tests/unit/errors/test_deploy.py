"""Errors of a deploy that need no Spark: they are raised before anything is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.spark.checkpoint.folder import MIGRATED, Checkpoint
from headrace.spark.compile.identity import Identity
from headrace.spark.deploy.deploy import deploy
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


def test_nothing_to_deploy_to(tmp_path: Path, old: Path) -> None:
    check_error(
        """
        NOTHING_TO_DEPLOY: <folder>/away is not a folder, so there is nothing to deploy to
          hint: set checkpoint= to the checkpoint of an earlier version of the job
          more: headrace error NOTHING_TO_DEPLOY
        """,
        lambda: deploy(job("sums"), tmp_path / "away"),
        hide={str(tmp_path): "<folder>"},
    )
    (old / "queries" / "main" / "offsets").rmdir()
    check_error(
        """
        NOTHING_TO_DEPLOY: no run has been started in <folder>/old, so there is nothing to deploy to
          hint: run the job with this checkpoint
          more: headrace error NOTHING_TO_DEPLOY
        """,
        lambda: deploy(job("sums"), old),
        hide={str(tmp_path): "<folder>"},
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]


def test_checkpoint_that_was_migrated(tmp_path: Path, old: Path) -> None:
    """An earlier version of headrace made a new checkpoint for a changed job, and marked the old one."""
    (old / MIGRATED).write_text(f"{tmp_path / 'new'}\n")
    for work in (begin, deploy):
        check_error(
            """
            CHECKPOINT_MIGRATED: the checkpoint <folder>/old was migrated to <folder>/new
              hint: continue with checkpoint=<folder>/new
                    to undo the migration, delete <folder>/new and the file <folder>/old/migrated
              more: headrace error CHECKPOINT_MIGRATED
            """,
            lambda work=work: work(job("sums"), old),
            hide={str(tmp_path): "<folder>"},
        )


def test_checkpoint_in_use_or_of_another_job(tmp_path: Path, old: Path) -> None:
    other = Checkpoint(old)
    with pytest.raises(HeadraceError, match="CHECKPOINT_IN_USE"):
        deploy(job("sums"), old)
    other.close()
    with pytest.raises(HeadraceError, match="CHECKPOINT_OTHER_JOB"):
        deploy(job("others"), old)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").touch()
    with pytest.raises(HeadraceError, match="NOT_A_CHECKPOINT"):
        deploy(job("sums"), tmp_path / "notes")


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
