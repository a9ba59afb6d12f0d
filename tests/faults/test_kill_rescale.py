"""kill -9 in the middle of `headrace rescale`, from 2 partitions to 7 to 3: all state stays, by portable savepoints."""

from __future__ import annotations

import datetime as dt
import json
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.points import DEPLOY_CALL, DEPLOY_POINTS
from tests.faults.test_kill_deploy import done, done_here
from tests.spark.engine.everything import EVENTS, RULES, START, Every
from tests.spark.engine.test_portable import exported, shown, state_of
from tests.spark.engine.test_state import case, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("spark")]

JOB = """
import sys
from pathlib import Path

sys.path.insert(0, "{root}")
from tests.faults.test_kill_rescale import job_in
job = job_in(Path("{folder}"), Path("{folder}"))
"""


def job_in(folder: Path, out: Path) -> hr.Job:
    """Cells of every kind, held rows, timers and a broadcast; joins with and without a key, windows, sessions, top-N, versions."""
    events = hr.read.files(folder / "events", format="json", schema=EVENTS, name="events").watermark("ts", "1 minute")
    rules = hr.read.files(folder / "rules", format="json", schema=RULES, name="rules").watermark("ts", "1 minute")
    size = hr.expr("bigint(length(card))").alias("size")
    views = {
        "every": events.key_by("card", size).process(Every, limits_in=hr.broadcast(rules)).named("every"),
        "met": events.join(rules.select("shop", "most"), on="shop", how="left").select("card", "amount", "most").named("met"),
        "above": events.filter("amount < 3").join(rules.select("most"), on="amount > most").named("above"),
        "windows": hr.sql(
            "SELECT window.start AS began, card, sum(amount) AS s FROM events GROUP BY card, window(ts, '7 minutes')", events=events
        ),
        "sessions": hr.sql(
            "SELECT session_window.start AS began, card, count(*) AS n FROM events GROUP BY card, session_window(ts, '3 minutes')",
            events=events,
        ),
        "best": events.select("card", "amount", "ts").top(2, by=["amount desc", "ts"], per="card").named("best"),
        "middle": events.group_by("shop").agg(m="median(amount)", d="count(DISTINCT card)").named("middle"),
    }
    sinks = [
        view.write.files(out / f"out {name}", format="json", mode=None if name == "every" else "changes", name=f"out {name}")
        for name, view in views.items()
    ]
    return hr.job("rescaled", *sinks)


def add(folder: Path, number: int) -> None:
    """The input of half an hour."""
    events, rules = case(3)
    begin, end = (START + dt.timedelta(minutes=30 * (number + more)) for more in (0, 1))
    write(folder / "events", number, [one for one in events if begin <= one.ts < end])
    write(folder / "rules", number, [one for one in rules if begin <= one.ts < end])


def held(folder: Path) -> Counter[str]:
    rows: Counter[str] = Counter()
    for file in hr.committed_files(folder):
        for row in map(json.loads, file.read_text().splitlines()):
            word = row.pop("_change", "insert")
            rows[json.dumps(row, sort_keys=True)] += 1 if word in ("insert", "update_after") else -1
    return +rows


STORES = {
    "providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "rocksdb.changelogCheckpointing.enabled": "true",
    "checkpointFormatVersion": "2",
}


def shared(spark: SparkSession, checkpoint: Path) -> list[set[tuple[Any, ...]]]:
    """What each partition keeps for all keys."""
    (query,) = (checkpoint / "queries").iterdir()
    own = spark.newSession()
    for name, value in STORES.items():
        own.conf.set(f"spark.sql.streaming.stateStore.{name}", value)
    state = own.read.format("statestore").option("path", str(query))
    names = [path.name for path in (query / "state").iterdir() if path.name.isdigit()]
    partitions: dict[int, set[tuple[Any, ...]]] = {}
    for operator in names:
        # Spark counts its operators from the last level on
        bags = f"level{len(names) - int(operator)}_bags"
        if any(bags in file.read_text() for file in (query / "state" / operator / "_metadata" / "v2").glob("[0-9]*")):
            pages = state.option("operatorId", operator).option("stateVarName", bags).load().collect()
            for row in pages:
                key = bytes(row.key[0])
                if (len(key) - 12) % 8:
                    page = (bags, key[8:12], row.user_map_key[0], bytes(row.user_map_value[0]))
                    partitions.setdefault(row.partition_id, set()).add(page)
    return list(partitions.values())


CALLS = [f"{DEPLOY_CALL}#{number}:kill" for number in (2, 40, 110, 200)]
POINTS = [f"{name}:kill" for name in DEPLOY_POINTS if name != DEPLOY_CALL]
PAIRS = [*zip(POINTS, reversed(POINTS), strict=True), *zip(CALLS, reversed(CALLS), strict=True)]


@pytest.mark.parametrize(("up", "down"), PAIRS)
def test_killed(up: str, down: str, tmp_path: Path, spark: SparkSession) -> None:
    add(tmp_path, 0)
    (tmp_path / "job.py").write_text(JOB.format(folder=tmp_path, root=Path(__file__).resolve().parents[2]))
    state, stays, other = tmp_path / "state", tmp_path / "stays", tmp_path / "other"
    for checkpoint, out in ((state, tmp_path), (stays, other)):
        job_in(tmp_path, out).run(checkpoint=checkpoint, partitions=2, flush=False, progress=False)
    exported(state, tmp_path / "two")
    assert {part for rows in state_of(tmp_path / "two").values() for _, part, *_ in rows} == {"value", "page", "alarm"}
    for partitions, point in ((7, up), (3, down)):
        command = ("rescale", str(tmp_path / "job.py"), "--checkpoint", str(state), "--partitions", str(partitions))
        done(tmp_path, *command, point=point, code=-signal.SIGKILL)
        (tmp_path / "acted").unlink()
        done_here(*command)
        exported(state, tmp_path / str(partitions))
        assert state_of(tmp_path / str(partitions)) == state_of(tmp_path / "two")
        alike = shared(spark, state)
        assert len(alike) == partitions
        assert all(one == alike[0] for one in alike)
    add(tmp_path, 1)
    job_in(tmp_path, tmp_path).run(checkpoint=state, progress=False)
    job_in(tmp_path, other).run(checkpoint=stays, progress=False)
    assert shown(state) == shown(stays)
    for name in ("every", "met", "above", "windows", "sessions", "best", "middle"):
        assert held(tmp_path / f"out {name}") == held(other / f"out {name}"), name
        assert held(tmp_path / f"out {name}")
