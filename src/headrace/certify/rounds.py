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
"""Kills at random moments of one run."""


def at_points(work: Work, pool: ThreadPoolExecutor, asked: Sequence[Kill], trace: Trace, parallel: int) -> list[Run]:
    """Runs in which each of these kills took place: several in one run, each alone where that did not go as it should."""
    runs = list(pool.map(work.killed, kills.chains(asked, trace, parallel)))
    alone = [kill for run in runs for kill in run.late]
    doubted = [run for run in runs if work.wrong(run) and len(run.struck) > 1]
    alone += [kill for run in doubted for kill, _ in run.struck]
    single = list(pool.map(work.killed, [[kills.alone(kill, trace)] for kill in alone]))
    if any(map(work.wrong, single)):
        # what was found in a row is explained by what was found alone
        runs = [run for run in runs if run not in doubted]
    return [*(run for run in runs if run.struck), *single]


def at_random(work: Work, pool: ThreadPoolExecutor, asked: list[Kill]) -> list[Run]:
    """Runs in which so many kills took place as were asked for; one that comes too late is tried again, earlier."""
    runs: list[Run] = []
    while asked:
        done = list(pool.map(work.killed, kills.together(asked, AT_ONCE)))
        asked = [kill.earlier() for run in done for kill in run.late]
        runs += [run for run in done if run.struck]
    return runs


def summed(runs: Iterable[Run], expected: Contents) -> tuple[Tried, ...]:
    """The kills by their places, in the order of an epoch, then those at random."""
    found: dict[tuple[str, str], list[Tried]] = {}
    for run in runs:
        places = {(kill.point, kill.of) for kill, _ in run.struck}
        for number, (kill, seconds) in enumerate(run.struck):
            lost, doubled = run.compared(expected) if number == 0 and len(places) == 1 else ({}, {})
            failed = run.failed if number == 0 and len(places) == 1 else ""
            found.setdefault((kill.point, kill.of), []).append(Tried(kill.point, kill.of, 1, seconds, lost, doubled, failed))
        if len(places) > 1 and run.differs(expected):
            said = ", ".join(str(kill) for kill, _ in run.struck)
            found[f"one after the other: {said}", ""] = [
                Tried(f"one after the other: {said}", "", 0, 0.0, *run.compared(expected), run.failed)
            ]
    order = {name: number for number, name in enumerate(POINTS)}
    return tuple(Tried.sum(found[place]) for place in sorted(found, key=lambda place: (order.get(place[0], len(order)), place)))
