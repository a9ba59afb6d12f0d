"""Rounds: runs in which all kills of a certification take place, and what came of them by the places at which they did."""

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
"""Kills of whole processes at random moments of one run. A run outlives an executor, so it has one kill of those."""


def at_points(work: Work, pool: ThreadPoolExecutor, asked: Sequence[Kill], trace: Trace, parallel: int) -> list[Run]:
    """Runs in which each of these kills took place: several in one run, each alone where that did not go as it should."""
    runs = list(pool.map(work.killed, kills.chains(asked, trace, parallel)))
    doubted = [run for run in runs if work.wrong(run) and len(run.struck) > 1]
    alone = [kill for run in runs for kill in run.late] + [kill for run in doubted for kill, _ in run.struck]
    single = list(pool.map(work.killed, [[kills.alone(kill, trace)] for kill in alone]))
    broken = {kill for run in single if work.wrong(run) for kill, _ in run.struck}
    # what was found in a row is explained where one of its kills does it alone
    explained = [run for run in doubted if any(kill in broken for kill, _ in run.struck)]
    return [*(run for run in runs if run not in explained), *single]


def at_outages(work: Work, asked: Sequence[Kill], trace: Trace) -> list[Run]:
    """Runs in each of which the servers had one outage: one after the other, as they are the same for all."""
    # In this thread and no other: what it starts may end with it.
    return [work.killed([kills.alone(kill, trace)]) for kill in asked]


def at_random(work: Work, pool: ThreadPoolExecutor, asked: list[Kill]) -> list[Run]:
    """Runs in which so many kills took place as were asked for; one that comes too late is tried again, earlier."""
    runs: list[Run] = []
    while asked:
        done = list(pool.map(work.killed, kills.together(asked, 1 if asked[0].of else AT_ONCE)))
        asked = [kill.earlier() for run in done for kill in run.late]
        runs += done
    return runs


def summed(runs: Iterable[Run], expected: Contents) -> tuple[Tried, ...]:
    """The kills by their places, in the order of an epoch, then those at random."""
    found: dict[tuple[str, str], list[Tried]] = {}
    for run in runs:
        places = {(kill.name, kill.of) for kill, _ in run.struck}
        for number, (kill, seconds) in enumerate(run.struck):
            lost, doubled = run.compared(expected) if number == 0 and len(places) == 1 else ({}, {})
            failed = run.failed if number == 0 and len(places) == 1 else ""
            found.setdefault((kill.name, kill.of), []).append(Tried(kill.name, kill.of, 1, seconds, lost, doubled, failed))
        if len(places) != 1 and run.differs(expected):
            said = ", ".join(str(kill) for kill, _ in run.struck)
            what = f"one after the other: {said}" if said else "not at all"
            found.setdefault((what, ""), []).append(Tried(what, "", 0, 0.0, *run.compared(expected), run.failed))
    order = {name: number for number, name in enumerate(POINTS)}
    return tuple(Tried.sum(found[place]) for place in sorted(found, key=lambda place: (order.get(place[0], len(order)), place)))
