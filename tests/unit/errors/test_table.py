"""One table of error codes: each has a page and a test of its whole text (the convention is in this package's docstring)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from headrace.errors import CODES, REASONS

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "docs" / "errors"
NOT_CODES = {"index", "README"}
# What begins texts of other kinds: answers of a database, and marks between the records of Kafka.
NOT_REASONS = {"ERROR", "FATAL", "GAP"}


def _constant(node: ast.expr) -> str | None:
    """The text of a string, of an f-string as far as it begins constant, or of either joined with +."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr) and node.values:
        return _constant(node.values[0])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _constant(node.left)
    return None


def _checked(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
            place = {"check_error": 0, "problem": 2}.get(called)
            text = _constant(node.args[place]) if place is not None and len(node.args) > place else None
            # A case of one line is the reason of a dead letter.
            is_error = text is not None and (called == "check_error" or "\n" in text)
            code = re.match(r"\s*([A-Z][A-Z0-9_]*): ", text) if text and is_error else None
            if code:
                yield code[1]


def codes_in_tests() -> dict[str, set[str]]:
    """Code -> the test files that compare its whole text."""
    files_by_code: dict[str, set[str]] = {}
    for file in (ROOT / "tests").rglob("*.py"):
        for code in _checked(ast.parse(file.read_text(encoding="utf-8"))):
            files_by_code.setdefault(code, set()).add(str(file.relative_to(ROOT)))
    return files_by_code


def pages() -> set[str]:
    return {page.stem for page in PAGES.glob("*.md")} - NOT_CODES


def test_every_code_has_a_test_of_its_whole_text() -> None:
    assert sorted(set(CODES) - set(codes_in_tests())) == []


def test_every_code_that_is_tested_exists() -> None:
    assert {code: files for code, files in codes_in_tests().items() if code not in CODES} == {}


def test_every_code_has_a_page() -> None:
    assert sorted({*CODES, *REASONS} - pages()) == []


def test_every_page_has_a_code() -> None:
    assert sorted(pages() - {*CODES, *REASONS}) == []


def codes_in_sources() -> set[str]:
    """What texts in quotes begin with, in the kernel and in SQL that is made: the reasons of dead letters."""
    files = [file for kind in ("py", "scala") for file in (ROOT / "src").rglob(f"*.{kind}")]
    return {code for file in files for code in re.findall(r"[\"']([A-Z][A-Z_]{2,}): ", file.read_text(encoding="utf-8"))} - NOT_REASONS


def test_every_reason_of_a_dead_letter_has_a_page() -> None:
    codes = codes_in_sources()
    assert sorted(codes - {*CODES, *REASONS}) == []
    assert sorted(set(REASONS) - codes) == []


def test_no_reason_is_an_error_as_well() -> None:
    assert sorted(set(REASONS) & set(CODES)) == []


def test_every_page_has_a_section_fix() -> None:
    wrong = []
    for code in sorted(pages()):
        text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
        if not text.startswith(f"# {code}\n") or "\n## Fix\n" not in text:
            wrong.append(code)
    assert wrong == []
