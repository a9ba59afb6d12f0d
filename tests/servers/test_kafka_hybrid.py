"""A year of files and the live topic as one source, killed around the seam: each row once, none of them late."""

from __future__ import annotations

import datetime as dt
import json
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.test_kill_deploy import done
from tests.servers.kafka import Broker, Record
from tests.spark.engine.pairs import lines

pytestmark = pytest.mark.usefixtures("spark")

YEAR, SINCE, CUT, NOW = 365, 329, 347, 400
"""The days in the files; the first one that the topic has, a tenth of a year before; the day of the cut; and the day after the last."""
A_DAY = 30
FIRST = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
EPOCHS = 5
"""Epochs of history."""

JOB = """
import headrace as hr

SCHEMA = "id bigint, ts timestamp"
archive = hr.read.files("archive", format="json", schema=SCHEMA, files_per_epoch={files}, name="archive").watermark("ts", "1 hour")
live = hr.read.kafka({topic!r}, servers={servers!r}, schema=SCHEMA, end="latest", rows_per_epoch=500, name="live").watermark("ts", "1 hour")
rides = hr.read.hybrid(archive, then=live, at={cut!r})
days = rides.window(hr.tumble("ts", "1 day"), emit="close").group_by("window_start").agg(n="count(*)", s="sum(id)").named("days")
job = hr.job(
    "rides",
    rides.select("id").write.files("ids", format="json", name="ids_out"),
    days.write.files("days", format="json", name="days_out"),
    days.output("late").write.files("late", format="json", name="late_out"),
)
"""


def rows(day: int) -> list[dict[str, object]]:
    return [{"id": day * A_DAY + n, "ts": (FIRST + dt.timedelta(days=day, minutes=40 * n)).isoformat()} for n in range(A_DAY)]


def lay_out(folder: Path, broker: Broker, topic: str) -> None:
    broker.create_topic(topic, 2)
    (folder / "archive").mkdir()
    for day in range(YEAR):
        (folder / "archive" / f"{day:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows(day)))
    # rows of a partition are in order, those of the topic are not
    records = [Record(json.dumps(row), partition=number % 2) for day in range(SINCE, NOW) for number, row in enumerate(rows(day))]
    broker.produce(topic, records)
    cut = (FIRST + dt.timedelta(days=CUT)).strftime("%Y-%m-%d %H:%M:%S")
    (folder / "job.py").write_text(JOB.format(files=-(-YEAR // EPOCHS), topic=topic, servers=broker.servers, cut=cut))


def check(folder: Path) -> None:
    assert Counter(row["id"] for row in lines(folder / "ids")) == Counter(range(NOW * A_DAY))
    days = {row["window_start"][:10]: (row["n"], row["s"]) for row in lines(folder / "days")}
    numbers = {(FIRST + dt.timedelta(days=day)).strftime("%Y-%m-%d"): range(day * A_DAY, (day + 1) * A_DAY) for day in range(NOW)}
    assert days == {name: (A_DAY, sum(ids)) for name, ids in numbers.items()}
    assert not lines(folder / "late")


SEAM = ["after offsets are logged", "before sink commit@ids_out", "after sink commit@days_out", "after the record", "after the commit log"]


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6))
def test_killed_around_the_seam(seed: int, broker: Broker, tmp_path: Path) -> None:
    """Two kills: in one of the last epochs of history or the first ones of the topic, and in one of those that follow."""
    lay_out(tmp_path, broker, f"hybrid-{seed}")
    choice = random.Random(seed)
    run = ("run", "job.py", "--checkpoint", "state")
    for passing in (EPOCHS + choice.randint(-1, 1), 2):
        (tmp_path / "acted").unlink(missing_ok=True)
        done(tmp_path, *run, point=f"{choice.choice(SEAM)}#{passing}:kill", code=-signal.SIGKILL)
        assert (tmp_path / "acted").exists()
    done(tmp_path, *run)
    check(tmp_path)
