"""The values that a name in a function may hold at one place of its source."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NamedTuple

# The kinds of values. A cell's kind ends with the method that reads it: "cell.get()".
TRACED, ROW, CELL, READER = "traced", "row", "cell", "reader"
# Makers of traced values: hr.f; functions such as hr.case; hr.let. A holder, a program or hr itself, has such things as attributes.
FUNCTIONS, MAKER, LOCAL, HOLDER = "functions", "maker", "local", "holder"

BRANCHES = ("when", "elsewhen", "otherwise", "each")

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Path = tuple[str, ...]  # the branches around a place, the outermost first


class Binding(NamedTuple):
    """A statement that bound a name, the branches around it, and the text of the name's value before."""

    path: Path
    by: ast.AST
    before: str | None


class Name(NamedTuple):
    """The bindings and the kind of what a name may hold."""

    bindings: frozenset[Binding]
    kind: str | None = None
    runs: frozenset[Function] = frozenset()  # nested functions, whose bodies run where they are called


Names = dict[str, Name]


@dataclass
class Loop:
    """A Python loop, and the names at each of its `break` and `continue` statements."""

    depth: int  # the number of branches around it
    breaks: list[Names]
    continues: list[Names]


def branch_word(node: ast.expr) -> str | None:
    """Returns the name of the function if a call opens a branch, else None."""
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
    return name if name in BRANCHES else None


def word_of(branch: str) -> str:
    """Returns the name of a path's branch for a message."""
    return "each" if branch.startswith("each") else "when"


def declared(function: ast.AST) -> dict[str, str]:
    """Returns the names that a function declares global or nonlocal, without those of nested functions."""
    kinds: dict[str, str] = {}
    inside = list(ast.iter_child_nodes(function))
    while inside:
        node = inside.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            kinds |= dict.fromkeys(node.names, type(node).__name__.lower())
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            inside += ast.iter_child_nodes(node)
    return kinds


def free(function: Function) -> tuple[set[str], set[str]]:
    """Returns the names that a nested function reads from outside, and those it rebinds there."""
    changed = {name for name, word in declared(function).items() if word == "nonlocal"}
    own = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)}
    loads: set[str] = set()
    for part in ast.walk(function):
        if isinstance(part, ast.Name):
            (loads if isinstance(part.ctx, ast.Load) else own).add(part.id)
    return loads - (own - changed), changed


def joined(first: str | None, second: str | None) -> str | None:
    return TRACED if TRACED in (first, second) else None


def copy(names: Names | None) -> Names | None:
    return None if names is None else dict(names)


def merged(*ways: Names | None) -> Names | None:
    """Merges the names at the ends of several paths; None is a path that does not reach its end."""
    there = [names for names in ways if names is not None]
    if not there:
        return None
    result = dict(there[0])
    for names in there[1:]:
        for key in {*result, *names}:
            one, other = result.get(key), names.get(key)
            if one is None or other is None:
                result[key] = (one or other or Name(frozenset()))._replace(kind=None)
            else:
                result[key] = Name(one.bindings | other.bindings, one.kind if one.kind == other.kind else None, one.runs | other.runs)
    return result
