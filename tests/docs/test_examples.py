"""What the documentation shows is run, and what it says is printed must be printed.

A block marked `python` is run, the blocks of a page one after the other in one namespace; a block marked `text` right after it is what it prints. Blocks that
are only to be read are marked `py`. Pages of error codes show what fails, and are left to the tests of those errors.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import itertools
import linecache
import pkgutil
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

import pytest

import headrace
from headrace.ops.handle import Handle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.M | re.S)


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Kind, text and first line of each block; one with a title is a file that tests/docs/test_start.py writes."""
    text = page.read_text(encoding="utf-8")
    return [("file" if block[2] else block[1], block[3], text.count("\n", 0, block.start(3)) + 1) for block in _BLOCK.finditer(text)]


def titled(page: Path) -> list[tuple[str, str, str]]:
    """Kind, title and text of each block."""
    return [(block[1], block[2] or "", block[3]) for block in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


COOKBOOK = sorted((ROOT / "docs" / "cookbook").glob("*.md"))
# run by tests/servers/test_pages.py, which has the servers
SERVED = ("kafka.md", "correct.md", "year.md")
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.parent.name != "errors" and page.name not in SERVED and any(kind == "python" for kind, _, _ in blocks(page))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)).removeprefix("docs/"))
def test_page(page: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(page)


def run(page: Path, replaced: Mapping[str, str] | None = None) -> None:
    """Run a page's blocks; `replaced`: texts in them that are another one here, as the address of a server."""
    names: dict[str, object] = {"__name__": "__main__"}
    all_blocks = blocks(page)
    for number, (kind, code, line) in enumerate(all_blocks):
        if kind != "python":
            continue
        # As if the page were the file that runs, so that errors name its lines.
        for shown, meant in (replaced or {}).items():
            code = code.replace(shown, meant)
        source = "\n" * (line - 1) + code
        file = f"<{page.name}:{line}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, file, "exec"), names)
        following = all_blocks[number + 1] if number + 1 < len(all_blocks) else ("", "", 0)
        expected = following[1] if following[0] == "text" else ""
        assert printed.getvalue() == expected, f"{page.name}:{line}"


@pytest.mark.parametrize("page", [page for page in COOKBOOK if page.name != "index.md"], ids=lambda page: page.name)
def test_a_recipe_shows_what_it_prints(page: Path) -> None:
    kinds = [kind for kind, _, _ in blocks(page)]
    assert ("python", "text") in itertools.pairwise(kinds), "its program is run, and its output compared"
    assert set(kinds) <= {"python", "text", "py", "java", "sql"}, "a block of another kind is not looked at"
    assert "\n## The same elsewhere\n" in page.read_text(encoding="utf-8")


def test_the_first_program_is_short() -> None:
    _, first, _ = next(block for block in blocks(ROOT / "README.md") if block[0] == "python")
    assert sum(bool(line.strip()) for line in first.splitlines()) <= 25


def modules() -> list[str]:
    names = [module.name for module in pkgutil.walk_packages(headrace.__path__, "headrace.") if not module.name.endswith("__main__")]
    return ["headrace", *(name for name in names if "\n>>> " in _source(name) or "    >>> " in _source(name))]


def _source(name: str) -> str:
    place = ROOT.joinpath("src", *name.split("."))
    return (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", modules())
def test_docstrings(name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    report = io.StringIO()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with contextlib.redirect_stdout(report):
        failed, _ = doctest.testmod(module, optionflags=flags)
        runner = doctest.DocTestRunner(optionflags=flags)
        failed += sum(runner.run(example).failed for example in verbs(module))
    assert failed == 0, report.getvalue()


def verbs(module: ModuleType) -> Iterator[doctest.DocTest]:
    """The examples of verbs: they name `Stream` as their home, so doctest passes over them in the module that has them."""
    for cls in vars(module).values():
        if isinstance(cls, type) and issubclass(cls, Handle) and cls.__module__ == module.__name__:
            for name, method in vars(cls).items():
                if isinstance(method, FunctionType) and ">>> " in (method.__doc__ or ""):
                    yield doctest.DocTestParser().get_doctest(method.__doc__ or "", {}, f"Stream.{name}", module.__file__, 0)
