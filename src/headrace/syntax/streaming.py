"""Streaming SQL beyond Spark's grammar: time windows in FROM, PROCTIME(), and EMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.syntax.tokens import tokens as tokens_of

_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_NOW = "PROCTIME"
_CLOSE = ("EMIT", "ON", "WINDOW", "CLOSE")
_EARLY, _BEFORE = ("EMIT", "WITH", "DELAY", "INTERVAL"), ("BEFORE", "WATERMARK")
_AFTER = (",", "WITHOUT", "DELAY", "AFTER", "WATERMARK")


@dataclass(frozen=True)
class Emit:
    """The EMIT of a query: results are sent when windows close, and with `early` also at this interval before that."""

    early: str | None = None


def streaming(query: str) -> tuple[str, Emit | None]:
    """Return a query that Spark's parser accepts, and the EMIT at its end.

    Blanks replace the EMIT, a TABLE before a name, and the TABLE(...) around a window function, so that everything else keeps its line and
    column. Columns after PARTITION BY become arguments of their own, and PROCTIME() becomes now().

    >>> streaming("SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), '1 hour')) EMIT ON WINDOW CLOSE")
    ("SELECT * FROM       TUMBLE(      t, DESCRIPTOR(ts), '1 hour')                      ", Emit(early=None))
    """
    if not any(word in query.upper() for word in (*_FUNCTIONS, _NOW, *_CLOSE[:1])):
        return query, None
    tokens = tokens_of(query)
    words = [token.text.upper() for token in tokens]
    # A token that is longer than its text is a quoted name or a string.
    plain = [token.end - token.start + 1 == len(token.text) for token in tokens]
    last = len(words) - (1 if words[-1:] == [";"] else 0)
    emit, first = _emit([word if is_plain else "" for word, is_plain in zip(words, plain, strict=True)], tokens, last)
    gone = [*range(first, last)]
    commas = []
    for at, word in enumerate(words):
        if word in _FUNCTIONS and plain[at] and words[at + 1 : at + 2] == ["("]:
            gone += _around(words, at) + _tables(words, at + 1)
            if word == "SESSION":
                by = _partitions(words, at + 1)
                commas += by[:1]
                gone += by
    text = list(query)
    for at in gone:
        text[tokens[at].start : tokens[at].end + 1] = " " * (tokens[at].end + 1 - tokens[at].start)
    for at in commas:
        text[tokens[at].start] = ","
    for at, word in enumerate(words):
        if word == _NOW and plain[at] and words[at + 1 : at + 3] == ["(", ")"]:
            text[tokens[at].start : tokens[at].end + 1] = "now".ljust(len(_NOW))
    return "".join(text), emit


def _emit(words: Sequence[str], tokens: Sequence[Any], last: int) -> tuple[Emit | None, int]:
    """Return the EMIT that ends before the word `last`, and its start; quoted words are empty in `words`."""

    def ends(at: int, with_: Sequence[str]) -> bool:
        return tuple(words[max(at - len(with_), 0) : at]) == tuple(with_)

    if ends(last, _CLOSE):
        return Emit(), last - len(_CLOSE)
    at = last - (len(_AFTER) if ends(last, _AFTER) else 0)
    # the interval is two tokens, as '1' MINUTE, or one, as '1 minute'
    for size in (2, 1):
        first = at - len(_BEFORE) - size
        if ends(at, _BEFORE) and ends(first, _EARLY):
            return Emit(" ".join(token.text for token in tokens[first : first + size])), first - len(_EARLY)
    return None, last


def _around(words: Sequence[str], at: int) -> list[int]:
    """Return the places of TABLE, ( and ) around a call."""
    if list(words[max(at - 2, 0) : at]) != ["TABLE", "("]:
        return []
    return [at - 2, at - 1, _end(words, at - 1)]


def _tables(words: Sequence[str], opening: int) -> list[int]:
    """Return the places of TABLE without a bracket after it in the arguments of a call."""
    places, depth = [], 0
    for at in range(opening, _end(words, opening)):
        depth += (words[at] in "([") - (words[at] in ")]")
        if depth == 1 and words[at] == "TABLE" and words[at + 1] != "(":
            places.append(at)
    return places


def _partitions(words: Sequence[str], opening: int) -> list[int]:
    """Return the places of PARTITION BY in the arguments of a call, and of the brackets around its columns."""
    depth = 0
    for at in range(opening, _end(words, opening)):
        depth += (words[at] in "([") - (words[at] in ")]")
        if depth == 1 and words[at] == "PARTITION BY":
            end = _end(words, at + 1)
            return [at, at + 1, end] if words[at + 1] == "(" and words[end + 1 : end + 2] in ([","], [")"]) else [at]
    return []


def _end(words: Sequence[str], opening: int) -> int:
    """Return the place of the closing bracket; of the last word if there is none."""
    depth = 0
    for at in range(opening, len(words)):
        depth += (words[at] == "(") - (words[at] == ")")
        if depth == 0:
            return at
    return len(words) - 1
