"""when, elsewhen, otherwise: the branches of a handler."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from types import CodeType, TracebackType
from typing import NoReturn

from headrace.errors import ProgramError, Site, here, ours
from headrace.expr import Column, of_text, of_value
from headrace.program.cell import Cell
from headrace.program.recording import Block, Chain, Recording, recording
from headrace.program.row import Row
from headrace.program.statement import Read

_WORDS = ("when", "elsewhen", "otherwise")


def when(condition: Column | str | bool) -> Branch:
    """What follows happens for rows that meet the condition.

    >>> import headrace as hr
    >>> class Sizes(hr.Program):
    ...     def on_event(self, e):
    ...         with hr.when(e.amount > 500):
    ...             hr.emit(card=self.key.card, size="large")
    ...         with hr.elsewhen(e.amount > 100):
    ...             hr.emit(card=self.key.card, size="middle")
    ...         with hr.otherwise():
    ...             hr.emit(card=self.key.card, size="small")

    A null condition is not met. A text is Spark SQL: `hr.when("e.amount > 500")`.
    """
    return Branch("when", condition)


def elsewhen(condition: Column | str | bool) -> Branch:
    """What follows happens if no branch before it was taken and the condition is met. Cells in the condition are read only then."""
    return Branch("elsewhen", condition)


def otherwise() -> Branch:
    """What follows happens if no branch before it was taken."""
    return Branch("otherwise", None)


class Branch:
    """One branch, which only a `with` statement opens."""

    def __init__(self, word: str, condition: Column | str | bool | None) -> None:
        self._word = word
        self._site = here()
        self._recording: Recording = recording(f"hr.{word}")
        if isinstance(condition, Cell | Row):
            raise condition._has_no_literal()
        self._condition = None if word == "otherwise" else of_text(condition) if isinstance(condition, str) else of_value(condition)
        self._recording.unentered[id(self)] = self

    def __bool__(self) -> NoReturn:
        raise self.without_with()

    def __enter__(self) -> None:
        current = self._recording
        if current.unentered.pop(id(self), None) is None:
            raise self.without_with()
        _refuse_leaving()
        self._outer = current.block
        self._chain = Chain(self._outer, self._site) if self._word == "when" else self._followed()
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
        if self._word == "when":
            self._outer.statements.append(self._chain)
        self._chain.branches.append((self._text, body))
        self._chain.closed = self._word == "otherwise"

    def without_with(self) -> ProgramError:
        """What is said of a branch that no `with` statement opened."""
        argument = "" if self._word == "otherwise" else "..."
        return ProgramError(
            "WHEN_WITHOUT_WITH",
            f"hr.{self._word} is written without `with`, or used twice, so it would do nothing",
            hint=f"with hr.{self._word}({argument}): and what it governs indented below",
            site=self._site,
        )

    def _followed(self) -> Chain:
        """The chain of branches that stands directly before this one."""
        statements = self._outer.statements
        end = len(statements)
        if self._word == "elsewhen":  # its own condition may have read cells
            while end and isinstance(statements[end - 1], Read):
                end -= 1
        chain = statements[end - 1] if end else None
        if not isinstance(chain, Chain) or chain.last.closed:
            last = "an `otherwise`" if isinstance(chain, Chain) else f"`{chain.do}`" if chain else "nothing"
            raise ProgramError(
                "WHEN_EXPECTED",
                f"hr.{self._word} follows a `with hr.when(...)` or `with hr.elsewhen(...)` of the same block directly, and here "
                f"{last} stands before it",
                hint=f"move {'the read' if isinstance(chain, Read) else 'what stands between'} before the `when`"
                if any(isinstance(statement, Chain) and not statement.last.closed for statement in statements)
                else "begin with `with hr.when(...)`",
                site=self._site,
            )
        chain = chain.last
        if end == len(statements):
            return chain
        # What the condition reads is read only if no branch before was taken: the chain goes on inside an `otherwise`.
        rest = Block(chain.block)
        for read in statements[end:]:
            assert isinstance(read, Read)
            rest.statements.append(read)
            self._recording.locals[read.local] = replace(self._recording.locals[read.local], block=rest)
        del statements[end:]
        inner = Chain(rest, self._site)
        rest.statements.append(inner)
        chain.branches.append((None, rest))
        chain.inner = inner
        return inner


def _refuse_leaving() -> None:
    """Refuses `return`, `break` and `continue` in the branch about to be opened: Python would do them while tracing, for every row."""
    frame = sys._getframe(1)
    while frame.f_back is not None and ours(frame.f_code.co_filename):
        frame = frame.f_back
    for line, word in _leaving(frame.f_code):
        file = frame.f_code.co_filename
        raise ProgramError(
            "LEAVES_WHEN",
            f"`{word}` inside a `with hr.when(...)` would end the handler for every row, not only where the condition is met",
            hint="put what follows into `with hr.otherwise():`",
            site=Site(file, line, linecache.getline(file, line, frame.f_globals).strip()),
        )


@lru_cache(maxsize=1024)
def _leaving(code: CodeType) -> tuple[tuple[int, str], ...]:
    """Lines and words of the statements that leave a branch in the source of a function; nothing where there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return ()
    found = tuple(_leaves(tree, branch=False, loop=False))
    return tuple((code.co_firstlineno + line - 1, word) for line, word in found)


def _leaves(node: ast.AST, *, branch: bool, loop: bool) -> Iterator[tuple[int, str]]:
    """`branch`: a when is open; `loop`: a loop was begun in it, whose `break` and `continue` are its own."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return) and branch:
            yield child.lineno, "return"
        elif isinstance(child, ast.Break | ast.Continue) and branch and not loop:
            yield child.lineno, type(child).__name__.lower()
        elif isinstance(child, ast.With) and any(_is_branch(item.context_expr) for item in child.items):
            yield from _leaves(child, branch=True, loop=False)
        elif isinstance(child, ast.For | ast.While):
            yield from _leaves(child, branch=branch, loop=True)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef) and not isinstance(node, ast.Module):
            continue  # a function of its own, which is looked at when it opens a branch
        else:
            yield from _leaves(child, branch=branch, loop=loop)


def _is_branch(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return node.func.attr in _WORDS if isinstance(node.func, ast.Attribute) else isinstance(node.func, ast.Name) and node.func.id in _WORDS
