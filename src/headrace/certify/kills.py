"""What is killed when, and in which order: one run of a job can be killed once in every epoch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.certify.refused import refused
from headrace.points import CALL, OF_SINKS, POINTS, Armed

OVER = "after the commit log"
"""The point at which an epoch has ended: the next start does not do it again."""

STEPS = 6
"""How many kills are tried at a point that an epoch passes many times."""

FAILED = "made to fail"
"""What it is called where the process is not killed and fails."""


def known(point: str) -> str:
    """The point; refused if there is none of that name."""
    if point not in POINTS:
        raise refused(f"unknown point `{point}`", f"points: {', '.join(POINTS)}")
    return point


@dataclass(frozen=True)
class Kill:
    """One kill: at a point, or `after` so many seconds from the first epoch's beginning (then `of` may be an executor).

    At a point that an epoch passes many times `step` says which passing it is, from 0.
    With an `outage` that befalls the servers, while the process sleeps at the point. With `fails` what stands at the point fails, and the
    process ends as it does after any failure.

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
        """The same, for a run that was over before."""
        return self if self.after is None else replace(self, after=self.after * 0.7)


@dataclass(frozen=True)
class Trace:
    """The points that a run passed: how often in each of its epochs."""

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
        """A kill for each point that was passed, in the order of an epoch, those of sinks for each of these."""
        passed = {place for epoch in self.epochs for place in epoch}
        wanted = set(sinks)
        queries = sorted({of for name, of in passed if name not in OF_SINKS})
        places = [(name, of) for name in POINTS for of in (sorted(wanted) if name in OF_SINKS else queries) if (name, of) in passed]
        return [Kill(name, of, step=step) for name, of in places for step in (self._steps(name, of) if name == CALL else [0])]

    def _steps(self, name: str, of: str) -> list[int]:
        """Some of the passings of an epoch that passes a point often: the first, the last, and some between."""
        most = max(epoch.get((name, of), 0) for epoch in self.epochs)
        return sorted({round(number * (most - 1) / (STEPS - 1)) for number in range(STEPS)})

    def arm(self, kill: Kill, begins: int, least: int) -> tuple[Armed, int] | None:
        """The point armed for a process that begins in one epoch, to act in the first that is at `least` another, and which that is."""
        place = (kill.point, kill.of)
        target = next((epoch for epoch in range(least, len(self.epochs)) if self.epochs[epoch].get(place, 0) > kill.step), None)
        if target is None:
            return None
        before = sum(self.epochs[epoch].get(place, 0) for epoch in range(begins, target))
        return kill.armed(before + 1 + kill.step), target


@dataclass(frozen=True)
class Step:
    """A kill of a chain, with its point armed so that it acts in an epoch after the one that the last kill cut off."""

    kill: Kill
    armed: Armed | None


def chains(kills: Sequence[Kill], trace: Trace, least: int) -> list[list[Step]]:
    """Kills dealt out to runs, `least` of them at least: each in an epoch of its own, so that what one broke no later one mends."""
    left = list(kills)
    found: list[list[Step]] = []
    room = max(len(trace.epochs) - 1, 1)
    size = max(1, min(room, -(-len(left) // max(least, 1))))
    while left:
        # One run is killed in its first epoch too, when nothing is there yet; in the others a kill finds something committed.
        chain, left = _chain(left, trace, size, 1 if found else 0)
        found.append(chain)
    return found


def _chain(kills: Sequence[Kill], trace: Trace, size: int, least: int) -> tuple[list[Step], list[Kill]]:
    begins = 0
    chain: list[Step] = []
    left: list[Kill] = []
    for kill in kills:
        found = trace.arm(kill, begins, least) if len(chain) < size else None
        if found is None:
            left.append(kill)
            continue
        armed, epoch = found
        chain.append(Step(kill, armed))
        begins, least = epoch + (kill.point == OVER), epoch + 1
    if not chain:
        # passed in the first epoch alone
        first, *left = kills
        chain.append(Step(first, first.armed(1 + first.step)))
    return chain, left


def alone(kill: Kill, trace: Trace) -> Step:
    """The kill as the only one of a run."""
    found = trace.arm(kill, 0, 1)
    return Step(kill, found[0] if found is not None else kill.armed(1 + kill.step))


def at_random(count: int, seconds: float, seed: int, *, of: str = "") -> list[Kill]:
    """So many kills at moments of a run that takes about so long; `of` the whole process, or of one executor."""
    chance = random.Random(f"{seed} {of}")
    return [Kill("at random", of, chance.uniform(0.0, seconds)) for _ in range(count)]


def together(kills: Sequence[Kill], size: int) -> Iterator[list[Step]]:
    """Kills at random, so many in one run."""
    for at in range(0, len(kills), size):
        yield [Step(kill, None) for kill in kills[at : at + size]]
