"""A handler that runs once more in Python, over the steps that were recorded when it ran for a row or a timer.

The handler is the user's own function, so a debugger stops at its lines. What it reads, which branches it takes and which entries a loop
reaches come from the recording. A column shows its value: its text, evaluated over what was recorded.
"""

from __future__ import annotations

import sys
from bdb import BdbQuit
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from headrace.errors import ProgramError, here, ours
from headrace.expr import Column, shown_as
from headrace.program.branching import branching
from headrace.program.control import Branch
from headrace.program.each import Entry, Loop
from headrace.program.recording import NOW, TIMER_KEY, WATERMARK, Origin, Recording, Unentered, recorded
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
        steady: Whether an expression has the same value when it is evaluated again.
    """

    def __init__(self, tracing: Tracing, past: Past, *, steady: bool = True) -> None:
        self._tracing, self._past, self._steady = tracing, past, steady

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Let the program's functions branch, until the end."""
        with branching(self._tracing.opening):
            yield

    def run(self, call: Sequence[Step], through: Callable[..., object]) -> None:
        """Run a handler over the steps of a call. Raises HANDLER_FAILED if it does or emits something else, BdbQuit if it was left.

        Args:
            call: The steps, the begin of the handler first.
            through: Called with the handler and its arguments, such as `pdb.runcall`.
        """
        begin = call[0]
        recording = _Rerun(self._tracing, call, self._past, self._steady)
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


@dataclass
class _Chain:
    """A `when` and its later branches. `taken`: the number of the branch that was taken; `number`: that of the one reached; `at`: the step
    behind it. `is_over`: one has run.
    """

    taken: int
    number: int = 0
    at: int = -1
    is_over: bool = False


class _Rerun(Recording):
    def __init__(self, tracing: Tracing, call: Sequence[Step], past: Past, steady: bool) -> None:
        begin, *steps = call
        on = begin.point.on
        of = None if begin.row is None else EVENT if on == LATE else on
        super().__init__(tracing.frame, f"on_{on}", of, tracing.inputs[of] if of is not None else ())
        self._steps, self._at, self._past, self._steady = steps, 0, past, steady
        self._names = {_NAMES[one]: Recorded(begin, one) for one in begin.values}
        self._chain = _Chain(-1)

    def shown(self, column: Column) -> str | None:
        """The value of a column, for a debugger: headrace itself asks for the text alone."""
        if ours(sys._getframe(3).f_code.co_filename):
            return None
        try:
            return repr(self._past.value(column._expression.text, self._names))
        except Exception:
            return None  # a text of another handler, or one that fails

    def ended(self) -> None:
        """Raise unless all steps were taken: a debugger ends the handler if its user leaves it."""
        if self._at < len(self._steps):
            raise BdbQuit

    def record(self, statement: Statement) -> None:
        if _caller() in _PROMPT:
            raise ProgramError(
                "OUTSIDE_HANDLER",
                "in a replay, cells are read and changed by the handler alone",
                hint="print a name that holds what the handler has read: p wins",
                site=here(),
            )
        if isinstance(statement, Read) and self._chain.is_over and not self._is_next(statement):
            return  # for the condition of an `elsewhen` after a branch that was taken: the job has not read it
        if not self._is_next(statement):
            raise self._differs(statement.do)
        step = self._next(statement.do)
        match statement:
            case Read(local=local) | Let(local=local):
                self._names[local] = Recorded(step, VALUE)
            case Emit(row=row) if self._steady:
                values = self._past.row(dict(row), self._names, step)
                if values != step.values[VALUE]:
                    raise self._differs(f"it emits {row_text(values)}")

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
        chain = self._chain
        if branch.word != "when" and chain.is_over:
            return
        if branch.word == "when" or (branch.word == "elsewhen" and chain.at != self._at):
            # an `elsewhen` whose condition reads cells begins a chain of its own
            chain = _Chain(self._next(BRANCH).point.branch or 0)
        else:
            chain.number += 1
        chain.at, self._chain = self._at, chain
        if chain.taken == chain.number:
            try:
                yield ()
            finally:
                # branches inside have had chains of their own
                chain.is_over, self._chain = True, chain

    def _entries(self, loop: Loop) -> Iterator[Entry]:
        while self._at < len(self._steps) and self._steps[self._at].point.what == ENTRY:
            step, it = self._next(ENTRY), self.numbered("it")
            for part in step.values:
                self._names[f"{it}.{part}"] = Recorded(step, part)
                self.locals[f"{it}.{part}"] = Origin(self.block, "", "")
            self.loops.append((loop.cell, it))
            yield Entry(self, loop.cell, it, "key" in step.values)
            self.loops.pop()
        self._next(END)

    def _is_next(self, statement: Statement) -> bool:
        """Whether the next step is that of a statement."""
        taken = self._steps[self._at].point if self._at < len(self._steps) else None
        same = (getattr(taken and taken.statement, name, None) == getattr(statement, name, None) for name in ("cell", "output"))
        return taken is not None and taken.what == statement.do and all(same)

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
