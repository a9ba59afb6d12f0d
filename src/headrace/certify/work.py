"""Runs of the copy of a job, undisturbed or killed."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headrace.certify.contents import DEAD, Contents, dead_letters, missing
from headrace.certify.kills import Kill, Step, Trace
from headrace.certify.process import CHILD, Place, run
from headrace.certify.refused import refused
from headrace.plan import Plan
from headrace.ports import Sink


class Repeated(Protocol):
    """A job that can be run repeatedly: it returns a plan that writes below a folder, with its sinks by name, and their contents."""

    def at(self, folder: Path) -> tuple[Plan, dict[str, Sink]]: ...

    def read(self, sinks: dict[str, Sink]) -> Contents: ...


@dataclass(frozen=True)
class Alone:
    """An undisturbed run: its result, the points it passed, and the seconds from its first epoch to its end."""

    contents: Contents
    trace: Trace
    seconds: float


@dataclass(frozen=True)
class Run:
    """A run that was killed: the kills that took place, each with the lifetime of its process in seconds; the kills that came too late; and
    the result, or the reason why there is none.
    """

    struck: tuple[tuple[Kill, float], ...]
    late: tuple[Kill, ...]
    contents: Contents
    failed: str = ""

    def compared(self, expected: Contents) -> tuple[dict[str, int], dict[str, int]]:
        """Return the numbers of lost and of doubled rows by sink."""
        return ({}, {}) if self.failed else (missing(expected, self.contents), missing(self.contents, expected))

    def differs(self, expected: Contents) -> bool:
        return bool(self.failed) or self.compared(expected) != ({}, {})


class Work:
    """Runs of one copy, each in a folder of its own, in any number of threads."""

    def __init__(
        self,
        copy: Repeated,
        folder: Path,
        partitions: int,
        master: str,
        report: Callable[[str], object],
        outages: Mapping[str, Callable[[], object]] | None = None,
        child: str = CHILD,
    ) -> None:
        self._copy = copy
        self._folder = folder
        self._partitions = partitions
        self._master = master
        self._report = report
        self._outages = outages or {}
        self._child = child
        self._lock = threading.Lock()
        self._places = 0
        self._kills = 0
        self._expected: Contents = {}
        self._open: list[dict[str, Sink]] = []

    def alone(self) -> Alone:
        """Run the copy to the end of its input."""
        place, sinks = self._place()
        ended = run(place, 0)
        if ended.code != 0:
            raise refused(f"its copy does not run:\n{_last(place.log)}", "run the job itself first, and correct what fails")
        trace = Trace.read(place.points(0) / "passed")
        contents = self._read(place, sinks)
        self._expected = contents
        self._report(f"left alone: {len(trace.epochs)} epochs, {sum(rows.total() for rows in contents.values()):,} rows written")
        return Alone(contents, trace, ended.running)

    def killed(self, steps: Sequence[Step]) -> Run:
        """Run the copy to the end of its input, killing it at each step."""
        place, sinks = self._place()
        struck: list[tuple[Kill, float]] = []
        for number, step in enumerate(steps):
            ended = run(place, number, step.kill, step.armed, self._outages.get(step.kill.outage))
            if ended.killed:
                struck.append((step.kill, ended.seconds))
            if ended.code == 0:
                break
            if not ended.killed:
                return self._failed(struck, step.kill, place)
        else:
            if run(place, len(steps)).code != 0:
                return self._failed(struck, None, place)
        struck_kills = {kill for kill, _ in struck}
        contents = self._read(place, sinks)
        with self._lock:
            self._kills += len(struck)
            self._report(f"faults so far: {self._kills}")
        return Run(tuple(struck), tuple(step.kill for step in steps if step.kill not in struck_kills), contents)

    def close(self) -> None:
        """Discard the outputs of runs that did not end."""
        while self._open:
            for sink in self._open.pop().values():
                # such as a server that is gone, which has been reported elsewhere
                with suppress(Exception):
                    sink.discard()

    def wrong(self, run: Run) -> bool:
        return run.differs(self._expected)

    def _failed(self, struck: list[tuple[Kill, float]], last: Kill | None, place: Place) -> Run:
        return Run((*struck, *([(last, 0.0)] if last is not None else [])), (), {}, _last(place.log))

    def _place(self) -> tuple[Place, dict[str, Sink]]:
        with self._lock:
            self._places += 1
            place = Place(self._folder / f"run-{self._places}", self._partitions, self._master, self._child)
        place.folder.mkdir()
        plan, sinks = self._copy.at(place.sinks)
        self._open.append(sinks)
        place.plan.write_text(json.dumps(plan.to_json()), encoding="utf-8")
        return place, sinks

    def _read(self, place: Place, sinks: dict[str, Sink]) -> Contents:
        with self._lock:
            contents = dict(self._copy.read(sinks))
            if letters := dead_letters(place.checkpoint):
                contents[DEAD] = letters
        for sink in sinks.values():
            sink.discard()
        self._open.remove(sinks)
        for folder in (place.sinks, place.checkpoint, place.left):
            shutil.rmtree(folder, ignore_errors=True)
        return contents


def _last(log: Path) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
