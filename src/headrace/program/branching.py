"""Functions of handlers as Python that really branches: `with hr.when(...)` becomes a block that runs or does not.

A handler is traced once, so its branches and loops are `with` blocks that all run. To run it for one row, each becomes a `for` over the
branch or loop itself, on the same lines, so that a debugger shows the user's code:

    with hr.when(a):          for [] in hr.when(a):
        ...                       ...; break
    with hr.elsewhen(b):      else:
        ...                       for [] in hr.elsewhen(b):
                                      ...; break
"""

from __future__ import annotations

import ast
import copy
import gc
import sys
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from headrace.program.control import elsewhen, otherwise, when
from headrace.program.each import each
from headrace.program.source import around, inside, source_of

_FUTURE = 0x1FF0000
"""The bits of a code object's flags that tell which features of the future its module has imported."""


@contextmanager
def branching(codes: Iterable[CodeType]) -> Iterator[None]:
    """Let the functions with this code really branch, until the end."""
    before = {id(function): (function, function.__code__) for function in _functions([*codes])}.values()
    try:
        for function, code in before:
            function.__code__ = _branching(function, code)
        yield
    finally:
        for function, code in before:
            function.__code__ = code


def _functions(codes: Sequence[CodeType]) -> Iterator[FunctionType]:
    """Yield the functions with some code; for one that is made in each call of another, that one."""
    files = {code.co_filename for code in codes}
    known = [one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__code__.co_filename in files]
    for code in codes:
        own = [one for one in known if one.__code__ is code]
        if own:
            yield from own
            continue
        outer = [one.__code__ for one in known if any(inner is code for inner in inside(one.__code__))]
        nearest = min(outer, key=lambda one: len([*inside(one)]), default=None)
        yield from (one for one in known if one.__code__ is nearest)


def _branching(function: FunctionType, code: CodeType) -> CodeType:
    node = source_of(code, function.__globals__, f"the function {code.co_name}").node
    assert isinstance(node, ast.FunctionDef)
    rewritten = _Rewriter(ChainMap(_imported(node), around(function), function.__globals__)).visit(copy.deepcopy(node))
    rewritten.decorator_list = []
    body: list[ast.stmt] = [rewritten]
    owner = code.co_qualname.rpartition(".")[0].rpartition(".")[2]
    if owner and owner != "<locals>":
        # the class gives private names their prefix, and `super()` its `__class__`
        body = [_around(ast.parse(f"class {owner}: ..."), body)]
    names = [name for name in code.co_freevars if name != "__class__"]
    (bound,) = (str(getattr(one, "name", "")) for one in body)
    # in the user's module the definition binds a global name, which the function may use
    outer = [] if bound in names else [ast.Global([bound])]
    factory = _around(ast.parse(f"def factory({', '.join(names)}): ..."), [*outer, *body])
    whole = compile(
        ast.fix_missing_locations(ast.Module([factory], [])), code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True
    )
    return next(one for one in inside(whole) if one.co_name == code.co_name and one.co_firstlineno == node.lineno)


def _around(parsed: ast.Module, body: list[ast.stmt]) -> ast.stmt:
    """Return the definition in a parsed text, with another body."""
    (definition,) = parsed.body
    assert isinstance(definition, ast.ClassDef | ast.FunctionDef)
    definition.body = body
    return definition


def _imported(node: ast.AST) -> dict[str, Any]:
    """Return what a function imports of headrace itself."""
    names: dict[str, Any] = {}
    headrace = sys.modules["headrace"]
    for one in ast.walk(node):
        match one:
            case ast.ImportFrom(module="headrace", level=0):
                names |= {part.asname or part.name: getattr(headrace, part.name, None) for part in one.names}
            case ast.Import():
                names |= {part.asname or part.name: headrace for part in one.names if part.name == "headrace"}
    return names


class _Rewriter(ast.NodeTransformer):
    """`names`: the values of the names in the function."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, self._block(block))
        return super().generic_visit(node)

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return a block in which branches and loops are `for` statements, a branch inside the `else` of the one before."""
        block: list[ast.stmt] = []
        last: ast.For | None = None
        since = 0  # where the statements after the last branch begin
        for number, statement in enumerate(statements):
            opens = self._opens(statement)
            if opens is None:
                block.append(statement)
                continue
            assert isinstance(statement, ast.With)
            loop = _for(statement, branch=opens is not each)
            if opens in (elsewhen, otherwise) and last is not None:
                # what stands between may read cells for the condition, and runs with it; names that are used later are bound in any case
                between = block[since:] if opens is elsewhen else []
                later = _loaded(statements[number + 1 :])
                block = [one for one in block if one not in between or not later.isdisjoint(_bound(one))]
                last.orelse = [*copy.deepcopy(between), loop]
            else:
                block.append(loop)
            last, since = None if opens is each else loop, len(block)
        return block

    def _opens(self, statement: ast.stmt) -> object:
        """Return the function with which a `with` statement opens a branch or a loop; None for any other statement."""
        if not isinstance(statement, ast.With) or not isinstance(statement.items[0].context_expr, ast.Call):
            return None
        function = self._value(statement.items[0].context_expr.func)
        return function if function in (when, elsewhen, otherwise, each) else None

    def _value(self, node: ast.expr) -> object:
        match node:
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.Attribute(value=owner, attr=name):
                return getattr(self._value(owner), name, None)
        return None


def _bound(statement: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _loaded(statements: Iterable[ast.stmt]) -> set[str]:
    return {
        one.id for statement in statements for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }


def _for(block: ast.With, *, branch: bool) -> ast.For:
    """Return a `for` over what a `with` statement opens first; further items are a `with` inside."""
    first, *others = block.items
    body: list[ast.stmt] = [ast.copy_location(ast.With(others, block.body), block)] if others else block.body
    target = first.optional_vars or ast.List([], ast.Store())
    if branch:
        body = [*body, ast.copy_location(ast.Break(), body[-1])]
    return ast.copy_location(ast.For(target, first.context_expr, body, []), block)
