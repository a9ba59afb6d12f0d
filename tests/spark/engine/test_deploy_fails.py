"""Deploys that are refused, cut off or run out of disk: the checkpoint is that of one version or the other."""

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
from headrace.spark.checkpoint import offsets, savepoints, switch
from headrace.spark.deploy import compose
from tests.spark.engine.jobs import lines
from tests.spark.engine.test_changed import files
from tests.unit.connectors.served import Handler, Served
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
        lambda: job(tmp_path, day="timestamp").deploy(checkpoint=old),
    )
    check_error(
        """
        KEYS_MEET: days: the keys {"k":"2011-12-30"} and {"k":"2011-12-31"} become equal when `k` is converted to TIMESTAMP
          hint: keep the old key type; the state of two keys cannot be merged
          more: headrace error KEYS_MEET
        """,
        lambda: job(tmp_path, key="timestamp").deploy(checkpoint=old),
    )
    with pytest.raises(HeadraceError, match="STATE_CHANGED: days is now keyed by k string instead of k date"):
        job(tmp_path, key="string").deploy(checkpoint=old)
    assert files(tmp_path) == before
    assert job(tmp_path).deploy(checkpoint=old).unchanged
    # and the earlier version goes on
    add(tmp_path, "2.json", ("2011-12-31", "2012-01-01"))
    job(tmp_path).run(checkpoint=old)
    assert sorted((row["k"], row["n"], row["days"]) for row in lines(tmp_path / "out")) == [
        ("2011-12-30", 1, 1),
        ("2011-12-30", 1, 2),
        ("2011-12-31", 1, 1),
        ("2011-12-31", 2, 1),
    ]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("at", ["in the state", "before the switch", "in the switch"])
def test_a_deploy_that_is_cut_off(at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the switch the old version goes on, after it the new one, whatever was left undone."""
    add(tmp_path, "1.json", ("2026-01-01", "2026-01-02"), ("2026-01-01", "2026-01-02"), ("2026-01-05", "2026-01-02"))
    checkpoint = tmp_path / "checkpoint"
    job(tmp_path).run(checkpoint=checkpoint, flush=False, partitions=3)
    before = files(checkpoint)

    class Cut(BaseException):
        """What no code of the deploy gets to see in life."""

    def cut(*arguments: Any, **named: Any) -> None:
        raise Cut

    places: dict[str, tuple[Any, str]] = {
        "in the state": (compose, "write_stores"),
        "before the switch": (switch, "commit"),
        "in the switch": (switch, "_remove_records"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*places[at], cut)
        with pytest.raises(Cut):
            job(tmp_path, "timestamp", "timestamp").deploy(checkpoint=checkpoint)
    if at in ("in the state", "before the switch"):
        kept = {name: text for name, text in files(checkpoint).items() if not name.startswith("savepoints/")}
        assert kept == before
        job(tmp_path).run(checkpoint=checkpoint, flush=False)
        job(tmp_path, "timestamp", "timestamp").deploy(checkpoint=checkpoint)
    with pytest.raises(HeadraceError, match="STATE_CHANGED"):
        job(tmp_path).run(checkpoint=checkpoint)
    add(tmp_path, "2.json", ("2026-01-01", "2026-01-02"))
    job(tmp_path, "timestamp", "timestamp").run(checkpoint=checkpoint, flush=False)
    assert not (checkpoint / switch.SWITCH).exists()
    assert sorted((row["k"][:10], row["n"]) for row in lines(tmp_path / "out")) == [
        ("2026-01-01", 1),
        ("2026-01-01", 2),
        ("2026-01-01", 3),
        ("2026-01-05", 1),
    ]


@pytest.mark.usefixtures("spark")
def test_another_process_has_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This one was asleep for longer than its lease."""
    add(tmp_path, "1.json", ("2026-01-01", "2026-01-02"))
    checkpoint = tmp_path / "checkpoint"
    job(tmp_path).run(checkpoint=checkpoint, flush=False, partitions=1)
    before = files(checkpoint)

    def asleep(*arguments: Any, **named: Any) -> None:
        (checkpoint / "lock.99").touch()

    monkeypatch.setattr(savepoints, "take", asleep)
    with pytest.raises(HeadraceError, match="LEASE_LOST"):
        job(tmp_path, "timestamp").deploy(checkpoint=checkpoint)
    assert files(checkpoint) == before


@pytest.mark.usefixtures("spark")
def test_a_job_at_the_end_of_time_takes_no_new_source(tmp_path: Path) -> None:
    """The next start would refuse it, so the deploy does."""
    add(tmp_path, "1.json", ("2026-01-01", "2026-01-02"))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "1.json").write_text('{"k": "a", "ts": "2026-01-01 00:00:00"}\n')

    def version(*names: str) -> hr.Job:
        sinks = []
        for name, schema in (("in", "day timestamp"), ("more", "ts timestamp")):
            if name in names:
                column = schema.partition(" ")[0]
                rows = hr.read.files(tmp_path / name, format="json", schema=schema, name=name).watermark(column, "1 second")
                counts = hr.sql(f"SELECT window.start AS at, count(*) AS n FROM t GROUP BY window({column}, '1 hour')", t=rows)
                sinks.append(counts.write.files(tmp_path / f"{name} out", format="json", mode="changes", name=f"{name}_out"))
        return hr.job("ends", *sinks)

    checkpoint = tmp_path / "checkpoint"
    version("in").run(checkpoint=checkpoint, partitions=1)
    assert (checkpoint / "sealed").exists()
    version("in").deploy(checkpoint=checkpoint, partitions=2)
    check_error(
        """
        CHECKPOINT_SEALED: more would be read by the query more_out, and the job has read its bounded input to the end and fired all its timers
          hint: start over with fresh=True; flush=False keeps a job open for later input
          more: headrace error CHECKPOINT_SEALED
        """,
        lambda: version("in", "more").deploy(checkpoint=checkpoint),
    )


@pytest.mark.usefixtures("spark")
def test_a_server_may_hold_a_part_of_an_interrupted_epoch(tmp_path: Path) -> None:
    """It knows its requests by the epoch, which a deploy would drop: the rows would come again under other keys."""
    accepts = [True]

    class Receives(Handler):
        def do_POST(self) -> None:
            self.body()
            self.answer(200 if accepts[0] else 501, "")

    def counted(url: str) -> hr.Job:
        rows = hr.read.files(tmp_path / "in", format="json", schema="k string, day string", name="in")
        counts = rows.group_by("k").agg(n="count(*)").named("counts")
        return hr.job("sent", counts.changes().write.http(url, batch=1, idempotent=True, mode="changes", name="out"))

    add(tmp_path, "1.json", ("a", "1"))
    checkpoint = tmp_path / "checkpoint"
    with Served(Receives) as server:
        counted(server.root).run(checkpoint=checkpoint, partitions=1)
        add(tmp_path, "2.json", ("a", "1"), ("b", "1"))
        accepts[0] = False
        with pytest.raises(HeadraceError):
            counted(server.root).run(checkpoint=checkpoint)
        before = files(checkpoint)
        check_error(
            """
            EPOCH_UNFINISHED: out: epoch 1 was interrupted, and may be there in part
              hint: nothing was changed: run the version that wrote the checkpoint once, so that it finishes the epoch, then deploy
              more: headrace error EPOCH_UNFINISHED
            """,
            lambda: counted(server.root).deploy(checkpoint=checkpoint, partitions=2),
        )
        assert files(checkpoint) == before
        accepts[0] = True
        counted(server.root).run(checkpoint=checkpoint)
        assert not counted(server.root).deploy(checkpoint=checkpoint, partitions=2).unchanged


@pytest.mark.usefixtures("spark")
def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, "1.json", ("2026-01-01", "2026-01-02"))
    checkpoint = tmp_path / "checkpoint"
    job(tmp_path).run(checkpoint=checkpoint, flush=False, partitions=1)
    before = files(tmp_path)

    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for place, name in ((compose.shutil, "copytree"), (offsets, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, full)
            with pytest.raises(HeadraceError, match=f"DISK_FULL: {checkpoint} cannot be written: No space left on device"):
                job(tmp_path, "timestamp").deploy(checkpoint=checkpoint)
        assert files(tmp_path) == before
