"""What a name in a function may hold, at one place of its source."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NamedTuple

# What is known of a value. A cell's kind is followed by the method that reads it: "cell.get()".
TRACED, ROW, CELL, READER = "traced", "row", "cell", "reader"
# Those that make traced values: hr.f, functions as hr.case, hr.let; and what holds such things as attributes, a program or hr itself.
FUNCTIONS, MAKER, LOCAL, HOLDER = "functions", "maker", "local", "holder"

BRANCHES = ("when", "elsewhen", "otherwise", "each")

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Path = tuple[str, ...]  # the branches around a place, outermost first


class Binding(NamedTuple):
    """Where a name got its value, and the text of the value it had before."""

    path: Path
    by: ast.AST
    before: str | None


class Name(NamedTuple):
    """What a name may hold."""

    bindings: frozenset[Binding]
    kind: str | None = None
    runs: frozenset[Function] = frozenset()  # nested functions: what is in them is done where they are called


Names = dict[str, Name]


@dataclass
class Loop:
    """A loop of Python's, and what names held where it was left or begun anew."""

    depth: int  # of branches, where it began
    breaks: list[Names]
    continues: list[Names]


def branch_word(node: ast.expr) -> str | None:
    """The word of a call that opens a branch."""
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
    return name if name in BRANCHES else None


def word_of(branch: str) -> str:
    """How a branch of a path is called in a message."""
    return "each" if branch.startswith("each") else "when"


def declared(function: ast.AST) -> dict[str, str]:
    """The names that a function declares global or nonlocal, without those of functions in it."""
    found: dict[str, str] = {}
    inside = list(ast.iter_child_nodes(function))
    while inside:
        node = inside.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            found |= dict.fromkeys(node.names, type(node).__name__.lower())
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            inside += ast.iter_child_nodes(node)
    return found


def free(function: Function) -> tuple[set[str], set[str]]:
    """The names that a nested function takes from around it, and those it changes there."""
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
    """What holds after one of several ways, of which some may not come to an end."""
    there = [names for names in ways if names is not None]
    if not there:
        return None
    found = dict(there[0])
    for names in there[1:]:
        for key in {*found, *names}:
            one, other = found.get(key), names.get(key)
            if one is None or other is None:
                found[key] = (one or other or Name(frozenset()))._replace(kind=None)
            else:
                found[key] = Name(one.bindings | other.bindings, one.kind if one.kind == other.kind else None, one.runs | other.runs)
    return found
