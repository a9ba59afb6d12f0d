"""The recording of one handler: its blocks, and where its values may be used.

A handler runs once, under a `Recording`. Each value that it receives (the row's columns, the key, the time of a timer, a cell's value) is
a column whose `names` are tokens of this recording, and a column carries the names of the columns it was made from. So the recording
knows where the values of a text come from, and refuses a value that ended with its handler or with its `with hr.when(...)`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from headrace.errors import PlanError, ProgramError, Site, here
from headrace.expr import Column, Expression, in_handler, of_value
from headrace.program.spoken import Spoken
from headrace.program.statement import Append, Clear, Each, Let, Read, Replace, Set, Statement, When
from headrace.spelling import nearest, suggestion
from headrace.syntax import quote, references

if TYPE_CHECKING:
    from headrace.program.cell import Cell

# The precedence of a name, which never needs parentheses (see expr/column.py).
_ATOM = 8
# The names in texts of the epoch's time, its watermark, and the key of the timer that fires.
NOW = "__now"
WATERMARK = "__watermark"
TIMER_KEY = "__timer_key"
# Between a name and the number of its recording; no name in a text looks like this.
_OF = " of "

_numbers = itertools.count(1)
_current: ContextVar[Recording | None] = ContextVar("headrace_recording", default=None)


class Unentered(Protocol):
    """A branch or loop, opened only by a `with` statement."""

    def without_with(self) -> ProgramError:
        """The error if no `with` statement opened it."""


class Block:
    """The statements under one `with`, or of the whole handler."""

    def __init__(self, within: Block | None = None) -> None:
        self.statements: list[Statement | Chain] = []
        self.within = within

    def inside(self, other: Block) -> bool:
        """Returns whether this block is `other` or lies within it."""
        block: Block | None = self
        while block is not None and block is not other:
            block = block.within
        return block is not None

    def frozen(self) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for statement in self.statements:
            if isinstance(statement, Statement):
                statements.append(statement)
            elif statement.branches:
                statements.append(statement.frozen())
        return tuple(statements)


class Chain:
    """A `when` and its later branches, still open for more."""

    def __init__(self, block: Block, site: Site | None) -> None:
        self.block = block
        self.site = site
        self.branches: list[tuple[str | None, Block, Site | None]] = []
        self.closed = False  # by an `otherwise`
        self.inner: Chain | None = None  # its continuation inside its last branch

    @property
    def last(self) -> Chain:
        return self if self.inner is None else self.inner.last

    def frozen(self) -> When:
        sites = tuple(site for _, _, site in self.branches) if len(self.branches) > 1 else None
        return When(tuple((text, body.frozen()) for text, body, _ in self.branches), sites, site=self.site)


@dataclass(frozen=True)
class Origin:
    """The block in which a local lives, and the message and hint for a use outside that block."""

    block: Block
    message: str
    hint: str


@dataclass(frozen=True)
class Emitted:
    """The columns of an output, in the order of its first emit."""

    columns: tuple[str, ...]
    site: Site | None


@dataclass(frozen=True)
class Frame:
    """The facts that all handlers of one program share while it is traced."""

    program: str
    key: tuple[str, ...]
    shared: frozenset[str]  # the names of the cells that all keys read
    cells: dict[int, str]  # the attributes that hold cells and outputs, by the `id` of the object
    outputs: dict[str, Emitted]
    timers: frozenset[str] = frozenset()  # the names of its timers


class Recording:
    """The recording of one handler while it runs."""

    def __init__(self, frame: Frame, handler: str, input: str | None, columns: tuple[str, ...], broadcast: bool = False) -> None:
        self.frame = frame
        self.broadcast = broadcast  # whether the handler is for rows that go to all keys
        self.handler = handler
        self.input = input
        self.columns = columns
        self.number = next(_numbers)
        self.block = Block()
        self.locals: dict[str, Origin] = {}
        self.numbers: dict[str, int] = {}  # of locals so far, by the names they are derived from
        self.named: list[Statement] = []  # the statements that make locals
        self.loops: list[tuple[str, str]] = []  # the open loops: the cell and the name of the entry
        self.unentered: dict[int, Unentered] = {}  # `hr.when(...)` and `hr.each(...)` that no `with` has entered yet
        self.read_sources: dict[CodeType, frozenset[int]] = {}  # functions that were checked, and the lines where they open a branch

    @property
    def program(self) -> str:
        return self.frame.program

    @property
    def spoken(self) -> Spoken:
        """The locals made so far, in the user's words."""
        return Spoken(self.named, self.frame.timers, tuple(self.frame.cells.values()))

    def enter(self, opened: Unentered) -> None:
        """Called when a `with` statement opens a branch or a loop."""
        if self.unentered.pop(id(opened), None) is None:
            raise opened.without_with()

    def iterated(self, opened: Unentered) -> Iterator[Any]:
        """A branch or a loop as an iterable: only a handler that is run once more takes it for one (`rerun.py`)."""
        raise opened.without_with()

    def record(self, statement: Statement) -> None:
        if isinstance(statement, Read | Each | Let):
            self.named.append(statement)
        of = {it: cell for cell, it in self.loops}
        cell = of.get(statement.it) if isinstance(statement, Replace) else getattr(statement, "cell", None)
        if cell in self.frame.shared and not self.broadcast and not isinstance(statement, Read | Each):
            raise broadcast_use(
                f"`{cell}` is shared by all keys, but {self.handler} runs for one key",
                "write it in the handler of a broadcast input: .process(P, rules=hr.broadcast(stream)), on_rules",
            )
        if isinstance(statement, Set | Clear | Append) and any(cell == statement.cell for cell, _ in self.loops):
            raise changed_in_loop(statement.cell)
        self.block.statements.append(statement)

    def value(self, text: str, name: str) -> Column:
        """Returns a column that lives as long as this handler."""
        return Column(Expression(text, (f"{name}{_OF}{self.handler}#{self.number}",), here()), _ATOM)

    def numbered(self, name: str) -> str:
        """Returns a unique name for a local."""
        count = self.numbers[name] = self.numbers.get(name, 0) + 1
        return f"{name}__{count}"

    def read(self, cell: str, what: str = "value", key: Any = None) -> Column:
        """Records a read of a cell. The returned column lives as long as the current block."""
        text = None if key is None else self.text(key)
        local = self.numbered(cell)
        message = f"`{cell}` was read inside a `with hr.when(...)`, but its value is used outside it"
        self.locals[local] = Origin(self.block, message, f"read it before the `with`: value = self.{cell}.get()")
        self.record(Read(local, cell, what, text, site=here()))
        return self.value(quote(local), local)

    def text(self, value: Any) -> str:
        """Returns the text of a value to record, and refuses parts that may not be used here."""
        column = of_value(value)
        if isinstance(value, str) and self._is_column(value):
            warn_of_text(value, value)
        for name in column._expression.names:
            self._admit(name, column)
        if any(_OF not in name for name in column._expression.names):
            self._admit_text(column)
        return column._expression.text

    def _is_column(self, text: str) -> bool:
        """Returns whether a text looks like a column of this handler."""
        row, _, column = text.partition(".")
        has = {"e": self.columns if self.input is not None else (), "key": self.frame.key}.get(row, ())
        return column in has

    def _admit(self, name: str, column: Column) -> None:
        origin, written, handler = name.partition(_OF)
        if not written:
            return
        handler, _, number = handler.partition("#")
        if int(number) != self.number:
            raise ProgramError(
                "STALE_VALUE",
                f"`{column._expression.text}` belongs to {handler}, but is used in {self.handler}",
                hint="a handler can use only its own row and key; keep values across calls in a cell: seen = hr.Value(...)",
                site=here(),
            )
        scope = self.locals.get(origin)
        if scope is not None and not self.block.inside(scope.block):
            raise ProgramError("OUT_OF_SCOPE", scope.message, hint=scope.hint, site=here())

    def _admit_text(self, column: Column) -> None:
        """Checks the names in SQL text that the user wrote, if it can be parsed."""
        for path in references(column._expression.text) or ():
            first = path[0].lower()
            if first == "e" and self.input is not None and len(path) > 1:
                find(path[1], self.columns, f"input `{self.input}` of {self.program}")
            elif first == "key" and len(path) > 1:
                find(path[1], self.frame.key, f"the key of {self.program}")
            elif first not in ("e" if self.input is not None else "at", "key", NOW, WATERMARK) and path[0] not in self.locals:
                row = [f"e.{column}" for column in self.columns] if self.input is not None else ["at"]
                known = [*row, *(f"key.{column}" for column in self.frame.key)]
                meant = f"e.{path[0]}" if f"e.{path[0]}" in known else ".".join(path)
                text = f'; for a literal string write hr.lit("{path[0]}")' if len(path) == 1 and nearest(meant, known, 0.5) is None else ""
                raise PlanError(
                    "UNKNOWN_COLUMN",
                    f"no column `{path[0]}` in {self.handler} of {self.program}",
                    hint=suggestion(meant, known, f"SQL in this handler can use {', '.join(known)}", least=0.5) + text,
                    site=here(),
                )


def find(name: str, columns: tuple[str, ...], owner: str) -> str:
    """Returns the name of a column, compared case-insensitively as Spark does; refuses an unknown one."""
    if name in columns or name.lower() in (column.lower() for column in columns):
        return name
    has = f"it has: {', '.join(columns)}" if columns else "it has none"
    raise PlanError("UNKNOWN_COLUMN", f"no column `{name}` in {owner}", hint=suggestion(name, columns, has), site=here())


def warn_of_text(text: str, column: str) -> None:
    """Warns that a text, which is a literal in a handler, looks like a column."""
    site = here()
    message = f'"{text}" is a string here, not a column; write hr.expr("{column}") for the column, hr.lit("{text}") for the string'
    warnings.warn_explicit(message, UserWarning, site.file if site else "headrace", site.line if site else 0)


def changed_in_loop(cell: str) -> ProgramError:
    """The error for a change to a cell inside a loop over it."""
    return ProgramError(
        "LOOP_CHANGES",
        f"`{cell}` is changed inside a `with hr.each(...)` over its entries",
        hint="in one loop, change the current entry with it.set(...) or it.remove(), or change the cell after the loop",
        site=here(),
    )


def broadcast_use(message: str, hint: str) -> ProgramError:
    """The error where the state of one key and that of all keys are mixed."""
    return ProgramError("BROADCAST_USE", message, hint=hint, site=here())


def recording(what: str) -> Recording:
    """Returns the current recording. Outside a handler it raises an error that names `what`."""
    current = _current.get()
    if current is None:
        raise ProgramError(
            "OUTSIDE_HANDLER",
            f"{what} can be used only in a handler of its program",
            hint="use it in on_event, on_<input>, on_<timer> or on_late, or in a method they call",
            site=here(),
        )
    return current


def is_recording() -> bool:
    return _current.get() is not None


def cell_name(cell: Cell, what: str) -> tuple[Recording, str]:
    """Returns the current recording and the cell's name in its program."""
    current = recording(what)
    name = current.frame.cells.get(id(cell))
    if name is None:
        raise ProgramError(
            "FOREIGN_CELL",
            f"{what} is used in {current.program}, but is not an attribute of it",
            hint=f"declare it in the program: seen = hr.{type(cell).__name__}(...) in the class or in __init__",
            site=here(),
        )
    return current, name


@contextmanager
def recorded(recording: Recording) -> Iterator[None]:
    """Makes a recording the current one for a block, and restores the previous one."""
    token = _current.set(recording)
    traced = in_handler.set(True)
    try:
        yield
    finally:
        in_handler.reset(traced)
        _current.reset(token)
