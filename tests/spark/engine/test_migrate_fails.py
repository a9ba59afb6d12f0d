"""Rewrites that are refused, killed or run out of disk: the old checkpoint is as it was, and nothing else is left."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.folder import MIGRATED
from headrace.spark.deploy import copies
from headrace.spark.deploy import migrate as engine
from tests.spark.engine.jobs import lines
from tests.spark.engine.test_changed import files
from tests.unit.errors import check_error


def days(day: str) -> type[hr.Program]:
    class Days(hr.Program):
        """How often each day was named, per key."""

        seen = hr.Map(day, "int")

        def on_event(self, e: Any) -> None:
            self.seen.set(e.day, hr.f.coalesce(self.seen.get(e.day), 0) + 1)
            hr.emit(k=self.key.k, n=self.seen.get(e.day), days=self.seen.size())

    return Days


def job(folder: Path, key: str = "date", day: str = "date") -> hr.Job:
    read = hr.read.files(folder / "in", format="json", schema=f"k {key}, day {day}", name="in")
    processed = read.key_by("k").process(days(day), order="arrival").named("days")
    return hr.job("days", processed.write.files(folder / "out", format="json", name="out"))


def add(folder: Path, name: str, *rows: tuple[str, str]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_text("".join(json.dumps({"k": k, "day": day}) + "\n" for k, day in rows))


@pytest.fixture
def samoa(spark: Any) -> Iterator[None]:
    """A time zone without a 30 December 2011."""
    name = "spark.sql.session.timeZone"
    before = spark.conf.get(name)
    spark.conf.set(name, "Pacific/Apia")
    yield
    spark.conf.set(name, before)


@pytest.mark.usefixtures("samoa")
def test_keys_that_meet(tmp_path: Path) -> None:
    add(tmp_path, "1.json", ("2011-12-30", "2011-12-30"), ("2011-12-30", "2011-12-31"), ("2011-12-31", "2012-01-01"))
    old = tmp_path / "old"
    job(tmp_path).run(checkpoint=old, flush=False, partitions=2)
    before = files(tmp_path)
    check_error(
        """
        KEYS_MEET: days: two keys of `seen` become equal when they are converted to TIMESTAMP
          hint: keep the old key type; the state of two keys cannot be merged
          more: headrace error KEYS_MEET
        """,
        lambda: job(tmp_path, day="timestamp").migrate(tmp_path / "new", checkpoint=old),
    )
    check_error(
        """
        KEYS_MEET: days: the keys {"k":"2011-12-30"} and {"k":"2011-12-31"} become equal when `k` is converted to TIMESTAMP
          hint: keep the old key type; the state of two keys cannot be merged
          more: headrace error KEYS_MEET
        """,
        lambda: job(tmp_path, key="timestamp").migrate(tmp_path / "new", checkpoint=old),
    )
    with pytest.raises(HeadraceError, match="STATE_CHANGED: days is now keyed by k string instead of k date"):
        job(tmp_path, key="string").migrate(tmp_path / "new", checkpoint=old)
    with pytest.raises(HeadraceError, match="NOTHING_TO_MIGRATE"):
        job(tmp_path).migrate(tmp_path / "new", checkpoint=old)
    assert files(tmp_path) == before
    # and the earlier version goes on
    add(tmp_path, "2.json", ("2011-12-31", "2012-01-01"))
    job(tmp_path).run(checkpoint=old)
    assert sorted((row["k"], row["n"], row["days"]) for row in lines(tmp_path / "out")) == [
        ("2011-12-30", 1, 1),
        ("2011-12-30", 1, 2),
        ("2011-12-31", 1, 1),
        ("2011-12-31", 2, 1),
    ]


class Killed(BaseException):
    """What no code of the rewrite gets to see in life."""


@pytest.mark.usefixtures("spark")
def test_a_rewrite_that_was_killed_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    add(tmp_path, "1.json", ("2026-01-01", "2026-01-02"), ("2026-01-01", "2026-01-02"), ("2026-01-05", "2026-01-02"))
    job(tmp_path).run(checkpoint=old, flush=False, partitions=3)
    before = files(old)
    # Killed before the state, before the names in it were set right, and before job.json: what is left is no checkpoint.
    real = engine.mend
    for calls in (1, 2):
        left = [calls]

        def mend(query: Path, to: Path | None = None, left: list[int] = left) -> None:
            left[0] -= 1
            if not left[0]:
                raise Killed
            real(query, to)

        with monkeypatch.context() as patch:
            patch.setattr(engine, "mend", mend)
            patch.setattr(engine.shutil, "rmtree", lambda *arguments, **named: None)
            with pytest.raises(Killed):
                job(tmp_path, "timestamp", "timestamp").migrate(new, checkpoint=old)
        assert (files(old), new.exists(), copies.unfinished(new).is_dir()) == (before, False, True)
        with pytest.raises(HeadraceError, match="NOT_A_CHECKPOINT"):
            job(tmp_path, "timestamp", "timestamp").run(checkpoint=copies.unfinished(new))
    # Killed between the mark and the name: neither of the two can go on until it is done again.
    (old / MIGRATED).write_text(f"{new}\n")
    with pytest.raises(HeadraceError, match="CHECKPOINT_MIGRATED"):
        job(tmp_path).run(checkpoint=old)
    migration = job(tmp_path, "timestamp", "timestamp").migrate(new, checkpoint=old)
    assert (migration.programs[0].keys, migration.programs[0].entries, copies.unfinished(new).exists()) == (2, 2, False)
    with pytest.raises(HeadraceError, match="CHECKPOINT_MIGRATED"):
        job(tmp_path, "timestamp", "timestamp").migrate(tmp_path / "newer", checkpoint=old)
    # the way back: remove the new one and the mark
    add(tmp_path, "2.json", ("2026-01-01", "2026-01-02"))
    job(tmp_path, "timestamp", "timestamp").run(checkpoint=new, flush=False)
    assert sorted((row["k"][:10], row["n"]) for row in lines(tmp_path / "out")) == [
        ("2026-01-01", 1),
        ("2026-01-01", 2),
        ("2026-01-01", 3),
        ("2026-01-05", 1),
    ]


@pytest.mark.usefixtures("spark")
def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    add(tmp_path, "1.json", ("2026-01-01", "2026-01-02"))
    job(tmp_path).run(checkpoint=old, flush=False, partitions=1)
    before = files(tmp_path)

    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for place, name in ((copies.shutil, "copytree"), (engine.atomic, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, full)
            with pytest.raises(HeadraceError, match=f"DISK_FULL: {new} cannot be written: No space left on device"):
                job(tmp_path, "timestamp").migrate(new, checkpoint=old)
        assert files(tmp_path) == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "old", "out"]
