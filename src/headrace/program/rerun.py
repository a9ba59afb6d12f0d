"""A handler that runs once more in Python, over the steps that were recorded when it ran for a row or a timer.

The handler is the user's own function, so a debugger stops at its lines. What it reads, which branches it takes and which entries a loop
reaches come from the recording. A column shows its value: its text, evaluated over what was recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from headrace.errors import ProgramError, here, ours
from headrace.expr import Column, shown_as
from headrace.program.branching import branching
from headrace.program.control import Branch
from headrace.program.each import Entry, Loop
from headrace.program.recording import NOW, TIMER_KEY, WATERMARK, Recording, Unentered, recorded
from headrace.program.row import Row
from headrace.program.statement import Emit, Let, Read, Statement
from headrace.program.stepped import BRANCH, END, ENTRY, VALUE, Step
from headrace.program.tracing import EVENT, LATE, Tracing
from headrace.schema import row_text

_NAMES = {"e": "e", "key": "key", "at": "at", "timer": TIMER_KEY, "now": NOW, "watermark": WATERMARK}
"""The names in texts of what is recorded when a handler begins, by its field."""

_PROMPT = ("<stdin>", "<string>")
"""The files of what is typed into a debugger."""


class Recorded(NamedTuple):
    """Where a value was recorded: a step, and a field of it."""

    step: Step
    field: str


class Past(Protocol):
    """Evaluates texts over recorded values, by the names that the texts have for them."""

    def value(self, text: str, names: Mapping[str, Recorded]) -> Any:
        """The value of a text."""

    def row(self, texts: Mapping[str, str], names: Mapping[str, Recorded], emitted: Step) -> Mapping[str, Any]:
        """The values of the texts of a row, in the types in which it was emitted, as in the values of that step."""


class Rerun:
    """Runs handlers of a program once more.

    Args:
        tracing: The program.
        past: Evaluates expressions.
    """

    def __init__(self, tracing: Tracing, past: Past) -> None:
        self._tracing, self._past = tracing, past

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Let the program's functions branch, until the end."""
        with branching(self._tracing.opening):
            yield

    def run(self, call: Sequence[Step], through: Callable[..., object]) -> list[tuple[str, Mapping[str, Any]]]:
        """Run a handler over the steps of a call. Returns the rows that it emits, each with its output.

        Args:
            call: The steps, the begin of the handler first.
            through: Called with the handler and its arguments, such as `pdb.runcall`.
        """
        begin = call[0]
        recording = _Rerun(self._tracing, call, self._past)
        handler = getattr(self._tracing.program, f"on_{begin.point.on}")
        if recording.input is None:
            arguments: list[Row | Column] = [recording.value(_NAMES[one], one) for one in ("at", "timer") if one in begin.values]
        else:
            arguments = [Row(recording, "e", recording.columns, f"input `{recording.input}` of {recording.program}")]
        token = shown_as.set(recording.shown)
        try:
            with recorded(recording):
                through(handler, *arguments)
        finally:
            shown_as.reset(token)
        recording.ended()
        return recording.emitted


class _Rerun(Recording):
    def __init__(self, tracing: Tracing, call: Sequence[Step], past: Past) -> None:
        begin, *steps = call
        on = begin.point.on
        of = None if begin.row is None else EVENT if on == LATE else on
        super().__init__(tracing.frame, f"on_{on}", of, tracing.inputs[of] if of is not None else ())
        self.emitted: list[tuple[str, Mapping[str, Any]]] = []
        self._steps, self._at, self._past = steps, 0, past
        self._names = {_NAMES[one]: Recorded(begin, one) for one in begin.values}
        self._chain = (0, 0, -1)

    def shown(self, column: Column) -> str | None:
        """The value of a column, for a debugger: headrace itself asks for the text alone."""
        if ours(sys._getframe(3).f_code.co_filename):
            return None
        try:
            return repr(self._past.value(column._expression.text, self._names))
        except Exception:
            return None  # a text of another handler, or one that fails

    def ended(self) -> None:
        """Raise unless all steps were taken."""
        if self._at < len(self._steps):
            raise self._differs(self._steps[self._at].point.what)

    def record(self, statement: Statement) -> None:
        if _caller() in _PROMPT:
            raise ProgramError(
                "OUTSIDE_HANDLER",
                "in a replay, cells are read and changed by the handler alone",
                hint="print a name that holds what the handler has read: p wins",
                site=here(),
            )
        step = self._next(statement.do)
        taken = step.point.statement
        if any(getattr(taken, name, None) != getattr(statement, name, None) for name in ("cell", "output")):
            raise self._differs(statement.do)
        match statement:
            case Read(local=local) | Let(local=local):
                self._names[local] = Recorded(step, VALUE)
            case Emit(output=output, row=row):
                values = self._past.row(dict(row), self._names, step)
                if values != step.values[VALUE]:
                    raise self._differs(f"it emits {row_text(values)}")
                self.emitted.append((output, values))

    def enter(self, opened: Unentered) -> None:
        raise ProgramError(
            "NO_SOURCE",
            f"{self.handler} opens a branch or a loop that is not written in its `with` statement",
            hint="write it there, `with hr.when(...):`, to run the handler in a debugger",
            site=here(),
        )

    def iterated(self, opened: Unentered) -> Iterator[Any]:
        self.unentered.pop(id(opened), None)
        return self._entries(opened) if isinstance(opened, Loop) else self._taken(opened)

    def _taken(self, branch: Unentered) -> Iterator[tuple[()]]:
        """Yield once if a branch is taken."""
        assert isinstance(branch, Branch)
        taken, number, at = self._chain
        if branch.word == "when" or (branch.word == "elsewhen" and at != self._at):
            # an `elsewhen` whose condition reads cells begins a chain of its own
            taken, number = self._next(BRANCH).point.branch or 0, 0
        else:
            number += 1
        self._chain = (taken, number, self._at)
        if taken == number:
            yield ()

    def _entries(self, loop: Loop) -> Iterator[Entry]:
        while self._at < len(self._steps) and self._steps[self._at].point.what == ENTRY:
            step, it = self._next(ENTRY), self.numbered("it")
            self._names |= {f"{it}.{part}": Recorded(step, part) for part in step.values}
            self.loops.append((loop.cell, it))
            yield Entry(self, loop.cell, it, "key" in step.values)
            self.loops.pop()
        self._next(END)

    def _next(self, what: str) -> Step:
        if self._at == len(self._steps) or self._steps[self._at].point.what != what:
            raise self._differs(what)
        self._at += 1
        return self._steps[self._at - 1]

    def _differs(self, what: str) -> ProgramError:
        return ProgramError(
            "HANDLER_FAILED",
            f"{self.handler} of {self.program} takes another way than it did in the job: {what}",
            hint="a handler depends only on its row, its cells and the parameters of the program; reload it if its file has changed",
            site=here(),
        )


def _caller() -> str:
    """The file of the code that called headrace."""
    frame = sys._getframe(1)
    while frame.f_back is not None and ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename
