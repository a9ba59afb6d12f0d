"""Follows a function's source as Python runs it while tracing, and finds the mistakes that overloaded operators cannot see.

Tracing runs every statement once, also those under `with hr.when(...)`. So a name bound in a branch keeps that binding for every row,
`return` leaves for every row, and `x is None` is decided for every row. The walk over the statements tracks where each name was last
bound and whether its value is traced, and reports the lines of such mistakes.

Where Python itself decides (`if`, `for`, `match` over parameters), the paths are merged: a name is refused if any path leads to a wrong
use, and a value counts as traced only if all paths agree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from headrace.program import finding
from headrace.program.finding import Finding
from headrace.program.names import (
    CELL,
    FUNCTIONS,
    HOLDER,
    LOCAL,
    MAKER,
    READER,
    ROW,
    TRACED,
    Binding,
    Function,
    Loop,
    Name,
    Names,
    Path,
    branch_word,
    copy,
    declared,
    free,
    joined,
    merged,
    word_of,
)

_READS = ("get", "at", "exists", "has", "size", "first", "last")


class Flow:
    """The walk over one function. `kinds` has the kinds of its parameters, of the names around it and of `self.<cell>`; `opened` has lines
    of `with` statements that are known to open a branch, however they are written."""

    def __init__(self, function: ast.AST, kinds: Iterable[tuple[str, str]], opened: Iterable[int], text: str) -> None:
        self.text = text
        self.kinds = dict(kinds)
        self.opened = frozenset(opened)
        self.findings: list[Finding] = []
        self.branches: set[int] = set()  # lines of `with` statements that open a branch
        self.conditions: dict[str, ast.withitem] = {}
        self.path: Path = ()
        self.names: Names | None = {}  # None in code that cannot be reached, as after a `return`
        self.loops: list[Loop] = []
        self.tries: list[int] = []
        self.running: set[Function] = set()
        self.outer = declared(function)
        if isinstance(function, ast.Lambda):
            self.ask(function.body)
        else:
            self.block(getattr(function, "body", []))

    # statements

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if self.names is not None:
                self.do(statement)

    def do(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                kind = self.ask(value)
                for target in targets:
                    self.bind(target, kind, node, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.ask(value), node, value)
            case ast.AugAssign(target=target, value=value):
                old = self.load(target.id, target) if isinstance(target, ast.Name) else None
                kind = joined(old, self.ask(value))
                self.bind(target, kind, node, None)
            case ast.If(test=test, body=body, orelse=orelse):
                self.ask(test)
                self.fork(lambda: self.block(body), lambda: self.block(orelse))
            case ast.For() | ast.AsyncFor():
                self.ask(node.iter)
                sure = isinstance(node.iter, ast.Tuple | ast.List) and bool(node.iter.elts)
                self.loop(node.body, node.orelse, lambda: self.bind(node.target, None, node, None), sure)
            case ast.While(test=test, body=body, orelse=orelse):
                self.loop(body, orelse, lambda: self.ask(test), False)
            case ast.With() | ast.AsyncWith():
                self.with_(node)
            case ast.Try() | ast.TryStar():
                self.try_(node)
            case ast.Match():
                self.match(node)
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.leave(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for before in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
                    self.ask(before)
                self.put(node.name, None, node, runs=frozenset({node}))
            case ast.ClassDef(name=name):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                        self.load(inner.id, inner)
                self.put(name, None, node)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    self.put((alias.asname or alias.name).partition(".")[0], None, node)
            case ast.Delete(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Name) and self.names is not None:
                        self.names.pop(target.id, None)
                    else:
                        self.ask(target)
            case _:
                for part in ast.iter_child_nodes(node):
                    self.ask(part)

    def leave(self, node: ast.Return | ast.Raise | ast.Break | ast.Continue) -> None:
        for part in ast.iter_child_nodes(node):
            self.ask(part)
        own = isinstance(node, ast.Break | ast.Continue) and self.loops and len(self.path) == self.loops[-1].depth
        if self.path and not own:
            self.findings.append(finding.leaves(type(node).__name__.lower(), self.word(), node))
        if self.names is not None and self.loops:
            if isinstance(node, ast.Break):
                self.loops[-1].breaks.append(self.names)
            elif isinstance(node, ast.Continue):
                self.loops[-1].continues.append(self.names)
        self.names = None

    def with_(self, node: ast.With | ast.AsyncWith) -> None:
        outer = self.path
        lines = range(node.lineno, max(item.context_expr.end_lineno or 0 for item in node.items) + 1)
        known = any(line in self.opened for line in lines)
        for number, item in enumerate(node.items):
            self.ask(item.context_expr)
            word = branch_word(item.context_expr)
            if word or known:
                self.branches.update(lines)
                here = f"{word or 'when'} {node.lineno}:{node.col_offset}:{number}"
                self.conditions[here] = item
                self.path = (*self.path, here)
                self.findings.extend(finding.tries(self.word(), line) for line in self.tries[-1:])
            if item.optional_vars is not None:
                self.bind(item.optional_vars, ROW if word == "each" else None, node, None)
        self.block(node.body)
        self.path = outer

    def try_(self, node: ast.Try | ast.TryStar) -> None:
        if self.path:
            self.findings.append(finding.tries(self.word(), node.lineno))
        elif node.handlers:
            self.tries.append(node.lineno)
        before = copy(self.names)
        self.block(node.body)
        if node.handlers and not self.path:
            self.tries.pop()
        failed = merged(before, self.names)
        self.block(node.orelse)
        ends = [self.names]
        for handler in node.handlers:
            self.names = copy(failed)
            if handler.type is not None:
                self.ask(handler.type)
            if handler.name:
                self.put(handler.name, None, handler)
            self.block(handler.body)
            if handler.name and self.names is not None:
                self.names.pop(handler.name, None)
            ends.append(self.names)
        self.names = merged(*ends)
        self.names = failed if self.names is None and node.finalbody else self.names
        self.block(node.finalbody)

    def match(self, node: ast.Match) -> None:
        if self.ask(node.subject) in (TRACED, ROW):
            self.findings.append(finding.matches(self.written(node.subject), node))

        def case(branch: ast.match_case) -> None:
            for part in ast.walk(branch.pattern):
                captured = part.rest if isinstance(part, ast.MatchMapping) else getattr(part, "name", None)
                if isinstance(captured, str):
                    self.put(captured, None, node)
                elif isinstance(part, ast.expr):
                    self.ask(part)
            self.ask(branch.guard)
            self.block(branch.body)

        complete = isinstance(node.cases[-1].pattern, ast.MatchAs) and node.cases[-1].pattern.pattern is None and not node.cases[-1].guard
        ways: list[Callable[[], None]] = [lambda branch=branch: case(branch) for branch in node.cases]  # type: ignore[misc]
        self.fork(*ways, *([] if complete else [lambda: None]))

    def fork(self, *ways: Callable[[], None]) -> None:
        """Follows alternatives between which Python decides, and merges their names."""
        before, ends = self.names, []
        for way in ways:
            self.names = copy(before)
            way()
            ends.append(self.names)
        self.names = merged(*ends)

    def loop(self, body: list[ast.stmt], orelse: list[ast.stmt], turn: Callable[[], object], sure: bool) -> None:
        """Follows a loop for two rounds, to see what one leaves to the next. `sure`: there is at least one round."""
        this = Loop(len(self.path), [], [])
        self.loops.append(this)
        ends = [] if sure else [copy(self.names)]
        for _ in range(2):
            turn()
            self.block(body)
            self.names = self.ended(merged(self.names, *this.continues), this.depth)
            ends.append(copy(self.names))
            if self.names is None:
                break
        self.loops.pop()
        self.names = merged(*ends)
        self.block(orelse)
        self.names = merged(self.names, *this.breaks)

    def ended(self, names: Names | None, depth: int) -> Names | None:
        """Returns the names at the end of a round, with its branches distinguished from those of the next round."""
        if names is None:
            return None

        def closed(binding: Binding) -> Binding:
            if len(binding.path) <= depth or binding.path[depth].endswith("before"):
                return binding
            inner = f"{binding.path[depth]} before"
            self.conditions[inner] = self.conditions[binding.path[depth]]
            return binding._replace(path=(*binding.path[:depth], inner, *binding.path[depth + 1 :]))

        return {key: name._replace(bindings=frozenset(map(closed, name.bindings))) for key, name in names.items()}

    # names

    def bind(self, target: ast.expr, kind: str | None, by: ast.AST, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                runs = frozenset({value}) if isinstance(value, ast.Lambda) else frozenset()
                self.put(name, kind, by, runs, outlives=kind == ROW or self.reads(value))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = value.elts if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts) else [None] * len(parts)
                for part, item in zip(parts, items, strict=True):
                    self.bind(part, None if item is None else self.kind(item), by, item)
            case ast.Starred(value=inner):
                self.bind(inner, None, by, None)
            case _:
                for inside in ast.iter_child_nodes(target):
                    self.ask(inside)

    def put(
        self,
        name: str,
        kind: str | None,
        by: ast.AST,
        runs: frozenset[ast.Lambda] | frozenset[Function] = frozenset(),
        outlives: bool = False,
    ) -> None:
        if self.names is None:
            return
        if self.path and name in self.outer:
            self.findings.append(finding.binds_outer(name, self.outer[name], self.word(), by))
        old = self.names.get(name)
        before = next(iter(old.bindings)).by if old is not None and len(old.bindings) == 1 else None
        text = self.written(before.value) if isinstance(before, ast.Assign) else None
        # Values read from cells, entries and locals of hr.let are left to tracing, which sees where they are used and has a better hint.
        self.names[name] = Name(frozenset({Binding(() if outlives else self.path, by, text)}), kind, frozenset(runs))

    def load(self, name: str, node: ast.AST) -> str | None:
        held = self.names.get(name) if self.names is not None else None
        if held is None:
            return self.kinds.get(name)
        for binding in sorted(held.bindings, key=lambda binding: getattr(binding.by, "lineno", 0)):
            if self.path[: len(binding.path)] != binding.path:
                inner = next(part for at, part in enumerate(binding.path) if self.path[at : at + 1] != (part,))
                condition = self.conditions[inner] if binding.path[-1] == inner else None
                self.findings.append(finding.from_branch(name, binding.by, binding.before, word_of(inner), condition, node, self.written))
                break
        for function in held.runs - self.running:
            self.running.add(function)
            taken, changed = free(function)
            for inner in sorted(taken):
                self.load(inner, node)
            for inner in sorted(changed):
                self.put(inner, None, node)
            self.running.discard(function)
        return held.kind

    # expressions

    def kind(self, node: ast.expr) -> str | None:
        """Returns the kind of a value, without reporting mistakes or binding names."""
        findings, names = list(self.findings), copy(self.names)
        kind = self.ask(node)
        self.findings, self.names = findings, names
        return kind

    def reads(self, value: ast.expr | None) -> bool:
        """Returns whether a value is just the result of a cell's method, or a new local."""
        match value:
            case ast.Call(func=ast.Attribute(value=cell) as function):
                return (self.kind(cell) or "").startswith(CELL) or self.kind(function) == LOCAL
            case ast.Call(func=ast.Name() as function):
                return self.kind(function) == LOCAL
        return False

    def ask(self, node: ast.AST | None) -> str | None:
        """Follows an expression and returns its kind."""
        match node:
            case ast.Name(id=name):
                return self.load(name, node)
            case ast.Attribute(value=base, attr=name):
                kind = self.ask(base)
                if kind in (TRACED, ROW):
                    return TRACED
                if kind == HOLDER and isinstance(base, ast.Name):
                    return self.kinds.get(f"{base.id}.{name}")
                if kind is not None and kind.startswith(CELL):
                    return READER if name in _READS else None
                return MAKER if kind == FUNCTIONS else None
            case ast.Call(func=func, args=args, keywords=keywords):
                kind = self.ask(func)
                for argument in [*args, *(keyword.value for keyword in keywords)]:
                    self.ask(argument)
                return f"{CELL}.get()" if kind == LOCAL else TRACED if kind in (MAKER, READER, TRACED) else None
            case ast.Subscript(value=base, slice=index):
                kind = self.ask(base)
                self.ask(index)
                return TRACED if kind in (TRACED, ROW) else None
            case ast.BinOp(left=left, right=right):
                return joined(self.ask(left), self.ask(right))
            case ast.UnaryOp(operand=operand):
                return joined(self.ask(operand), None)
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.ask(test)
                first, second = self.ask(body), self.ask(orelse)
                return first if first == second else None
            case ast.NamedExpr(target=target, value=value):
                kind = self.ask(value)
                self.bind(target, kind, node, value)
                return kind
            case ast.Lambda():
                for name in sorted(free(node)[0]):
                    self.load(name, node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self.comprehension(node)
            case ast.Yield() | ast.YieldFrom() | ast.Await():
                self.ask(node.value)
                if self.path and not isinstance(node, ast.Await):
                    self.findings.append(finding.leaves("yield", self.word(), node))
            case ast.AST():
                for part in ast.iter_child_nodes(node):
                    self.ask(part)
        return None

    def compare(self, node: ast.Compare) -> str | None:
        terms = [node.left, *node.comparators]
        kinds = [self.ask(term) for term in terms]
        for number, sign in enumerate(node.ops):
            if not isinstance(sign, ast.Is | ast.IsNot):
                continue
            for kind, of, to in ((kinds[number], terms[number], terms[number + 1]), (kinds[number + 1], terms[number + 1], terms[number])):
                if kind is not None and isinstance(to, ast.Constant) and (kind in (TRACED, ROW) or kind.startswith(CELL)):
                    negated = isinstance(sign, ast.IsNot)
                    self.findings.append(finding.identity(self.written(of), kind, to.value, negated, self.written(node), of, node))
        return (
            TRACED if TRACED in kinds and not any(isinstance(sign, ast.Is | ast.IsNot | ast.In | ast.NotIn) for sign in node.ops) else None
        )

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        own = {part.id for generator in node.generators for part in ast.walk(generator.target) if isinstance(part, ast.Name)}
        before = {name: self.names.get(name) for name in own} if self.names is not None else {}
        for generator in node.generators:
            self.ask(generator.iter)
            self.bind(generator.target, None, generator, None)
            for condition in generator.ifs:
                self.ask(condition)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.ask(part)
        for name, held in before.items():
            if self.names is not None:
                self.names.pop(name, None)
                if held is not None:
                    self.names[name] = held

    def word(self) -> str:
        return word_of(self.path[-1])

    def written(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ast.unparse(node)
