"""Rounds: the runs with all kills of a certification, and their results by the place of the kill."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from headrace.certify import kills
from headrace.certify.certificate import Tried
from headrace.certify.contents import Contents
from headrace.certify.kills import Kill, Trace
from headrace.certify.work import Run, Work
from headrace.points import POINTS

AT_ONCE = 4
"""Random kills of the whole process in one run. A run survives the loss of an executor, so only one executor is killed in it."""


def at_points(work: Work, pool: ThreadPoolExecutor, planned: Sequence[Kill], trace: Trace, parallel: int) -> list[Run]:
    """Return runs in which each of these kills took place: several in one run, but each alone if that run went wrong or ended early."""
    runs = list(pool.map(work.killed, kills.chains(planned, trace, parallel)))
    doubted = [run for run in runs if work.wrong(run) and len(run.struck) > 1]
    alone = [kill for run in runs for kill in run.late] + [kill for run in doubted for kill, _ in run.struck]
    single = list(pool.map(work.killed, [[kills.alone(kill, trace)] for kill in alone]))
    broken = {kill for run in single if work.wrong(run) for kill, _ in run.struck}
    # a wrong run of several kills is explained if one of its kills alone goes wrong too
    explained = [run for run in doubted if any(kill in broken for kill, _ in run.struck)]
    return [*(run for run in runs if run not in explained), *single]


def at_outages(work: Work, planned: Sequence[Kill], trace: Trace) -> list[Run]:
    """Return runs with one outage each, one after the other, because all runs share the servers."""
    # In this thread, because processes that an outage starts may end with their thread.
    return [work.killed([kills.alone(kill, trace)]) for kill in planned]


def at_random(work: Work, pool: ThreadPoolExecutor, planned: list[Kill]) -> list[Run]:
    """Return runs in which all these kills took place; a kill that comes after the end of its run is tried again, earlier."""
    runs: list[Run] = []
    while planned:
        finished = list(pool.map(work.killed, kills.together(planned, 1 if planned[0].of else AT_ONCE)))
        planned = [kill.earlier() for run in finished for kill in run.late]
        runs += finished
    return runs


def summed(runs: Iterable[Run], expected: Contents) -> tuple[Tried, ...]:
    """Sum up kills by place, in the order of an epoch, followed by random ones."""
    tried_by_place: dict[tuple[str, str], list[Tried]] = {}
    for run in runs:
        places = {(kill.name, kill.of) for kill, _ in run.struck}
        for number, (kill, seconds) in enumerate(run.struck):
            lost, doubled = run.compared(expected) if number == 0 and len(places) == 1 else ({}, {})
            failed = run.failed if number == 0 and len(places) == 1 else ""
            tried_by_place.setdefault((kill.name, kill.of), []).append(Tried(kill.name, kill.of, 1, seconds, lost, doubled, failed))
        if len(places) != 1 and run.differs(expected):
            kill_list = ", ".join(str(kill) for kill, _ in run.struck)
            what = f"one after the other: {kill_list}" if kill_list else "not at all"
            tried_by_place.setdefault((what, ""), []).append(Tried(what, "", 0, 0.0, *run.compared(expected), run.failed))
    order = {name: number for number, name in enumerate(POINTS)}
    return tuple(
        Tried.sum(tried_by_place[place]) for place in sorted(tried_by_place, key=lambda place: (order.get(place[0], len(order)), place))
    )
