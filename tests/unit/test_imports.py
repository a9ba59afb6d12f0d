"""The law of imports: a package imports lower rows or itself, no modules import each other, and each outside library has one door.

A text that names a module of headrace counts as an import: it is what `import_module` is called with.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import headrace as hr
from headrace.plan import Plan

SOURCE = Path(__file__).resolve().parents[2] / "src"

# Lowest first. Packages of one row never import each other.
ROWS: tuple[tuple[str, ...], ...] = (
    ("codes", "interrupts", "places", "points", "samples", "packages", "masking", "spelling"),
    ("errors", "words"),
    ("durable",),
    ("syntax",),
    ("schema",),
    ("expr",),
    ("jvm",),
    ("program",),
    ("plan",),
    ("ports",),
    ("ops",),
    ("sql",),
    ("spec",),
    ("analysis",),
    ("optimize",),
    ("spark",),
    ("connectors",),
    ("settings",),
    ("monitor",),
    ("engine",),
    ("load",),
    ("client",),
    ("certify",),
    ("testing",),
    ("__init__",),
    ("demo",),  # written as a user writes: with `import headrace as hr`
    ("cli",),
    ("__main__",),
)

OTHERS = "..."
"""In a row of a package: the modules that no row names. They may import each other, in no circle."""

# The rows inside a package.
INNER: dict[str, tuple[tuple[str, ...], ...]] = {
    "durable": (("atomic", "filelog", "links", "marks", "named", "private", "sums"), ("segments",), ("manifest",)),
    "ops": (
        ("no_table",),
        ("facts", "asking", "change_words", "columns", "expires", "handle"),
        ("inlet", "parts", "rewritable", "signatures"),
        ("operator",),
        ("relational",),
        (OTHERS,),  # operators, and verbs that are composed of them
        ("stream",),
        ("broadcast", "read"),
    ),
    "spark": (("compile",), ("checkpoint",), ("run",), ("deploy", "inspect"), ("why", "replay", "portable")),
}

INSIDE = {f"headrace.{package}" for package in INNER}
"""Within these an import that never happens may go up."""

# The group of entry points that connectors, our own and others, register in.
GROUP = "headrace.connectors"

# Who may import what from outside.
DOORS = {"sqlglot": {"syntax"}, "py4j": {"jvm"}, "yaml": {"spec"}, "prometheus_client": {"monitor"}}


@dataclass(frozen=True)
class Import:
    file: Path
    line: int
    module: str
    lazy: bool
    """Inside a function: paid for only when it is called."""
    typing: bool
    """Under TYPE_CHECKING: never happens."""

    @property
    def importer(self) -> str:
        return name_of(self.file)

    @property
    def package(self) -> str:
        return package_of(self.importer)

    def __str__(self) -> str:
        return f"{self.file.relative_to(SOURCE)}:{self.line} imports {self.module}"


def package_of(module: str) -> str:
    """
    >>> package_of("headrace.plan.node"), package_of("headrace.engine"), package_of("headrace")
    ('plan', 'engine', '__init__')
    """
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def name_of(file: Path) -> str:
    """The module that a file holds."""
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports() -> Iterator[Import]:
    for file in FILES:
        yield from _inside(ast.parse(file.read_text(encoding="utf-8")), file, lazy=False, typing=False)


def _inside(node: ast.AST, file: Path, *, lazy: bool, typing: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for name in child.names:
                yield Import(file, child.lineno, name.name, lazy, typing)
        elif isinstance(child, ast.ImportFrom):
            assert child.module is not None and child.level == 0, f"{file}:{child.lineno}: a relative import"
            for name in child.names:
                inner = f"{child.module}.{name.name}"
                yield Import(file, child.lineno, inner if inner in MODULES else child.module, lazy, typing)
        elif isinstance(child, ast.Constant):
            if isinstance(child.value, str) and NAME.fullmatch(child.value) and child.value in MODULES and child.value != GROUP:
                yield Import(file, child.lineno, child.value, True, typing)
        else:
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            checking = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _inside(child, file, lazy=lazy or function, typing=typing or checking)


NAME = re.compile(r"headrace\.[a-z_.]+")
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {name_of(file) for file in FILES}
ALL = tuple(imports())


def parts_of(folder: Path) -> set[str]:
    """The packages and modules that lie in a folder."""
    return {file.stem for file in folder.glob("*.py")} | {inner.name for inner in folder.iterdir() if any(inner.rglob("*.py"))}


def row_of(part: str, rows: tuple[tuple[str, ...], ...]) -> int:
    """The row of a package; 0 is the lowest."""
    named = next((number for number, row in enumerate(rows) if part in row), None)
    return next(number for number, row in enumerate(rows) if OTHERS in row) if named is None else named


def upward(rows: tuple[tuple[str, ...], ...], inside: str = "headrace") -> list[str]:
    """The imports between the packages inside a package that do not go down."""
    wrong = []
    for one in ALL:
        importer, module = (f"{name}.__init__" if name == inside else name for name in (one.importer, one.module))
        if not (importer.startswith(f"{inside}.") and module.startswith(f"{inside}.")) or (one.typing and inside in INSIDE):
            continue
        upper, lower = (name.removeprefix(f"{inside}.").partition(".")[0] for name in (importer, module))
        row = row_of(upper, rows)
        if upper != lower and row_of(lower, rows) >= row and not (row == row_of(lower, rows) and OTHERS in rows[row]):
            wrong.append(str(one))
    return wrong


def test_every_package_has_a_row() -> None:
    assert parts_of(SOURCE / "headrace") - {package for row in ROWS for package in row} == set()
    for package, rows in INNER.items():
        parts, named = parts_of(SOURCE / "headrace" / package) - {"__init__"}, {part for row in rows for part in row}
        assert named - parts == {OTHERS} if OTHERS in named else parts == named


def test_the_map_has_every_package() -> None:
    page = SOURCE.parent / "docs" / "contribute" / "architecture.md"
    rows = re.findall(r"^\| `([a-z_/]+)` \|", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [name for name in rows if "/" not in name] == [package for row in ROWS for package in row]
    inside = [name for row in INNER["spark"] for name in row]
    assert [name.removeprefix("spark/") for name in rows if "/" in name] == inside


def test_imports_go_down() -> None:
    assert upward(ROWS) == []
    for package, rows in INNER.items():
        assert upward((*rows, ("__init__",)), f"headrace.{package}") == []


def test_no_modules_import_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for one in ALL:
        if not one.typing and one.module in MODULES and one.module != one.importer:
            graph.setdefault(one.importer, set()).add(one.module)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        raise AssertionError(" <- ".join(problem.args[1])) from None


def test_nobody_imports_a_connector() -> None:
    assert [str(one) for one in ALL if package_of(one.module) == "connectors" and one.package != "connectors"] == []


def test_each_library_has_one_door() -> None:
    wrong = [
        str(one)
        for one in ALL
        if one.module.split(".")[0] in DOORS and not one.typing and one.package not in DOORS[one.module.split(".")[0]]
    ]
    assert wrong == []


def test_import_headrace_loads_nothing_but_itself() -> None:
    script = """
import sys
before = set(sys.modules)
import headrace
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("headrace\n", "")


def test_a_plan_that_is_read_first_knows_its_operators() -> None:
    plan = Plan.of("copy", [hr.read.rate(rows_per_second=1, name="rows").write.console(name="out")._use()])
    script = """
import json, sys
import headrace as hr
from headrace.plan import facts
plan = hr.Plan.from_json(json.loads(sys.argv[1]))
print(*facts(plan, "guarantee"))
"""
    done = subprocess.run([sys.executable, "-c", script, json.dumps(plan.to_json())], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("out\n", "")
