"""when, elsewhen, otherwise: the branches of a handler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import NoReturn

from headrace.errors import ProgramError, here
from headrace.expr import Column, of_text, of_value
from headrace.program.cell import Cell
from headrace.program.recording import Block, Chain, Recording, recording
from headrace.program.row import Row
from headrace.program.source import check_branch
from headrace.program.statement import Read


def when(condition: Column | str | bool) -> Branch:
    """Opens a branch: the block under `with` runs for rows that meet the condition.

    Args:
        condition: A column of the handler, a Python bool, or a Spark SQL text such as `"e.amount > 500"`. Null counts as false. In the text
            `e` is the row, whatever the handler's parameter is called, and `key` the key; cells cannot be used.

    Raises:
        ProgramError: `OUTSIDE_HANDLER` outside a handler; `WHEN_WITHOUT_WITH` without `with`; `CELL_OPERATOR` or `ROW_OPERATOR` for a cell
            or a row as condition; `STALE_VALUE` or `OUT_OF_SCOPE` for a column used outside the handler or block in which it was created.
            `process` raises `LEAVES_WHEN` for `return` or `break` in the block, `NAME_FROM_WHEN` for a name bound in it and used after it,
            and `TRY_IN_HANDLER` for `try`: they would apply to every row.
        PlanError: `WRONG_TYPE`, raised by `hr.job`, for a condition that is not boolean; `UNKNOWN_COLUMN`.

    Examples:
        >>> import headrace as hr
        >>> class Sizes(hr.Program):
        ...     def on_event(self, e):
        ...         with hr.when(e.amount > 500):
        ...             hr.emit(card=self.key.card, size="large")
        ...         with hr.elsewhen("e.amount > 100"):
        ...             hr.emit(card=self.key.card, size="medium")
        ...         with hr.otherwise():
        ...             hr.emit(card=self.key.card, size="small")
        >>> charges = hr.read.memory([("a", 7), ("b", 300), ("c", 900)], "card string, amount int", name="charges")
        >>> sorted(hr.collect(charges.key_by("card").process(Sizes)).rows())
        [('a', 'small'), ('b', 'medium'), ('c', 'large')]
    """
    return Branch("when", condition)


def elsewhen(condition: Column | str | bool) -> Branch:
    """Opens a branch after a `when`: the block runs for rows that took no earlier branch and meet the condition.

    Cells in the condition are read only for these rows.

    Args:
        condition: As for `hr.when`.

    Raises:
        ProgramError: `WHEN_EXPECTED` if it does not directly follow a `when` or `elsewhen` of the same block; else as for `hr.when`.
        PlanError: As for `hr.when`.

    Examples:
        >>> import headrace as hr
        >>> class Wins(hr.Program):
        ...     wins = hr.Value("int", default=0)
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.won):
        ...             self.wins.set(self.wins.get() + 1)
        ...         with hr.elsewhen(self.wins.get() > 0):
        ...             hr.emit(player=self.key.player, wins=self.wins.get())
        >>> games = hr.read.memory([("ann", 1, True), ("ann", 2, False)], "player string, round int, won boolean", name="games")
        >>> hr.collect(games.key_by("player").process(Wins)).rows()
        [('ann', 1)]
    """
    return Branch("elsewhen", condition)


def otherwise() -> Branch:
    """Opens the last branch after a `when`: the block runs for rows that took no earlier branch.

    Raises:
        ProgramError: `WHEN_EXPECTED` if it does not directly follow a `when` or `elsewhen` of the same block, `WHEN_WITHOUT_WITH` without
            `with`, `OUTSIDE_HANDLER` outside a handler.

    Examples:
        >>> import headrace as hr
        >>> class Split(hr.Program):
        ...     small = hr.Output()
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.amount > 500):
        ...             hr.emit(e)
        ...         with hr.otherwise():
        ...             self.small.emit(e)
        >>> charges = hr.read.memory([("a", 7), ("b", 900)], "card string, amount int", name="charges")
        >>> hr.collect(charges.key_by("card").process(Split).output("small")).rows()
        [('a', 7)]
    """
    return Branch("otherwise", None)


class Branch:
    """One branch, opened only by a `with` statement."""

    def __init__(self, word: str, condition: Column | str | bool | None) -> None:
        self.word = word
        self._site = here()
        self._recording: Recording = recording(f"hr.{word}")
        if isinstance(condition, Cell | Row):
            raise condition._has_no_literal()
        self._condition = None if word == "otherwise" else of_text(condition) if isinstance(condition, str) else of_value(condition)
        self._recording.unentered[id(self)] = self

    def __bool__(self) -> NoReturn:
        raise self.without_with()

    def __iter__(self) -> Iterator[object]:
        return self._recording.iterated(self)

    def __enter__(self) -> None:
        current = self._recording
        current.enter(self)
        if not check_branch(current):
            raise self.without_with()
        self._outer = current.block
        self._chain = Chain(self._outer, self._site) if self.word == "when" else self._followed()
        current.block = self._chain.block
        try:
            self._text = None if self._condition is None else current.text(self._condition)
        finally:
            current.block = self._outer
        current.block = Block(self._chain.block)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        body, self._recording.block = self._recording.block, self._outer
        if error is not None:
            return
        if self.word == "when":
            self._outer.statements.append(self._chain)
        self._chain.branches.append((self._text, body, self._site))
        self._chain.closed = self.word == "otherwise"

    def without_with(self) -> ProgramError:
        """The error for a branch that no `with` statement opened."""
        argument = "" if self.word == "otherwise" else "..."
        return ProgramError(
            "WHEN_WITHOUT_WITH",
            f"hr.{self.word} is used without `with`, or twice, so it has no effect",
            hint=f"write `with hr.{self.word}({argument}):` and indent its statements",
            site=self._site,
        )

    def _followed(self) -> Chain:
        """The chain of branches that this one continues."""
        statements = self._outer.statements
        end = len(statements)
        if self.word == "elsewhen":  # skips the reads of its own condition
            while end and isinstance(statements[end - 1], Read):
                end -= 1
        chain = statements[end - 1] if end else None
        if not isinstance(chain, Chain) or chain.last.closed:
            last = "an `otherwise`" if isinstance(chain, Chain) else f"`{chain.do}`" if chain else "nothing"
            raise ProgramError(
                "WHEN_EXPECTED",
                f"hr.{self.word} must directly follow a `with hr.when(...)` or `with hr.elsewhen(...)` of the same block, but "
                f"{last} precedes it",
                hint=f"move {'the read' if isinstance(chain, Read) else 'the intervening statements'} before the `when`"
                if any(isinstance(statement, Chain) and not statement.last.closed for statement in statements)
                else "begin with `with hr.when(...)`",
                site=self._site,
            )
        chain = chain.last
        if end == len(statements):
            return chain
        # The condition's reads run only if no earlier branch was taken, so the chain continues inside an `otherwise`.
        rest = Block(chain.block)
        for read in statements[end:]:
            assert isinstance(read, Read)
            rest.statements.append(read)
            self._recording.locals[read.local] = replace(self._recording.locals[read.local], block=rest)
        del statements[end:]
        inner = Chain(rest, self._site)
        rest.statements.append(inner)
        chain.branches.append((None, rest, self._site))
        chain.inner = inner
        return inner
