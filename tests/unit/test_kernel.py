"""The law of the kernel: a folder of Scala imports folders of lower floors or itself, and nothing of a connector."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "src" / "headrace" / "kernel"
PAGE = ROOT / "docs" / "contribute" / "kernel.md"

# Lowest first; "" is the kernel's root. Folders of one floor never import each other.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("",),
    ("bag", "document", "point", "wire"),
    ("gate",),
    ("checkpoint", "letter", "state", "store", "text"),
    ("bind",),
    ("lift", "operator", "source"),
    ("operator/aggregate", "operator/join", "operator/partition", "operator/program", "operator/session", "route"),
    ("sink", "task"),
    ("level", "lookup"),
    ("query",),
    ("check", "deploy", "inspect"),
    ("run",),
)
FLOOR = {folder: number for number, floor in enumerate(FLOORS) for folder in floor}

GATES = ("org.apache.spark.sql.headrace", "org.apache.spark.sql.execution.streaming.state.headrace")
"""Packages inside Spark's own. They lie in one folder, and in its folders for one version of Spark each."""

# A package and the names behind it: in an import, in code, in a text from which code is generated.
NAMED = re.compile(r"(?<![\w.])(?:_root_\.)?((?:org\.apache\.spark\.(?:\w+\.)*)?headrace)\b((?:\.\w+)*)(?:\.\{([^}]*)\})?")
COMMENT = re.compile(r"""(\"{3}.*?\"{3}|"(?:\\.|[^"\\\n])*"|'"')|/\*.*?\*/|//[^\n]*|^\s*package [^\n{]*""", re.S | re.M)
"""Comments and the package's own name, and texts, which stay: `//` in them begins no comment."""


@dataclass(frozen=True)
class Use:
    """A name of another folder in the Scala of a folder."""

    file: str
    line: int
    name: str
    folder: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.name}"


def folder_of(package: str) -> str:
    """The folder of the kernel in which a package or a name lies.

    >>> folder_of("headrace.operator.program.cell.Due"), folder_of("headrace.Masking"), folder_of("org.apache.spark.sql.headrace.Inside")
    ('operator/program', '', 'gate')
    """
    if package.startswith(GATES):
        return "gate"
    parts = package.split(".")[1:]
    return next((folder for n in (2, 1) if (folder := "/".join(parts[:n])) in FLOOR), "")


def uses(file: str, text: str) -> Iterator[Use]:
    """The names of the kernel in a file, which has its path in the kernel."""
    code = COMMENT.sub(lambda of: of[1] or re.sub(r"[^\n]", " ", of[0]), text)
    for at, name in (*_absolute(code), *_relative(file, code)):
        yield Use(file, code.count("\n", 0, at) + 1, name, folder_of(name))


def _absolute(code: str) -> Iterator[tuple[int, str]]:
    for named in NAMED.finditer(code):
        package, names, selected = named.groups()
        for name in selected.split(",") if selected else [""]:
            yield named.start(), f"{package}{names}.{name.strip().split(' ')[0]}".rstrip(".")


def _relative(file: str, code: str) -> Iterator[tuple[int, str]]:
    """The folders in the file's own are packages in scope without an import, and those in one that is imported as a whole."""
    own = ".".join(["headrace", *Path(file).parent.parts])
    for scope in {own, *re.findall(r"import (?:_root_\.)?(headrace(?:\.\w+)*)\._", code)}:
        inner = "|".join(f.rpartition("/")[2] for f in FLOOR if f and "/".join(scope.split(".")[1:]) == f.rpartition("/")[0])
        if inner:
            for match in re.finditer(rf"(?<![\w.])(?:{inner})\.(?:[A-Z]\w*|_|{{)", code):
                yield match.start(), f"{scope}.{match[0].rstrip('._{')}"


def upward(file: str, text: str) -> list[str]:
    own = folder_of(".".join(["headrace", *Path(file).parent.parts]))
    return [str(use) for use in uses(file, text) if use.folder != own and FLOOR[use.folder] >= FLOOR[own]]


def scala(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*.scala")):
        yield file.relative_to(folder).as_posix(), file.read_text(encoding="utf-8")


ALL = tuple(scala(KERNEL))


def test_every_folder_has_a_floor() -> None:
    folders = {Path(file).parent.as_posix().removeprefix(".") for file, _ in ALL}
    # What lies deeper has the floor of its folder.
    assert {folder if folder in FLOOR else folder.rpartition("/")[0] for folder in folders} == set(FLOOR)


def test_the_package_follows_the_folder() -> None:
    wrong = []
    for file, text in ALL:
        folder = re.sub(r"/spark\d\d$", "", Path(file).parent.as_posix()).removeprefix(".")
        right = GATES if folder == "gate" else (".".join(["headrace", *filter(None, folder.split("/"))]),)
        packages = re.findall(r"^\s*package (?!object)(\S+)", text, re.M)
        if len(packages) != 1 or packages[0] not in right:
            wrong.append(f"{file}: {packages} instead of {' or '.join(right)}")
    assert wrong == []


def test_imports_go_down() -> None:
    assert [wrong for file, text in ALL for wrong in upward(file, text)] == []


def test_who_looks_into_state_or_rewrites_it_knows_no_operator() -> None:
    # What lies where is said by the layouts and rewrites of the operators themselves.
    reading = [(file, text) for file, text in ALL if file.startswith(("inspect/", "deploy/"))]
    assert reading
    assert [str(use) for file, text in reading for use in uses(file, text) if use.folder.startswith("operator/")] == []
    named = {use.name.removeprefix("headrace.operator.") for file, text in reading for use in uses(file, text) if use.folder == "operator"}
    assert named == {"Layout", "Table", "ValueTable", "BagTable", "Stored", "Rewrite", "RowChange"}


def test_nothing_imports_a_connector() -> None:
    texts = [text for _, text in scala(ROOT / "src" / "headrace" / "connectors")]
    theirs = {package for text in texts for package in re.findall(r"^package (\S+)", text, re.M)} - set(GATES)
    assert theirs
    assert [
        str(use) for file, text in ALL for use in uses(file, text) if f"{use.name}.".startswith(tuple(f"{one}." for one in theirs))
    ] == []


@pytest.mark.parametrize(
    ("file", "text", "wrong"),
    [
        ("wire/Wire.scala", "import headrace.bag.Bag", ["wire/Wire.scala:1 imports headrace.bag.Bag"]),
        ("bind/Bind.scala", "\n  import headrace.route._", ["bind/Bind.scala:2 imports headrace.route._"]),
        ("bind/Bind.scala", "val s = new headrace.sink.Sink(_root_.headrace.wire.Wire)", ["bind/Bind.scala:1 imports headrace.sink.Sink"]),
        ("bind/Bind.scala", 's"$now = headrace.query.Clock.now();"', ["bind/Bind.scala:1 imports headrace.query.Clock.now"]),
        (
            "wire/Wire.scala",
            "import org.apache.spark.sql.headrace.Inside",
            ["wire/Wire.scala:1 imports org.apache.spark.sql.headrace.Inside"],
        ),
        ("wire/Wire.scala", "import headrace.{HeadraceKernelException, run}", ["wire/Wire.scala:1 imports headrace.run"]),
        ("operator/Out.scala", "import headrace.operator.{join => j, Input}", ["operator/Out.scala:1 imports headrace.operator.join"]),
        ("operator/Out.scala", "val it = program.Program", ["operator/Out.scala:1 imports headrace.operator.program.Program"]),
        ("Masking.scala", "import level.Level", ["Masking.scala:1 imports headrace.level.Level"]),
        ("wire/Wire.scala", "import headrace._\n\nobject Wire { query.Chain }", ["wire/Wire.scala:3 imports headrace.query.Chain"]),
        ("wire/Wire.scala", "import headrace.{\n  Masking,\n  run\n}", ["wire/Wire.scala:1 imports headrace.run"]),
        ("wire/Wire.scala", 'val any = "/*"; val it = headrace.run.Run // "*/"', ["wire/Wire.scala:1 imports headrace.run.Run"]),
        ("operator/join/Join.scala", "import headrace.operator.join.Sides; import headrace.operator.Input", []),
        ("bind/Bind.scala", "/** import\n headrace.run.Run */ import headrace.wire.Wire // headrace.run.Run", []),
    ],
)
def test_a_wrong_import_is_seen(file: str, text: str, wrong: list[str]) -> None:
    assert upward(file, text) == wrong


def test_the_page_has_the_floors() -> None:
    (section,) = re.findall(r"^## Layers$(.*?)^## ", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    rows = re.findall(r"^\| (\d+) \| (?:the root|`([a-z/]+)/`) \|", section, re.M)
    assert [(int(number), folder) for number, folder in rows] == [(n, folder) for n, floor in enumerate(FLOORS) for folder in floor]
