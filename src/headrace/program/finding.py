"""Mistakes in a function's source: the message of each, with its line and hint."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from headrace.program.names import CELL, ROW

Written = Callable[[ast.AST], str]
_SHORT = 60


class Finding(NamedTuple):
    """One mistake."""

    line: int
    code: str
    message: str
    hint: str


def leaves(word: str, branch: str, node: ast.AST) -> Finding:
    """`return`, `raise` and the like under a branch."""
    inside = f"`{word}` inside a `with hr.{branch}(...)`"
    if word == "yield":
        message = f"{inside} would silently put the caller's next statements under the condition"
        hint = "return the condition, and let the caller open the branch: `with hr.when(self.is_large(e)):`"
    elif word == "raise":
        message = f"{inside} would run once, when the program is traced, whether or not the condition holds"
        hint = "send invalid rows to an output of their own, wrong = hr.Output() and self.wrong.emit(e); check parameters in __init__"
    elif branch == "each":
        message = f"{inside} would run once, when the program is traced, not for a single entry"
        hint = "put statements for some entries only under `with hr.when(...)`"
    else:
        message = f"{inside} would end the handler for every row, not only where the condition holds"
        hint = "put the statements after it under `with hr.otherwise():`"
    return Finding(_line(node), "LEAVES_WHEN", message, hint)


def tries(branch: str, line: int) -> Finding:
    """`try` under a branch, or around one."""
    return Finding(
        line,
        "TRY_IN_HANDLER",
        f"`try` combined with `with hr.{branch}(...)` catches errors while the program is traced, never errors of a row",
        "if an expression may fail for a row, use a function that returns null: hr.f.try_divide(a, b), hr.f.try_to_number(text, format); "
        "rows that fail go to the dead letters",
    )


def matches(subject: str, node: ast.AST) -> Finding:
    """`match` on a traced value."""
    return Finding(
        _line(node),
        "TRACED_BOOL",
        f"`match {subject}` is evaluated once, when the program is traced, but `{subject}` has a value only when the job runs",
        f"write the cases as branches: `with hr.when({subject} == 1):`, `with hr.elsewhen(...):`, `with hr.otherwise():`; "
        "for a value use hr.case",
    )


def identity(of: str, kind: str, to: object, negated: bool, written: str, node: ast.AST, line: ast.AST) -> Finding:
    """`x is None` and the like on a traced value."""
    message = f"`{written}` is evaluated once, when the program is traced: it is {'true' if negated else 'false'} for every row"
    held = of if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"({of})"
    if kind.startswith(CELL):
        held += kind.removeprefix(CELL)
    if to is None and kind == ROW:
        hint = f"a row always exists; test one of its columns: {held}.<column>.is_{'not_' if negated else ''}null()"
    elif to is None:
        hint = f"use {held}.is_{'not_' if negated else ''}null()"
    elif isinstance(to, bool):
        hint = f"use the condition itself: {held if to is not negated else '~' + held}"
    else:
        hint = f"use {held} {'!=' if negated else '=='} {to!r}"
    return Finding(_line(line), "NULL_COMPARISON" if to is None else "TRACED_BOOL", message, hint)


def binds_outer(name: str, word: str, branch: str, by: ast.AST) -> Finding:
    """A global or nonlocal name that a branch binds."""
    return Finding(
        _line(by),
        "NAME_FROM_WHEN",
        f"`{name}` is {word} and bound inside a `with hr.{branch}(...)`: Python binds it once, for every row, whether or not the "
        "condition holds",
        f"to keep a value across calls, use a cell: {name} = hr.Value(...) in the class, self.{name}.set(...); within one call: "
        f"{name} = hr.let(...)",
    )


def from_branch(
    name: str, by: ast.AST, before: str | None, branch: str, opened: ast.withitem | None, use: ast.AST, written: Written
) -> Finding:
    """A name that a branch binds, used outside the branch."""
    message = (
        f"`{name}` is used outside the `with hr.{branch}(...)` where `{_binding(by, name, written)}` binds it: Python binds it once, "
        "for every row, whether or not the condition holds"
    )
    value = _value(by, written)
    if value is None:
        hint = f"bind `{name}` before the `with`, or use it only inside"
        return Finding(_line(use), "NAME_FROM_WHEN", message, hint)
    first = before or 'None, "<type>"'
    new = f"{name}.get() {value}" if isinstance(by, ast.AugAssign) else value
    hint = f"a local has a value for each row: `{name} = hr.let({first})` before the `with`, `{name}.set({new})` in it, `{name}.get()` here"
    condition = _condition(opened, written)
    if condition is not None:
        whole = f"{name} {value}" if isinstance(by, ast.AugAssign) else value
        otherwise = name if isinstance(by, ast.AugAssign) else before or "None"
        hint += f"\nor without a branch: {name} = hr.case(({condition}, {whole}), otherwise={otherwise})"
    return Finding(_line(use), "NAME_FROM_WHEN", message, hint)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _binding(by: ast.AST, name: str, written: Written) -> str:
    """Returns the statement that binds a name, shortened to one line."""
    match by:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return f"def {name}"
        case ast.ClassDef():
            return f"class {name}"
        case ast.For() | ast.AsyncFor():
            return f"for {written(by.target)} in {_short(written(by.iter))}"
        case ast.With() | ast.AsyncWith():
            return f"with ... as {name}"
        case ast.Match():
            return f"match {_short(written(by.subject))}"
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.NamedExpr() | ast.Import() | ast.ImportFrom():
            whole = written(by)
            return whole if _short(whole) == whole else f"{name} = ..."
    return name


def _value(by: ast.AST, written: Written) -> str | None:
    """Returns the value that an assignment binds, or the operator and value of an augmented assignment."""
    match by:
        case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.NamedExpr(value=value):
            return _short(written(value))
        case ast.AugAssign(op=op, value=value):
            sign = ast.unparse(ast.BinOp(ast.Name("x"), op, ast.Name("x"))).split()[1]
            return f"{sign} {_short(written(value))}"
    return None


def _condition(opened: ast.withitem | None, written: Written) -> str | None:
    """Returns the condition of a `when` if it is short enough to repeat in a hint."""
    match opened:
        case ast.withitem(context_expr=ast.Call(func=ast.Attribute(attr="when") | ast.Name(id="when"), args=[condition])):
            text = written(condition)
            return text if _short(text) == text else None
    return None


def _short(text: str) -> str:
    return text if len(text) <= _SHORT and "\n" not in text else "..."
