"""Checks the source of handlers, and of functions that open a branch, for mistakes that tracing cannot see.

A handler is read before it runs. A function that it calls is read when it opens its first branch, since nothing before that can depend on
a condition. A parameter of such a function counts as traced if it received a row, a cell or a column. A parameter that has a default or
is rebound does not count, because there `x is None` is a test of the call.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from headrace.errors import HeadraceError, ProgramError, Site
from headrace.expr import Column, Functions, Parsed, parsed
from headrace.program.cell import Cell
from headrace.program.finding import Finding
from headrace.program.flow import Flow
from headrace.program.names import CELL, FUNCTIONS, HOLDER, LOCAL, MAKER, ROW, TRACED
from headrace.program.program import Program
from headrace.program.recording import Recording
from headrace.program.row import Row

_MAKERS = dict.fromkeys(("case", "col", "expr", "lit", "now", "struct", "watermark"), MAKER) | {"let": LOCAL}


class Source(NamedTuple):
    """The source of a function."""

    node: ast.AST
    text: str  # the whole file


def check_handler(handler: Callable[[Any], object], recording: Recording) -> None:
    """Refuses mistakes in the source of a handler, before it runs."""
    function, bound, takes_row = _innermost(handler)
    place = f"{recording.handler} of {recording.program}"
    code = getattr(function, "__code__", None)
    if code is None:
        raise _no_source(f"the source of {place}, a {type(function).__name__}, cannot be read, so it cannot be checked", None)
    source = source_of(code, function.__globals__, place)
    outer = around(function)
    parameters = _parameters(source.node)
    if bound is not None and parameters:
        outer[parameters.pop(0)] = bound
    kinds = _kinds(source.node, ChainMap(outer, function.__globals__))
    if takes_row and parameters:
        kinds |= dict.fromkeys(parameters[:2], TRACED) if recording.input is None else {parameters[0]: ROW}
    recording.read_sources[code] = _check(source, code, kinds, frozenset())


def check_branch(recording: Recording) -> bool:
    """Refuses mistakes in the source of the function that is opening a branch. Returns False if no `with` statement opens it.

    Only the `__enter__` of a branch or loop may call this: it looks two frames up for the function.
    """
    frame = sys._getframe(2)
    code, line = frame.f_code, frame.f_lineno
    known = recording.read_sources.get(code, frozenset())
    if line in known:
        return True
    source = source_of(code, frame.f_globals, f"the function {code.co_name}")
    kinds = _kinds(source.node, ChainMap(frame.f_locals, frame.f_globals))
    for name in _plain_parameters(source.node):
        if issubclass(type(frame.f_locals.get(name)), Column):
            kinds[name] = TRACED
    for name in set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - set(_plain_parameters(source.node)):
        if kinds.get(name) != HOLDER:
            kinds.pop(name, None)
    recording.read_sources[code] = _check(source, code, kinds, known | {line})
    return line in recording.read_sources[code]


def _check(source: Source, code: CodeType, kinds: Mapping[str, str], opened: frozenset[int]) -> frozenset[int]:
    """Refuses the first mistake in a function. Returns the lines that open a branch."""
    finding, branches = _followed(source, tuple(sorted(kinds.items())), opened)
    if finding is not None:
        text = source.text.split("\n")[finding.line - 1].strip()
        raise HeadraceError(finding.code, finding.message, hint=finding.hint, site=Site(code.co_filename, finding.line, text))
    return branches


@lru_cache(maxsize=1024)
def _followed(source: Source, kinds: tuple[tuple[str, str], ...], opened: frozenset[int]) -> tuple[Finding | None, frozenset[int]]:
    flow = Flow(source.node, kinds, opened, source.text)
    return min(flow.findings, key=lambda finding: finding.line, default=None), frozenset(flow.branches)


# finding the source of a code object


def around(function: Any) -> dict[str, Any]:
    """Returns the values of the names that a function has from the functions around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if _filled(cell)}


def inside(code: CodeType) -> Iterator[CodeType]:
    """Yields the code of the functions in a function, and in these."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from inside(one)


def source_of(code: CodeType, names: dict[str, Any], place: str) -> Source:
    """Returns the source of a code object. `names`: the globals of its module. `place`: what it is, in words."""
    file = parsed(code.co_filename, names)
    if file is None and not linecache.getlines(code.co_filename, names):
        raise _no_source(f"the source of {place} cannot be read, so it cannot be checked", code)
    candidates = (
        [] if file is None else [node for node in _functions(file).get((code.co_firstlineno, code.co_name), []) if _fits(node, code)]
    )
    if len(candidates) > 1:  # several lambdas on one line
        candidates = [node for node in candidates if _spans(node, code)] or candidates
    if file is None or not candidates:
        raise _no_source(f"the source of {place} has changed since it was loaded, so it cannot be checked", code)
    return Source(candidates[-1], file.text)


def _no_source(message: str, code: CodeType | None) -> ProgramError:
    return ProgramError(
        "NO_SOURCE",
        message,
        hint="define the program in a file or notebook, and reload it when the file changes; a plan as JSON (`headrace plan FILE`) "
        "needs no source",
        site=None if code is None else Site(code.co_filename, code.co_firstlineno),
    )


@lru_cache(maxsize=16)
def _functions(file: Parsed) -> dict[tuple[int, str], list[ast.AST]]:
    """Returns the nodes with code objects of their own, by the first line and name of these."""
    nodes: dict[tuple[int, str], list[ast.AST]] = {}
    for node in ast.walk(file.tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                nodes.setdefault((min([node.lineno, *(one.lineno for one in node.decorator_list)]), node.name), []).append(node)
            case ast.Lambda():
                nodes.setdefault((node.lineno, "<lambda>"), []).append(node)
            case ast.Module():
                for first in (0, 1):
                    nodes[first, "<module>"] = [node]
    return nodes


@lru_cache(maxsize=1024)
def _fits(node: ast.AST, code: CodeType) -> bool:
    """Returns whether a code object can come from a node, since the file may have changed after it was loaded."""
    if isinstance(node, ast.Module):
        return True
    count = code.co_argcount + code.co_kwonlyargcount
    arguments = getattr(node, "args", None)
    written = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if isinstance(arguments, ast.arguments) else []
    if [name.arg for name in written if not name.arg.startswith("__")] != [n for n in code.co_varnames[:count] if not n.startswith("_")]:
        return False
    last = getattr(node, "end_lineno", 0)
    if any(line is not None and not code.co_firstlineno <= line <= last for _, _, line in code.co_lines()):
        return False
    if any(name.startswith("@") for name in (*code.co_names, *code.co_varnames)):
        return True  # pytest has rewritten its asserts
    return {name for name in code.co_names if not name.startswith("_")} <= _identifiers(node)


def _identifiers(node: ast.AST) -> set[str]:
    names = set()
    for part in ast.walk(node):
        for field in ("id", "attr", "name", "module", "arg"):
            name = getattr(part, field, None)
            if isinstance(name, str):
                names.add(name)
        names.update(getattr(part, "names", ()) if isinstance(part, ast.Global | ast.Nonlocal) else ())
    return names


def _spans(node: ast.AST, code: CodeType) -> bool:
    """Returns whether the instructions of a code object lie inside a node."""
    assert isinstance(node, ast.Lambda)
    return all(
        (node.lineno, node.col_offset) <= (line or 0, column or 0)
        and (end_line or 0, end_column or 0) <= (node.end_lineno, node.end_col_offset)
        for line, end_line, column, end_column in code.co_positions()
        if column != end_column  # instructions that Python adds have no extent
    )


# the kinds of names


def _innermost(handler: Any) -> tuple[Any, object | None, bool]:
    """Unwraps a handler: the function, the object it is bound to, and whether its next parameter receives the row or time."""
    bound, takes_row = None, True
    while True:
        if inspect.ismethod(handler):
            handler, bound = handler.__func__, handler.__self__
        elif isinstance(handler, functools.partial):
            handler, takes_row = handler.func, False
        elif hasattr(handler, "__wrapped__"):
            handler = handler.__wrapped__
        elif not hasattr(handler, "__code__") and inspect.ismethod(getattr(handler, "__call__", None)):  # noqa: B004  # a callable object
            handler = handler.__call__
        else:
            return handler, bound, takes_row


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # raises for an empty cell
    except ValueError:
        return False
    return True


def _parameters(node: ast.AST) -> list[str]:
    arguments = getattr(node, "args", None)
    return [name.arg for name in (*arguments.posonlyargs, *arguments.args)] if isinstance(arguments, ast.arguments) else []


def _plain_parameters(node: ast.AST) -> list[str]:
    """Returns the parameters without a default that are not rebound."""
    names = _parameters(node)
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments) and arguments.defaults:
        names = names[: -len(arguments.defaults)]
    bound = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    return [name for name in names if name not in bound]


def _kinds(node: ast.AST, values: Mapping[str, object]) -> dict[str, str]:
    """Returns the kinds of the names in a function, and of attributes of programs and of headrace itself; other names are left out."""
    names, attributes = _used(node)
    kinds = {name: kind for name in names if (kind := _kind(values.get(name))) is not None}
    for name, attribute in attributes:
        if kinds.get(name) == HOLDER:
            kind = _kind_of_attribute(values[name], attribute)
            if kind is not None:
                kinds[f"{name}.{attribute}"] = kind
    return kinds


@lru_cache(maxsize=1024)
def _used(node: ast.AST) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    names = frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    attributes = frozenset(_attributes(node))
    return names, attributes


def _attributes(node: ast.AST) -> Iterator[tuple[str, str]]:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            yield part.value.id, part.attr


def _kind(value: object) -> str | None:
    kind = type(value)
    if isinstance(value, Cell):
        return CELL + value.read_with
    if issubclass(kind, Row):
        return ROW
    if issubclass(kind, Functions):
        return FUNCTIONS
    if issubclass(kind, Program) or _is_headrace(value):
        return HOLDER
    if inspect.isfunction(value) and (value.__module__ or "").startswith("headrace."):
        return _MAKERS.get(value.__name__)
    return None


def _kind_of_attribute(value: object, attribute: str) -> str | None:
    if _is_headrace(value):
        return FUNCTIONS if attribute == "f" else _MAKERS.get(attribute)
    return ROW if attribute == "key" else _kind(inspect.getattr_static(value, attribute, None))


def _is_headrace(value: object) -> bool:
    return inspect.ismodule(value) and value.__name__ == "headrace"
