"""Kills: a process that runs a job is killed at points, and the next one continues; the report has a line for each point."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from headrace.certify.certificate import Tried
from headrace.certify.contents import Contents
from headrace.certify.kills import at_random as random_kills
from headrace.certify.kills import known
from headrace.certify.process import CHILD, LOCAL
from headrace.certify.rounds import at_points, at_random, summed
from headrace.certify.work import Repeated, Work
from headrace.testing.conformance.report import NotTried, Report
from headrace.testing.conformance.workbench import PARTITIONS, SINK

AT_ONCE = 2
SEED = 7


def killed(
    report: Report,
    prefix: str,
    repeated: Repeated,
    expected: Contents,
    points: Iterable[str],
    folder: Path,
    child: str = CHILD,
    kills: int = 0,
) -> None:
    """Kill processes at these points and at `kills` random moments, start them again, and check the result for each point."""
    names = {known(point) for point in points}
    with closing(Work(repeated, folder, PARTITIONS, LOCAL, lambda text: None, child=child)) as work, ThreadPoolExecutor(AT_ONCE) as pool:
        alone = work.alone()
        assert alone.contents == expected, "without kills its rows are wrong"
        wanted = [kill for kill in alone.trace.points([SINK]) if kill.point in names]
        if not wanted:
            raise NotTried("its job passes none of the points")
        runs = at_points(work, pool, wanted, alone.trace, AT_ONCE)
        runs += at_random(work, pool, random_kills(kills, alone.seconds, SEED)) if kills else []
        for one in summed(runs, expected):
            report.check(f"{prefix}killed {one.point}", partial(_holds, one))


def _holds(one: Tried) -> None:
    assert not one.failed, one.failed
    problems = [f"{sum(rows.values()):,} rows {what}" for what, rows in (("lost", one.lost), ("too many", one.doubled)) if rows]
    assert not problems, "; ".join(problems)
