"""Counts places in the code that should disappear: `python tools/counts.py`; `--list` names them.

* `isinstance` tests of operators, or of their bases, outside the file that declares the class
* files that break the rule of the gate to Spark
* SQL texts that sqlglot prints
* sqlglot trees from which more than names is read: outside `syntax/names.py` and `syntax/tables.py`
* regular expressions over SQL texts, outside `syntax/`, files that read messages and code that looks at spellings (`SPELLINGS`)
* for some operators, the hand-written files that name one: a similar addition has to look at these

`--way` compiles a small job, which starts Spark, and counts the packages through which the text of a filter passes.
`tests/unit/test_imports.py` tests that modules do not import each other.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "headrace"
OF_SQL = ("ops", "optimize", "analysis", "sql", "expr", "program")
MESSAGES = ("faults.py", "query.py", "lost.py")
ADDED = {
    "AsOf": "join_asof",
    "Sessions": "sessions",
    "Temporal": "temporal",
    "HeavyHitters": "heavy_hitters",
    "Expect": "expect",
    "Lookup": "lookup",
}
"""Operators by class, with their names in plans and documents."""
NAMES = ("names.py", "tables.py")
SPELLINGS = {
    "expr/column.py": ("_CONSTANT", "sql"),  # a warning; whether a text needs no brackets as part of another
    "ops/columns.py": ("_alone", "name_of"),  # hints of errors
    "ops/source.py": ("plain",),  # a name made from a path
}
"""Functions and constants whose expressions look only at how something is written, not at its meaning."""


def main() -> None:
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    from tests.unit.test_gate import BROKEN

    trees = _trees_of_source()
    counts = {
        "isinstance over operators outside their files": tests_of_operators(),
        "files that break the law of the gate": list(BROKEN),
        "texts of SQL that sqlglot prints": list(_calls(trees, "sql", within=("syntax",), keyword="dialect")),
        "trees of sqlglot that read more than names": list(_trees(trees)),
        "regular expressions over SQL": list(_expressions(trees)),
    }
    counts |= {f"files that name {operator}": list(_named(operator, op)) for operator, op in ADDED.items()}
    if "--way" in sys.argv:
        counts["rooms through which the text of a filter passes"] = _way()
    for what, places in counts.items():
        print(f"{len(places):4}  {what}")
        for place in places if "--list" in sys.argv else ():
            print(f"      {place}")


def _trees_of_source() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(SOURCE.rglob("*.py"))}


def tests_of_operators() -> list[str]:
    """Return the places outside the declaring file that test for a class of an operator; `match` and `type` count as well."""
    return list(_isinstance(_trees_of_source()))


def _operators(trees: dict[Path, ast.Module]) -> set[str]:
    """Return the classes of operators and their bases, as module and name, including the names that `headrace.ops` exports."""
    bases: dict[str, set[str]] = {}
    for file, tree in trees.items():
        names = _imported(tree)
        for one in tree.body:
            if isinstance(one, ast.ClassDef):
                of = [base.id for base in one.bases if isinstance(base, ast.Name)]
                bases[f"{_module(file)}.{one.name}"] = {names.get(base, f"{_module(file)}.{base}") for base in of}
        if file == SOURCE / "ops" / "__init__.py":
            bases |= {f"headrace.ops.{name}": {full} for name, full in names.items()}
    classes = {"headrace.plan.Node"}
    while more := {name for name, of in bases.items() if name not in classes and of & classes}:
        classes |= more
    return classes


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the names that a module imports, with the modules they come from."""
    froms = [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)]
    return {name.asname or name.name: f"{one.module}.{name.name}" for one in froms for name in one.names}


def _module(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)


def _isinstance(trees: dict[Path, ast.Module]) -> Iterator[str]:
    operators = _operators(trees)
    for file, tree in trees.items():
        outside = {name for name, full in _imported(tree).items() if full in operators and full != "headrace.plan.Node"}
        for one in ast.walk(tree):
            if outside & {name.id for part in _tested(one) for name in ast.walk(part) if isinstance(name, ast.Name)}:
                yield f"{file.relative_to(SOURCE)}:{getattr(one, 'lineno', 0)}"


def _tested(one: ast.AST) -> list[ast.expr]:
    """Return the classes that a test asks for, or whatever else is compared."""
    if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in ("isinstance", "issubclass"):
        return one.args[1:]
    return one.comparators if isinstance(one, ast.Compare) else [one.cls] if isinstance(one, ast.MatchClass) else []


def _calls(trees: dict[Path, ast.Module], method: str, *, within: tuple[str, ...], keyword: str) -> Iterator[str]:
    for file, tree in trees.items():
        for call in ast.walk(tree) if file.parent.name in within else ():
            named = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == method
            if named and any(one.arg == keyword for one in call.keywords):  # type: ignore[attr-defined]  # it is a call
                yield _place(file, call)


def _trees(trees: dict[Path, ast.Module]) -> Iterator[str]:
    for file, tree in trees.items():
        for one in ast.walk(tree) if file.parent.name == "syntax" and file.name not in NAMES else ():
            if isinstance(one, ast.ImportFrom) and one.module == "sqlglot" and any(name.name == "exp" for name in one.names):
                yield _place(file, one)


def _expressions(trees: dict[Path, ast.Module]) -> Iterator[str]:
    for file, tree in trees.items():
        if file.relative_to(SOURCE).parts[0] not in OF_SQL or file.name in MESSAGES:
            continue
        spellings = SPELLINGS.get(file.relative_to(SOURCE).as_posix(), ())
        for call in (inside for one in tree.body if _name(one) not in spellings for inside in ast.walk(one)):
            if isinstance(call, ast.Call) and re.fullmatch(
                r"re\.(compile|match|fullmatch|search|sub|split|findall)", ast.unparse(call.func)
            ):
                yield _place(file, call)


def _named(operator: str, op: str) -> Iterator[str]:
    """Yield the Python and Scala sources that name an operator by its class or by its name in plans."""
    names = re.compile(rf"\b{operator}\b|[\"']{op}[\"']")
    for file in sorted((*SOURCE.rglob("*.py"), *SOURCE.rglob("*.scala"))):
        text = file.read_text(encoding="utf-8")
        if names.search(text) and not text.startswith("// Written by tools/"):
            yield str(file.relative_to(SOURCE))


def _way() -> list[str]:
    """Return the packages whose functions got the text of a filter, alone or within a value, while a job was built and compiled."""
    import headrace as hr

    text = "amount > 12345"
    rooms: dict[str, None] = {}

    def entered(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(SOURCE) and any(_holds(value, text) for value in frame.f_locals.values()):
            room = "/".join(file.relative_to(SOURCE).parts[:-1]) or file.stem
            rooms[room] = None

    charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    sys.setprofile(entered)
    hr.job("way", charges.filter(text).write.memory())
    sys.setprofile(None)
    return list(rooms)


def _holds(value: object, text: str, depth: int = 3) -> bool:
    if isinstance(value, str):
        return text in value
    if depth == 0 or value is None or isinstance(value, int | bytes | type):
        return False
    inside = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple | set)
        else getattr(value, "__dict__", {}).values()
    )
    return any(_holds(one, text, depth - 1) for one in inside)


def _name(node: ast.stmt) -> str:
    """Return the name of a function, or of a constant of a module."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    return str(getattr(target, "name", getattr(target, "id", "")))


def _place(file: Path, node: ast.AST) -> str:
    return f"{file.relative_to(SOURCE)}:{node.lineno}"  # type: ignore[attr-defined]  # calls have lines


if __name__ == "__main__":
    main()
