"""A deploy adds a view to a job that runs with the 22 views of TPC-H: what it costs, how long the job pauses, and how its epochs fare."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pyarrow import parquet

import headrace as hr
from bench.life.backfill import job as views
from bench.state.measure import Goal, Result, progress
from bench.tpch.data import tables
from bench.tpch.queries import QUERIES
from bench.tpch.tables import SCHEMAS

COST, SLOWER, PAUSE_S = 1.3, 2.5, 3.0
"""The goals: CPU seconds of a bounded run of the view alone, the epochs meanwhile, and the pause (or two epochs, if that is more)."""

_ROOT = Path(__file__).parents[2]
_JOB = """
from pathlib import Path
from bench.life.added import {what}

job = {what}(Path({folder!r}))
"""


def running(folder: Path) -> hr.Job:
    """The job of 22 views, which waits for new orders."""
    return views(folder, views=True, follow=True)


def with_one_more(folder: Path) -> hr.Job:
    return views(folder, views=True, follow=True, also=lambda read: [_view(folder / "views", read)])


def alone(folder: Path) -> hr.Job:
    read = {name: hr.read.files(folder / "tables" / name, format="parquet", schema=schema, name=name) for name, schema in SCHEMAS.items()}
    return hr.job("tpch", _view(folder / "alone", read))


def _view(out: Path, read: Mapping[str, hr.Stream]) -> hr.Sink:
    """Query 5 for another region and year, from the tables that it reads."""
    query = next(one for one in QUERIES if one.name == "q05")
    text = query.text.replace("ASIA", "EUROPE").replace("1994", "1995").partition("ORDER BY")[0]
    view = hr.sql(text, **{name: read[name] for name in query.tables}).named("added")
    return view.write.files(out / "added", format="parquet", mode="changes", name="added_out")


def added(folder: Path, scale: float) -> Result:
    """Return the CPU seconds of a run of the view and of the deploy that adds it, the epochs before and meanwhile, and the pause."""
    for name, table in tables(scale).items():
        (folder / "tables" / name).mkdir(parents=True)
        parquet.write_table(table, folder / "tables" / name / "1.parquet", row_group_size=200_000)
    of_view = _seconds(folder, "run", "alone", "--checkpoint", "alone")
    progress(f"bounded run of the view: {of_view:,.1f} CPU s")
    run = _child(folder, "run", "running", "--checkpoint", "state", "--partitions", "2")
    try:
        with _orders(folder):
            _until(folder, run, 20)
            first = time.time()
            _until(folder, run, 40)
            before = [seconds for began, seconds in _epochs(folder) if began > first]
            deploy, began = _child(folder, "deploy", "with_one_more", "--checkpoint", "state", cores=1), time.time()
            cost = _cpu_seconds(deploy)
            ended = time.time()
        report = (folder / "deploy.log").read_text()
        assert deploy.returncode == 0, report
        meanwhile = [seconds for start, seconds in _epochs(folder) if began < start < ended]
    finally:
        run.kill()
        run.wait()
    pause = float(re.findall(r"paused for ([\d.]+) s", report)[0])
    progress(f"deploy: {ended - began:,.1f} s, {cost:,.1f} CPU s, pause {pause:,.1f} s")
    normal = statistics.median(before)
    goals = [
        Goal("CPU seconds of the view alone", cost / of_view, COST),
        Goal("epochs while it is prepared", statistics.median(meanwhile) / normal, SLOWER),
        Goal("pause of the switch", pause, max(2 * normal, PAUSE_S), unit="s"),
    ]
    samples = {
        "bounded run of the view alone, CPU": [of_view],
        "deploy that adds it, CPU of its process": [cost],
        "deploy, elapsed": [ended - began],
        "pause of the switch": [pause],
        "epochs before": before,
        "epochs while it is prepared": meanwhile,
    }
    remarks = ["the deploy has one core, the job two, on the same two cores", "CPU of a process includes the start of Spark, in both"]
    return Result(f"a view added to a running job of 22 views of TPC-H, scale factor {scale:g}", "s", samples, goals, remarks)


def _child(folder: Path, command: str, what: str, *options: str, cores: int = 2) -> subprocess.Popen[bytes]:
    file = folder / f"{what}.py"
    file.write_text(_JOB.format(what=what, folder=str(folder)))
    arguments = [sys.executable, "-m", "headrace", command, str(file), *options]
    paths = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "HEADRACE_MASTER": f"local[{cores}]", "SPARK_DRIVER_MEMORY": "3g", "PYTHONPATH": paths, "TZ": "UTC"}
    with (folder / f"{command}.log").open("ab") as log:
        return subprocess.Popen(arguments, cwd=folder, stdout=log, stderr=log, env=environment)


def _seconds(folder: Path, command: str, what: str, *options: str) -> float:
    child = _child(folder, command, what, *options)
    seconds = _cpu_seconds(child)
    assert child.returncode == 0, (folder / f"{command}.log").read_text()
    return seconds


def _cpu_seconds(child: subprocess.Popen[bytes]) -> float:
    """Wait for the end of a process, and return the CPU seconds that it and its JVM have used, to a tenth."""
    used: dict[str, float] = {}
    while child.poll() is None:
        for pid in [child.pid, *_children(child.pid)]:
            with suppress(FileNotFoundError, ProcessLookupError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                used[f"{pid}"] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.05)
    return sum(used.values())


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


@contextmanager
def _orders(folder: Path) -> Iterator[None]:
    """Add a few orders again and again, as long as the block runs."""
    over = threading.Event()
    few = parquet.read_table(folder / "tables" / "orders" / "1.parquet").slice(0, 10)

    def add() -> None:
        number = 2
        while not over.wait(0.5):
            parquet.write_table(few, folder / f"{number}.parquet")
            (folder / f"{number}.parquet").rename(folder / "tables" / "orders" / f"{number}.parquet")
            number += 1

    thread = threading.Thread(target=add, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _epochs(folder: Path) -> list[tuple[float, float]]:
    """Return when each epoch of the running job, before the switch, began, and its seconds."""
    saved = folder / "state" / "savepoints" / "before-deploy-1"
    query = (saved if saved.is_dir() else folder / "state") / "queries" / "main"
    begins = {path.name: path.stat().st_mtime for path in (query / "offsets").glob("[0-9]*")}
    ends = {path.name: path.stat().st_mtime for path in (query / "commits").glob("[0-9]*")}
    return sorted((begins[name], ends[name] - begins[name]) for name in begins.keys() & ends.keys())


def _until(folder: Path, run: subprocess.Popen[bytes], epochs: int) -> None:
    while len(_epochs(folder)) < epochs:
        assert run.poll() is None, (folder / "run.log").read_text()
        time.sleep(0.2)
