"""Spark SQL text as tokens, and parts of it as written.

The SQL that runs is always cut from the user's own text. A tree printed by sqlglot may mean something else, because it rewrites literals,
formats and functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

_CLOSES = {"R_PAREN": "L_PAREN", "R_BRACKET": "L_BRACKET", "R_BRACE": "L_BRACE", "END": "CASE"}


@cache
def tokenizer() -> Any:
    from sqlglot.dialects.spark import Spark

    class Tokenizer(Spark.Tokenizer):
        # After a word of this set sqlglot reads up to the next semicolon as one string, despite quotes.
        COMMANDS = set()  # noqa: RUF012  # as in sqlglot's own tokenizers

    return Tokenizer


@lru_cache(maxsize=8192)
def tokens(text: str) -> tuple[Any, ...]:
    """Return the tokens of a text, each from `start` to `end` inclusive; none if sqlglot cannot read it."""
    return _tokens(continued(text))


def _tokens(text: str) -> tuple[Any, ...]:
    from sqlglot.errors import SqlglotError

    try:
        return tuple(tokenizer()().tokenize(text))
    except SqlglotError:
        return ()


_CONTINUED = "\\\n"


def continued(text: str) -> str:
    """Return a text whose comments end for sqlglot where they end for Spark.

    In Spark a backslash at the end of the line continues a comment. It and the line break become blanks, so that all else keeps its place.
    """
    while _CONTINUED in text:
        parsed = _tokens(text)
        gaps = zip([0, *(token.end + 1 for token in parsed)], [*(token.start for token in parsed), len(text)], strict=True)
        place = next((at for first, last in gaps if (at := text.find(_CONTINUED, first, last)) >= 0), -1) if parsed else -1
        if place < 0:
            break
        text = f"{text[:place]}  {text[place + 2 :]}"
    return text


def written(text: str, part: Sequence[Any]) -> str:
    """Return the text of tokens, without the comments around them."""
    return text[part[0].start : part[-1].end + 1]


def outer(part: Sequence[Any]) -> list[tuple[int, str]]:
    """Return the places and kinds of the tokens outside all brackets and CASE ... END; none if those do not match."""
    return [(at, kind) for at, (kind, depth) in enumerate(_depths(part)) if depth == 0 and kind not in _CLOSES.values()]


def unwrapped(part: Sequence[Any]) -> Sequence[Any]:
    """Return tokens without the parentheses around all of them."""
    while (depths := _depths(part)) and depths[0][0] == "L_PAREN" and all(depth > 0 for _, depth in depths[1:]):
        part = part[1:-1]
    return part


def _depths(part: Sequence[Any]) -> list[tuple[str, int]]:
    """Return the kind and nesting depth of each token; nothing if brackets do not match."""
    kinds: list[tuple[str, int]] = []
    opened: list[str] = []
    for token in part:
        # Any word after a dot is a name.
        kind = "VAR" if kinds and kinds[-1][0] == "DOT" else str(token.token_type.name)
        if kind == "END" and opened[-1:] != ["CASE"]:
            kind = "VAR"
        kinds.append((kind, len(opened)))
        if kind in _CLOSES:
            if opened[-1:] != [_CLOSES[kind]]:
                return []
            opened.pop()
        elif kind in _CLOSES.values():
            opened.append(kind)
    return [] if opened else kinds
