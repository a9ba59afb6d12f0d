"""certify: runs the copy of a job undisturbed, kills it everywhere, and compares."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from headrace.analysis.guarantee import EXACTLY
from headrace.certify import kills
from headrace.certify.certificate import Certificate, Tried, Written
from headrace.certify.contents import DEAD, Contents
from headrace.certify.copy import Copy, Reader, copy
from headrace.certify.kills import Trace, known
from headrace.certify.process import CLUSTER, LOCAL, end_all
from headrace.certify.refused import refused
from headrace.certify.restored import epochs_needed, put_back_after
from headrace.certify.rounds import at_outages, at_points, at_random, summed
from headrace.certify.work import Work
from headrace.engine import Job
from headrace.masking import leaving
from headrace.plan import facts
from headrace.points import CALL, POINTS

ALONE = 2
"""Undisturbed runs. If their results differ, there is nothing to compare with."""


@leaving()
def certify(
    job: Job,
    *,
    points: Iterable[str] | None = None,
    fails: Iterable[str] = (),
    random: int = 0,
    executors: int = 0,
    seed: int = 0,
    rows: int = 2000,
    epochs: int = 7,
    servers: Mapping[str, str] | None = None,
    outages: Mapping[str, Callable[[], object]] | None = None,
    readers: Mapping[str, Reader] | None = None,
    restored: Sequence[int] = (),
    backups: Iterable[str] | None = None,
    parallel: int = 2,
    partitions: int = 2,
    master: str | None = None,
    told: Callable[[str], object] = lambda text: None,
) -> Certificate:
    """Kill a copy of a job at each of `points` (default: all) and at `random` random moments, make it fail at each of `fails`, and return
    the contents of its sinks compared with those of an undisturbed run.

    * The copy reads about the first `rows` rows of each source in about `epochs` epochs, and writes to temporary places, on the `servers`
      by name of connector.
    * `executors`: how often an executor is killed at random. For that, copies run with two executors on this machine. With a `master`
      all copies run there.
    * `outages`: functions that disturb the servers, by description ("server restarted"). At the points, the process is then not killed
      but sleeps until the function has returned, and continues.
    * `readers`, by name of connector, read the contents of sinks in place of the sinks themselves.
    * `restored`: for each number an early copy of the checkpoint is put back that many epochs later, in each way of
      `headrace.certify.backups` or of `backups`. Each start must be refused with a code, or be exact.
    * `told` is called with lines of progress.
    """
    began = time.monotonic()
    wanted = list(POINTS) if points is None else [known(point) for point in points]
    failing = [known(point) for point in fails]
    if executors and master is not None and re.fullmatch(r"local(\[.*\])?", master):
        raise refused(f"on {master} there are no executors to kill", "pass the master of a cluster, or leave out `master`")
    with tempfile.TemporaryDirectory(prefix="headrace-certify-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        enough = max(epochs, epochs_needed(restored)) if restored else epochs
        copied = copy(job.plan, folder, rows=rows, epochs=enough, servers=servers or {}, readers=readers or {})
        work = Work(copied, folder, partitions, master or LOCAL, told, outages)
        remote = Work(copied, _below(folder, "executors"), partitions, master or CLUSTER, told)
        with closing(work), closing(remote), ThreadPoolExecutor(parallel) as pool:
            try:
                # restored checkpoints have an undisturbed job of their own to compare with
                runs_alone = ALONE if wanted or failing or random or executors else 1
                alone = list(pool.map(lambda _: work.alone(), range(runs_alone)))
                first = alone[0]
                if any(one.contents != first.contents for one in alone):
                    raise refused(
                        "two undisturbed runs gave different results",
                        "remove what makes its rows depend on when it runs, such as the clock or the order of arrival",
                    )
                passed = first.trace.points(copied.plan.sinks)
                planned = [kill for kill in passed if kill.point in wanted]
                # a call cannot be made to fail from outside: its caller would not know whether it took effect
                failures = [replace(kill, fails=True) for kill in passed if kill.point in failing and kill.point != CALL]
                runs = at_points(work, pool, failures if outages else planned + failures, first.trace, parallel)
                if outages:
                    runs += at_outages(work, [replace(kill, outage=name) for name in outages for kill in planned], first.trace)
                runs += at_random(work, pool, kills.at_random(random, first.seconds, seed))
                if executors:
                    runs += at_random(remote, pool, kills.at_random(executors, remote.alone().seconds, seed, of="an executor"))
            except BaseException:
                # after Ctrl-C, for example, the pool would wait for the runs that have begun
                pool.shutdown(wait=False, cancel_futures=True)
                end_all()
                raise
            tried = [
                *summed(runs, first.contents),
                *put_back_after(copied, _below(folder, "restored"), partitions, restored, told, backups),
            ]
        return _certificate(job, copied, first.contents, first.trace, tried, time.monotonic() - began, seed)


def _below(folder: Path, name: str) -> Path:
    subfolder = folder / name
    subfolder.mkdir()
    return subfolder


def _certificate(
    job: Job, copied: Copy, expected: Contents, trace: Trace, tried: Iterable[Tried], seconds: float, seed: int
) -> Certificate:
    promised = facts(copied.plan, "guarantee")
    written = [
        Written(name, copied.plan.nodes[name].verb, str(promised[name].value), expected[name].total(), copied.instead.get(name, ""))
        for name in copied.plan.sinks
    ]
    if DEAD in expected:
        written.append(Written(DEAD, "files", EXACTLY, expected[DEAD].total()))
    return Certificate(
        job=job.name,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        version=metadata.version("headrace"),
        sinks=tuple(written),
        tried=tuple(tried),
        left_out=copied.left_out,
        rows=sum(one.rows for one in written),
        epochs=len(trace.epochs),
        seconds=seconds,
        seed=seed,
    )
