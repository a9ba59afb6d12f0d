"""Messages that pages quote are those of the sources: a message that was reworded cannot stay in a page as it was."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

WORDS = 4
"""A run of this many plain words is looked for."""

VALUE = "*"
"""Stands for the value of a placeholder, a word of its own."""

OF_SPARK = ("Job aborted due to stage failure",)
"""Texts of Spark in messages."""

_STRING = re.compile(r'(?:"""(.*?)"""|"((?:\\.|[^"\\\n])*)")', re.DOTALL)
_BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
_MESSAGE = re.compile(r" *(?:headrace: |headrace\.errors\.\w+: )?(?:[A-Z]+(?:_[A-Z]+)+: |hint: )")
_PLAIN = re.compile(r"[a-z]+")


def words(text: str) -> list[str]:
    return [word.strip(".;:()") for word in text.split()]


def runs(text: str) -> Iterator[tuple[str, ...]]:
    parts = words(text)
    return (tuple(parts[at : at + WORDS]) for at in range(len(parts) - WORDS + 1))


def literals_of_python(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else VALUE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def literals_of_scala(file: Path) -> Iterator[str]:
    text = re.sub(r'" \+\s*s?"', "", file.read_text(encoding="utf-8"))
    for match in _STRING.finditer(text):
        yield re.sub(r"\$\{[^}]*\}|\$\w+", VALUE, match[1] or match[2] or "")


def literals() -> Iterator[str]:
    """The strings of the sources, and those of the tests: these quote messages whole, as they are put together."""
    yield from OF_SPARK
    for folder in (ROOT / "src" / "headrace", ROOT / "tests"):
        for file in sorted(folder.rglob("*.py")):
            yield from literals_of_python(file)
    for file in sorted((ROOT / "src" / "headrace").rglob("*.scala")):
        yield from literals_of_scala(file)


def known() -> set[tuple[str, ...]]:
    """Runs of words of the strings, with placeholders as VALUE."""
    return {tuple(VALUE if VALUE in word else word for word in run) for text in literals() for run in runs(text)}


def quotations() -> Iterator[tuple[str, int, str]]:
    """The lines of messages in the blocks of pages."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        for block in _BLOCK.finditer(text):
            if block[2] not in ("text", "console", ""):
                continue
            first = text.count("\n", 0, block.start(3)) + 1
            for number, line in enumerate(block[3].splitlines()):
                if _MESSAGE.match(line):
                    yield str(page.relative_to(ROOT)), first + number, line


def is_known(run: tuple[str, ...], sources: set[tuple[str, ...]]) -> bool:
    """Whether a run occurs in the sources, if up to all but one of its words are values of placeholders."""
    masks: Iterable[tuple[bool, ...]] = (mask for mask in product((False, True), repeat=WORDS) if sum(mask) < WORDS - 1)
    return any(tuple(VALUE if hidden else word for word, hidden in zip(run, mask, strict=True)) in sources for mask in masks)


def test_quoted_messages_are_those_of_the_sources() -> None:
    sources = known()
    stale = [
        f"{page}:{line}: {' '.join(run)}"
        for page, line, text in quotations()
        for run in runs(text)
        if all(_PLAIN.fullmatch(word) for word in run) and not is_known(run, sources)
    ]
    assert stale == []
