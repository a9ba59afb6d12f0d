"""The law of imports: a package imports lower rows or itself, and each outside library has one door."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"

# Lowest first. Packages of one row never import each other.
ROWS: tuple[tuple[str, ...], ...] = (
    ("places", "points", "samples", "packages", "masking", "spelling"),
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
ROW = {package: number for number, row in enumerate(ROWS) for package in row}

# Who may import what from outside.
DOORS = {"sqlglot": {"syntax"}, "py4j": {"jvm"}, "yaml": {"spec"}}


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
    def package(self) -> str:
        return package_of(".".join(self.file.relative_to(SOURCE).with_suffix("").parts))

    def __str__(self) -> str:
        return f"{self.file.relative_to(SOURCE)}:{self.line} imports {self.module}"


def package_of(module: str) -> str:
    """
    >>> package_of("headrace.plan.node"), package_of("headrace.engine"), package_of("headrace")
    ('plan', 'engine', '__init__')
    """
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports() -> Iterator[Import]:
    for file in sorted(SOURCE.rglob("*.py")):
        yield from _inside(ast.parse(file.read_text(encoding="utf-8")), file, lazy=False, typing=False)


def _inside(node: ast.AST, file: Path, *, lazy: bool, typing: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for name in child.names:
                yield Import(file, child.lineno, name.name, lazy, typing)
        elif isinstance(child, ast.ImportFrom):
            assert child.module is not None and child.level == 0, f"{file}:{child.lineno}: a relative import"
            for name in child.names:
                inner = SOURCE.joinpath(*child.module.split("."), name.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield Import(file, child.lineno, f"{child.module}.{name.name}" if is_module else child.module, lazy, typing)
        else:
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            checking = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _inside(child, file, lazy=lazy or function, typing=typing or checking)


ALL = tuple(imports())


def test_every_package_has_a_row() -> None:
    there = {package_of(f"headrace.{file.stem}") for file in (SOURCE / "headrace").glob("*.py")}
    there |= {folder.name for folder in (SOURCE / "headrace").iterdir() if any(folder.rglob("*.py"))}
    assert sorted(there - set(ROW)) == []


def test_imports_go_down() -> None:
    wrong = []
    for found in ALL:
        if found.module.split(".")[0] != "headrace":
            continue
        target = package_of(found.module)
        if target != found.package and ROW[target] >= ROW[found.package]:
            wrong.append(str(found))
    assert wrong == []


def test_nobody_imports_a_connector() -> None:
    assert [str(found) for found in ALL if package_of(found.module) == "connectors" and found.package != "connectors"] == []


def test_each_library_has_one_door() -> None:
    wrong = [
        str(found)
        for found in ALL
        if found.module.split(".")[0] in DOORS and not found.typing and found.package not in DOORS[found.module.split(".")[0]]
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
