"""The steps of handlers as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.errors import Site
from headrace.program.spoken import Spoken
from headrace.program.statement import Add, Append, Clear, Each, Emit, Let, Read, Replace, Set, When, every
from headrace.program.stepped import BEFORE, END, KEY, VALUE, Point, Step
from headrace.program.traced import Traced
from headrace.spark.replay.report import ReplayCall, ReplayStep

_COPY = re.compile(r"`?let__\d+`?")


class Words:
    """The words for the steps of a program."""

    def __init__(self, traced: Traced) -> None:
        self._spoken = Spoken.of(traced)
        self._entries = {cell.name for cell in traced.cells if cell.has_entries}
        statements = (one for handler in traced.handlers for one in every(handler.body))
        self._looped = {one.it: one.cell for one in statements if isinstance(one, Each)}

    def call(self, steps: Sequence[Step]) -> ReplayCall:
        """Return the steps of a call, the begin of the handler first."""
        begin, *others = steps
        timer = {"key": begin.values["timer"]} if "timer" in begin.values else {}
        row = begin.values["e"] if begin.row is not None else {"at": begin.values["at"], **timer}
        return ReplayCall(f"on_{begin.point.on}", begin.row, row, tuple(one for step in others for one in self._lines(step)))

    def _lines(self, step: Step) -> Iterator[ReplayStep]:
        statement, values, key = step.point.statement, step.values, step.values.get(KEY)
        before, value = values.get(BEFORE), values.get(VALUE)

        def line(what: str, name: str, site: Site | None = None, **more: Any) -> ReplayStep:
            at = site or (None if statement is None else statement.site)
            return ReplayStep(what, None if at is None else str(at), "" if at is None else at.text, name, **more)

        match statement:
            case When():
                for site, condition, is_taken in _conditions(statement, step.point):
                    yield line("otherwise", "") if condition is None else line("when", self._spoken(condition), site, value=is_taken)
            case Each(cell=cell):
                if step.point.what != END:
                    yield line("entry", cell, row=values)
            case Read(cell=cell, what=what):
                yield line("read", cell if what in ("value", "get") else f"{cell}.{what}", key=key, value=value)
            case Let(local=local, value=text):
                if not _COPY.fullmatch(text):  # `local.get()` makes a local, too
                    yield line("let", "local" if local.startswith("let__") else local, value=value)
            case Clear(cell=cell, key=None) if cell in self._entries:
                yield line("clear", f"{cell}.size", before=before, value=0)
            case Set(cell=cell) | Clear(cell=cell):
                yield line(statement.do, cell, key=key, before=before, value=value)
            case Append(cell=cell):
                yield line("append", cell, value=value)
            case Add(cell=cell):
                yield line("add", cell, row=value)
            case Replace(it=it):
                yield line("remove" if statement.value is None else "replace", self._looped[it], before=before, value=value)
            case Emit(output=output):
                yield line("emit", output, row=value)


def _conditions(when: When, point: Point) -> Iterator[tuple[Site | None, str | None, bool]]:
    """Yield the conditions that were evaluated, each with its line and whether its branch was taken; None as condition: `otherwise`."""
    sites = when.sites or (when.site,) * len(when.branches)
    for number, ((condition, body), site) in enumerate(zip(when.branches, sites, strict=True)):
        if point.branch == number:
            # an `elsewhen` whose condition reads cells is a `when` in a branch of its own
            if condition is not None or not any(isinstance(one, When) and one.site == site for one in body):
                yield site, condition, True
            return
        yield site, condition, False
