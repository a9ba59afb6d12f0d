"""A job of short epochs, stopped and killed on its way: one row an epoch, from files through a program into a table of SQLite.

`python -m tests.faults.soak FOLDER EPOCHS STOPS KILLS` runs one and says how large its checkpoint was at each end of a process; called again
with the same folder it goes on where it was. `python -m tests.faults.soak FOLDER` is the job.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.durable.atomic import replace

KEYS = 7
_LOOK = 0.2


class Number(hr.Program):
    """Numbers the rows of a key."""

    n = hr.Value("bigint")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(k=self.key.k, id=e.id, n=self.n.get())


def job(folder: Path) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k string, id bigint", files_per_epoch=1, name="rows")
    numbered = rows.key_by("k").process(Number).named("numbered")
    return hr.job("soak", numbered.write.jdbc(f"sqlite:{folder}/out.db", "numbered", name="out"))


@dataclass(frozen=True)
class End:
    """How a process ended, and what it left: `start` is the seconds to its first epoch, `median` the milliseconds of its last hundred."""

    epoch: int
    how: str
    start: float
    median: float
    files: int
    bytes: int


def soak(folder: Path, epochs: int, stops: int, kills: int) -> list[End]:
    """Run the job to its end, which `stops` signals and `kills` kills interrupt at random epochs."""
    lay_out(folder, epochs)
    chance = random.Random(epochs)
    hows = ["stop"] * stops + ["kill"] * kills
    chance.shuffle(hows)
    plan = [*zip(sorted(chance.sample(range(epochs // 20, epochs), len(hows))), hows, strict=True), (epochs, "end")]
    notes = folder / "ends.json"
    ends = [End(**end) for end in json.loads(notes.read_text())] if notes.exists() else []
    for until, how in plan[len(ends) :]:
        ends.append(run(folder, until, how))
        print(ends[-1], flush=True)
        replace(notes, json.dumps([asdict(end) for end in ends]))
    return ends


def lay_out(folder: Path, epochs: int) -> None:
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for epoch in range(sum(1 for _ in (folder / "in").iterdir()), epochs):
        (folder / "in" / f"{epoch:07}.json").write_text(json.dumps({"k": f"k{epoch % KEYS}", "id": epoch}) + "\n")


def run(folder: Path, until: int, how: str) -> End:
    """One process, which ends after so many epochs."""
    before, began, start = committed(folder), time.monotonic(), 0.0
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g"}
    with (folder / "log").open("ab") as log:
        command = [sys.executable, "-m", "tests.faults.soak", str(folder)]
        child = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        while child.poll() is None and (how == "end" or committed(folder) < until):
            time.sleep(_LOOK)
            if not start and committed(folder) > before:
                start = time.monotonic() - began
        if child.poll() is None and how == "stop":
            child.send_signal(signal.SIGTERM)
            child.wait(600)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(60)
    assert child.returncode == (-signal.SIGKILL if how == "kill" else 0), (folder / "log").read_text()[-3000:]
    files = [file.stat().st_size for file in (folder / "state").rglob("*") if file.is_file()]
    return End(committed(folder), how, round(start, 1), median(folder), len(files), sum(files))


def commits(folder: Path) -> list[Path]:
    files = (folder / "state/queries/main/commits").glob("*")
    return sorted((file for file in files if file.name.isdigit()), key=lambda file: int(file.name))


def committed(folder: Path) -> int:
    """How many epochs Spark has noted as done."""
    return max((int(file.name) + 1 for file in commits(folder)), default=0)


def median(folder: Path) -> float:
    """The milliseconds from one epoch's end to the next."""
    times = [file.stat().st_mtime_ns for file in commits(folder)]
    return round(statistics.median((after - before) / 1e6 for before, after in itertools.pairwise(times)), 1)


def check(folder: Path, epochs: int) -> None:
    """Each row is in the table once, numbered in the order of its key."""
    with sqlite3.connect(folder / "out.db") as table:
        rows = table.execute("SELECT k, id, n FROM numbered ORDER BY id").fetchall()
    table.close()
    assert rows == [(f"k{epoch % KEYS}", epoch, epoch // KEYS + 1) for epoch in range(epochs)]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if sys.argv[2:]:
        soak(place, *map(int, sys.argv[2:]))
        check(place, int(sys.argv[2]))
    else:
        print(job(place).run(checkpoint=place / "state", progress=False))
