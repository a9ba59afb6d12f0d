"""Kills and their order: one run of a job can be killed once in every epoch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.certify.refused import refused
from headrace.points import CALL, OF_SINKS, POINTS, Armed

OVER = "after the commit log"
"""The point at which an epoch has ended: the next start does not repeat it."""

STEPS = 6
"""The most kills at a point that an epoch passes many times."""

FAILED = "made to fail"
"""The name of a fault at which the process fails and is not killed."""


def known(point: str) -> str:
    """Return the name of a point, and refuse an unknown one."""
    if point not in POINTS:
        raise refused(f"unknown point `{point}`", "`points` takes: " + ", ".join(f'"{one}"' for one in POINTS))
    return point


@dataclass(frozen=True)
class Kill:
    """One kill: at a point, or `after` some seconds from the beginning of the first epoch (then `of` may be an executor).

    At a point that an epoch passes many times, `step` is the number of the passing, from 0. With an `outage` the process is not killed: it
    sleeps at the point while the outage hits the servers. With `fails` the point fails, and the process ends as after any failure.

    >>> print(Kill("in a task", "out"), Kill("in a task", "out", outage="server hung"), Kill("in a task", "out", fails=True), sep="\\n")
    in a task of out
    server hung, in a task of out
    made to fail, in a task of out
    """

    point: str
    of: str = ""
    after: float | None = None
    outage: str = ""
    fails: bool = False
    step: int = 0

    @property
    def name(self) -> str:
        what = FAILED if self.fails else self.outage
        return f"{what}, {self.point}" if what else self.point

    def __str__(self) -> str:
        return f"{self.name} of {self.of}" if self.of else self.name

    def armed(self, passing: int = 1) -> Armed:
        return Armed(self.point, self.of, passing, "pause" if self.outage else "fail" if self.fails else "kill")

    def earlier(self) -> Kill:
        """Return an earlier kill, after a run that ended before this one."""
        return self if self.after is None else replace(self, after=self.after * 0.7)


@dataclass(frozen=True)
class Trace:
    """The number of times that a run passed each point, by epoch."""

    epochs: tuple[Mapping[tuple[str, str], int], ...]

    @classmethod
    def read(cls, file: Path) -> Trace:
        return cls.of(file.read_text(encoding="utf-8").splitlines())

    @classmethod
    def of(cls, lines: Iterable[str]) -> Trace:
        """
        >>> Trace.of(["after staging@out", "after staging@out", "after the commit log@main", "after staging@out"]).epochs[0]
        {('after staging', 'out'): 2, ('after the commit log', 'main'): 1}
        """
        epochs: list[Counter[tuple[str, str]]] = [Counter()]
        for line in lines:
            name, _, of = line.partition("@")
            epochs[-1][name, of] += 1
            if name == OVER:
                epochs.append(Counter())
        return cls(tuple(dict(epoch) for epoch in epochs if epoch))

    def points(self, sinks: Iterable[str]) -> list[Kill]:
        """Return a kill for each point that was passed, in the order of an epoch; at points of sinks, for each sink."""
        passed = {place for epoch in self.epochs for place in epoch}
        wanted = set(sinks)
        queries = sorted({of for name, of in passed if name not in OF_SINKS})
        places = [(name, of) for name in POINTS for of in (sorted(wanted) if name in OF_SINKS else queries) if (name, of) in passed]
        return [Kill(name, of, step=step) for name, of in places for step in (self._steps(name, of) if name == CALL else [0])]

    def _steps(self, name: str, of: str) -> list[int]:
        """Return numbers of passings in the epoch that passes a point most often: the first, the last, and some between."""
        most = max(epoch.get((name, of), 0) for epoch in self.epochs)
        return sorted({round(number * (most - 1) / (STEPS - 1)) for number in range(STEPS)})

    def arm(self, kill: Kill, begins: int, least: int) -> tuple[Armed, int] | None:
        """Arm the point for a process that starts at epoch `begins`, to act as soon as possible from `least`. Return it and its epoch."""
        place = (kill.point, kill.of)
        target = next((epoch for epoch in range(least, len(self.epochs)) if self.epochs[epoch].get(place, 0) > kill.step), None)
        if target is None:
            return None
        before = sum(self.epochs[epoch].get(place, 0) for epoch in range(begins, target))
        return kill.armed(before + 1 + kill.step), target


@dataclass(frozen=True)
class Step:
    """A kill of a chain, with its point armed to act in an epoch after the one that the previous kill interrupted."""

    kill: Kill
    armed: Armed | None


def chains(kills: Sequence[Kill], trace: Trace, least: int) -> list[list[Step]]:
    """Distribute kills to at least `least` runs, each in an epoch of its own, so that no kill repairs the damage of an earlier one."""
    left = list(kills)
    runs: list[list[Step]] = []
    room = max(len(trace.epochs) - 1, 1)
    size = max(1, min(room, -(-len(left) // max(least, 1))))
    while left:
        # The first chain also kills in the first epoch, before anything is committed; kills of the others find something committed.
        chain, left = _chain(left, trace, size, 1 if runs else 0)
        runs.append(chain)
    return runs


def _chain(kills: Sequence[Kill], trace: Trace, size: int, least: int) -> tuple[list[Step], list[Kill]]:
    begins = 0
    chain: list[Step] = []
    left: list[Kill] = []
    for kill in kills:
        placement = trace.arm(kill, begins, least) if len(chain) < size else None
        if placement is None:
            left.append(kill)
            continue
        armed, epoch = placement
        chain.append(Step(kill, armed))
        begins, least = epoch + (kill.point == OVER), epoch + 1
    if not chain:
        # the point is passed only in the first epoch
        first, *left = kills
        chain.append(Step(first, first.armed(1 + first.step)))
    return chain, left


def alone(kill: Kill, trace: Trace) -> Step:
    """Return the step of a kill that is the only one of its run."""
    placement = trace.arm(kill, 0, 1)
    return Step(kill, placement[0] if placement is not None else kill.armed(1 + kill.step))


def at_random(count: int, seconds: float, seed: int, *, of: str = "") -> list[Kill]:
    """Return `count` kills at random moments of a run of about `seconds`; `of` is empty for the whole process, or names an executor."""
    chance = random.Random(f"{seed} {of}")
    return [Kill("at random", of, chance.uniform(0.0, seconds)) for _ in range(count)]


def together(kills: Sequence[Kill], size: int) -> Iterator[list[Step]]:
    """Yield the steps of runs with `size` random kills each."""
    for at in range(0, len(kills), size):
        yield [Step(kill, None) for kill in kills[at : at + size]]
