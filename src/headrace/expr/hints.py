"""Hints for operations of Python that a column refuses, written with the expression at that place in the user's file."""

from __future__ import annotations

import ast
import linecache
import sys
from functools import lru_cache
from typing import Any, NamedTuple

from headrace.errors import ours

_DECIDES = "in a program use `with hr.when(...)` instead of `if`; for a conditional value use hr.case((condition, value), otherwise=value)"
_REPEATS = "loop over a list or map with `with hr.each(...)`; for a condition use `with hr.when(...)`"
_ENTRIES = (
    "loop over a list or map with `with hr.each(self.xs) as it:`; for one item of an array use [0]; "
    'for a row per item, .explode("xs").key_by(...) before the program'
)
_SHORT = 100


class Parsed(NamedTuple):
    """A file of the user's, parsed."""

    text: str
    tree: ast.Module


def parsed(file: str, names: dict[str, Any]) -> Parsed | None:
    """Returns the source of a file, a notebook's cell or a REPL's input; None if there is none. `names` are the module's globals.

    A text is parsed once, until it changes.
    """
    linecache.checkcache(file)
    return _parse("".join(linecache.getlines(file, names)))


@lru_cache(maxsize=16)
def _parse(text: str) -> Parsed | None:
    try:
        return Parsed(text, ast.parse(text)) if text else None
    except (SyntaxError, ValueError):
        return None


def cure() -> str:
    """Returns the hint for the expression that is asking a column for a truth value."""
    text, around = _place()
    for node in around:
        hint = _cure_of(node, text)
        if hint is not None:
            return hint
    return _DECIDES


def loop_cure(in_program: bool) -> str:
    """Returns the hint for the call or loop that is asking a column for its items."""
    text, around = _place()
    if around and isinstance(around[0], ast.Call) and isinstance(around[0].func, ast.Name) and len(around[0].args) == 1:
        of = _written(around[0].args[0], text)
        match around[0].func.id:
            case "sum":
                return f'use hr.expr("aggregate({of}, 0, (total, x) -> total + x)"), or keep a total in a cell'
            case "min" | "max" as name:
                return f"use hr.f.array_{name}({of})"
            case "sorted":
                return f"use hr.f.array_sort({of})"
    return _ENTRIES if in_program else 'for one item use hr.col("xs")[0]; for a row per item, .explode("xs")'


def _place() -> tuple[str, list[ast.AST]]:
    """Returns the source of the user's file, the node being evaluated there and its parent; empty if Python cannot tell."""
    frame = sys._getframe(1)
    while frame.f_back is not None and ours(frame.f_code.co_filename):
        frame = frame.f_back
    source = parsed(frame.f_code.co_filename, frame.f_globals)
    place = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if source is None or None in place:
        return "", []
    line, end_line, column, end_column = place
    extent = (line, column, end_line, end_column)
    outside = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
    around: list[ast.AST] = [node for node in outside if _extent(node) == extent][-1:]
    if around and around[0] in outside:
        around.append(outside[around[0]])
    return source.text, around


def _extent(node: ast.AST) -> tuple[int | None, ...]:
    return tuple(getattr(node, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))


def _cure_of(node: ast.AST, text: str) -> str | None:
    match node:
        case ast.While(test=test):
            return _cure_of(test, text) or _REPEATS
        case ast.If(test=test) | ast.IfExp(test=test):
            return _cure_of(test, text)
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            example = _short(_rewritten(node, text), "(x > 1) & ~(y == 2)")
            return f"instead of `and`, `or`, `not` use &, |, ~ with parentheses around comparisons: {example}"
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[among]):
            items = among.elts if isinstance(among, ast.Tuple | ast.List | ast.Set) else [among]
            sign = "~" if isinstance(op, ast.NotIn) else ""
            call = f"{sign}{_held(left, text)}.is_in({', '.join(_written(item, text) for item in items)})"
            return f"instead of `in` use {_short(call, '.is_in(...)')}"
        case ast.Compare(left=left, comparators=[middle, last], ops=ops):
            terms = [_written(term, text) for term in (left, middle, last)]
            pairs = f"({terms[0]} {_sign(ops[0])} {terms[1]}) & ({terms[1]} {_sign(ops[1])} {terms[2]})"
            between = f"{_held(middle, text)}.between({terms[0]}, {terms[2]}), or " if all(isinstance(op, ast.LtE) for op in ops) else ""
            return f"a chained comparison needs a truth value: use {_short(between + pairs, '(1 < x) & (x < 5), or x.between(1, 5)')}"
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=arguments):
            function = "least" if name == "min" else "greatest"
            several = arguments[0].elts if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List) else arguments
            call = f"hr.f.{function}({', '.join(_written(item, text) for item in several)})"
            return f"instead of `{name}` use {_short(call, f'hr.f.{function}(...)')}"
        case ast.Call(func=ast.Name(id="sorted")):
            return "instead of `sorted` use hr.f.array_sort(hr.f.array(...)), and take its items with [0], [1]"
        case ast.Call(func=ast.Name(id="any" | "all" as name)):
            sign = "|" if name == "any" else "&"
            return f"instead of `{name}` join the conditions with {sign}: (x > 1) {sign} (y == 2)"
    return None


def _rewritten(node: ast.AST, text: str) -> str:
    """Returns a condition with &, | and ~ in place of `and`, `or` and `not`."""
    match node:
        case ast.BoolOp(op=op, values=values):
            return (" & " if isinstance(op, ast.And) else " | ").join(_rewritten(value, text) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"~{_rewritten(operand, text)}"
    assert isinstance(node, ast.expr)
    return _held(node, text)


def _held(node: ast.expr, text: str) -> str:
    """Returns an operand, in parentheses if it needs them."""
    written = _written(node, text)
    return written if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant) else f"({written})"


def _written(node: ast.AST, text: str) -> str:
    return ast.get_source_segment(text, node) or "..."


def _sign(op: ast.cmpop) -> str:
    signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
    return signs.get(type(op), "==")


def _short(written: str, otherwise: str) -> str:
    return written if len(written) <= _SHORT and "\n" not in written else otherwise
