"""The checkpoint folder: one process at a time, nothing taken that is not ours, a clearing that survives a crash."""

from __future__ import annotations

import errno
import json
import os
from itertools import product
from pathlib import Path

import pytest

from headrace.durable.sums import read, text_of
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.compile.identity import Identity
from tests.unit.errors import check_error


def stored(folder: Path) -> Checkpoint:
    checkpoint = Checkpoint(folder)
    checkpoint.store("fraud", {"nodes": []}, {"spark.sql.session.timeZone": "UTC"}, 2, Identity())
    return checkpoint


def test_what_is_stored_is_there_again(tmp_path: Path) -> None:
    one = stored(tmp_path / "c")
    one.begin_seal()
    one.seal()
    one.close()
    two = Checkpoint(tmp_path / "c")
    assert (two.stored, two.id, two.sealed, two.begun) == (one.stored, one.id, True, False)
    two.close()


def test_only_its_owner_enters_it_and_nothing_else_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir(mode=0o755)
    stored(folder).close()
    assert oct(folder.stat().st_mode & 0o777) == "0o700"
    other = tmp_path / "other"
    other.mkdir()
    other.chmod(0o755)
    (other / "mine.txt").touch()
    with pytest.raises(HeadraceError, match="NOT_A_CHECKPOINT"):
        Checkpoint(other)
    assert oct(other.stat().st_mode & 0o777) == "0o755"


def test_a_second_opening_is_refused(tmp_path: Path) -> None:
    one = stored(tmp_path / "c")
    check_error(
        """
        CHECKPOINT_IN_USE: the checkpoint <tmp>/c is in use by process <pid> on <host>
          hint: stop that run, use another checkpoint, or wait for it with standby=True.
          more: headrace error CHECKPOINT_IN_USE
        """,
        lambda: Checkpoint(tmp_path / "c"),
        hide={str(tmp_path): "<tmp>", f"process {os.getpid()} ": "process <pid> ", os.uname().nodename: "<host>"},
    )
    one.close()
    Checkpoint(tmp_path / "c").close()


@pytest.mark.parametrize("lock", ["lock", "lock.3"])  # the first is that of versions before terms
def test_the_lock_of_another_machine_is_believed(tmp_path: Path, lock: str) -> None:
    (tmp_path / lock).write_text(json.dumps({"host": "elsewhere", "pid": 7}))
    check_error(
        """
        CHECKPOINT_IN_USE: the checkpoint <tmp> is in use by process 7 on elsewhere
          hint: stop that run, use another checkpoint, or wait for it with standby=True.
                if that process is gone, only standby=True takes over, after 20 s without a sign of life.
          more: headrace error CHECKPOINT_IN_USE
        """,
        lambda: Checkpoint(tmp_path),
        hide={str(tmp_path): "<tmp>"},
    )


def test_a_folder_with_other_things_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    check_error(
        """
        NOT_A_CHECKPOINT: <tmp> is not a checkpoint: it is not empty and has no job.json
          hint: set checkpoint= to an empty or new folder
          more: headrace error NOT_A_CHECKPOINT
        """,
        lambda: Checkpoint(tmp_path),
        hide={str(tmp_path): "<tmp>"},
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_error(
        """
        CHECKPOINT_UNUSABLE: the checkpoint folder <tmp>/file/c cannot be used: Not a directory
          hint: set checkpoint= to a local folder that this user can write to
          more: headrace error CHECKPOINT_UNUSABLE
        """,
        lambda: Checkpoint(tmp_path / "file" / "c"),
        hide={str(tmp_path): "<tmp>"},
    )


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", "lock")

    # a test may run as root, who may write everywhere
    monkeypatch.setattr(os, "open", refused)
    check_error(
        """
        CHECKPOINT_UNUSABLE: the checkpoint folder <tmp> cannot be used: Permission denied
          hint: set checkpoint= to a local folder that this user can write to
          more: headrace error CHECKPOINT_UNUSABLE
        """,
        lambda: Checkpoint(tmp_path),
        hide={str(tmp_path): "<tmp>"},
    )


def test_a_first_start_cut_off_while_it_stored_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".job.json.123").write_text("{")
    Checkpoint(tmp_path).close()


def test_another_format_is_refused(tmp_path: Path) -> None:
    stored(tmp_path).close()
    file = tmp_path / "job.json"
    file.write_text(text_of((read(file) or {}) | {"format": 99}))
    check_error(
        """
        CHECKPOINT_FORMAT: <tmp>/job.json has format 99; this version of headrace reads formats 1 to 5
          hint: use the version of headrace that wrote it, or start over with fresh=True
          more: headrace error CHECKPOINT_FORMAT
        """,
        lambda: Checkpoint(tmp_path),
        hide={str(tmp_path): "<tmp>"},
    )
    file.write_text("{")
    check_error(
        """
        CHECKPOINT_UNREADABLE: <tmp>/job.json cannot be read: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
          hint: restore the whole checkpoint from a copy made while no job was running on it, or start over with fresh=True
          more: headrace error CHECKPOINT_UNREADABLE
        """,
        lambda: Checkpoint(tmp_path),
        hide={str(tmp_path): "<tmp>"},
    )


def test_an_unreadable_checkpoint_can_be_started_over(tmp_path: Path) -> None:
    stored(tmp_path).close()
    (tmp_path / "job.json").write_text("{")
    Checkpoint(tmp_path, fresh=True).close()


def test_a_clearing_cut_short_goes_on(tmp_path: Path) -> None:
    one = stored(tmp_path)
    (tmp_path / "queries" / "main" / "offsets").mkdir(parents=True)
    before = one.id
    one.begin_clearing()
    (tmp_path / "job.json").unlink()
    one.close()
    two = Checkpoint(tmp_path)
    assert two.clearing and two.stored is None and two.id != before
    two.empty()
    two.end_clearing()
    assert not two.clearing
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock.2"]
    two.close()


def test_an_empty_folder_of_ours_goes_away(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "c").close()
    assert not (tmp_path / "c").exists()


def test_no_lock_is_left_on_refusal(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text("{")
    for _ in range(2):
        with pytest.raises(HeadraceError, match="CHECKPOINT_UNREADABLE"):
            Checkpoint(tmp_path)


def test_each_bit_of_a_file_is_under_its_checksum(tmp_path: Path) -> None:
    text = text_of({"epoch": 3, "identity": "03df0c0f"}, indent=1).encode()
    for at, bit in product(range(len(text)), range(8)):
        file = tmp_path / "3.json"
        file.write_bytes(text[:at] + bytes([text[at] ^ 1 << bit]) + text[at + 1 :])
        with pytest.raises(HeadraceError, match="CHECKPOINT_UNREADABLE"):
            read(file)
