"""Looks for prose that reads oddly, in the documentation: `make lint`.

A pattern is here because it stood in a page and puzzled a reader. Sentences of more than 35 words are counted as a warning.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Pattern -> what to write instead.
ODD = {
    r"\b(?:does|do) not do\b": "say what is wrong: invalid, unsuitable",
    r"\bnone else\b": "no other",
    r"\bis nobody's\b": "say who owns it, or that it is ignored",
    r"\bby custom\b": "by convention",
    r"\bhow many-th\b": "the number of",
    r"\b(?:is|was|are|were) (?:told|said)\b": "is reported, is known, or name the speaker",
    r"\btells? of\b": "describes",
    r"\bcom(?:e|es) of it\b": "results",
    r"(?:^|[.:;] )What (?:is|are|has|have|was|comes|goes|stands|becomes) [^.?!\n]*,": "a noun as the subject",
    r"(?:^|[.:;] )Who (?:is|has|wants|writes|reads|comes|needs|puts|takes)\b": "a noun as the subject",
    r"\btak(?:e|es|en|ing) away\b": "delete, retract",
    r"\bat the most\b": "at most",
    r"\bso to say\b": "leave it out",
    r"\bas it is now\b": "current",
    r"\bfor itself\b": "on its own",
    r"\bwith pleasure\b|\bof course\b|\bsimply\b|\bjust\b": "leave it out",
    r"\b(?:powerful|seamless(?:ly)?|blazing|robust)\b": "a fact",
}
LONG = 35
_FENCED = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
_COMMENT = re.compile(r"<!--.*?-->", re.S)


def pages() -> list[Path]:
    """What people wrote; results and the reference come from elsewhere."""
    kept = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "results"]
    return [*kept, *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG"))]


def prose(page: Path) -> str:
    """A page's text with its line numbers, without code, inline code and comments."""
    text = page.read_text(encoding="utf-8")
    for pattern in (_FENCED, _COMMENT):
        text = pattern.sub(lambda block: "\n" * block[0].count("\n"), text)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def odd(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, words and the cure of each place that reads oddly."""
    for pattern, cure in ODD.items():
        for place in re.finditer(pattern, text, re.M):
            yield text.count("\n", 0, place.start()) + 1, " ".join(place[0].split()), cure


def sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs and list items; tables and headings have none."""
    for paragraph in re.split(r"\n\s*\n|^\s*[*-] ", text, flags=re.M):
        if not paragraph.lstrip().startswith(("|", "#", "=", "<")):
            yield from re.split(r"(?<=[.:;?]) ", " ".join(paragraph.split()))


def main() -> int:
    texts = {page: prose(page) for page in pages()}
    places = [
        f"{page.relative_to(ROOT)}:{line}: {words!r}: {cure}" for page, text in texts.items() for line, words, cure in sorted(odd(text))
    ]
    long = sum(len(sentence.split()) > LONG for text in texts.values() for sentence in sentences(text))
    print("\n".join([*places, f"prose: {len(places)} odd places, {long} sentences of more than {LONG} words (a warning)"]))
    return 1 if places else 0


if __name__ == "__main__":
    sys.exit(main())
