"""Window functions in Spark SQL text: where they stand, and the partition and order that they are over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.syntax.conditions import ordering
from headrace.syntax.tokens import tokens as tokens_of


@dataclass(frozen=True)
class Window:
    """A call with its OVER, from `start` up to `end` of the text: the texts it is partitioned by, and its order as `ordering` gives it."""

    start: int
    end: int
    per: tuple[str, ...]
    order: tuple[tuple[str, str, str], ...]


def windows(text: str) -> tuple[Window, ...]:
    """The window functions of a text, in their order; none where sqlglot cannot read its words, which Spark then judges.

    >>> text = "amount - lag(amount) OVER (PARTITION BY card ORDER BY ts DESC)"
    >>> [found] = windows(text)
    >>> text[found.start : found.end], found.per, found.order
    ('lag(amount) OVER (PARTITION BY card ORDER BY ts DESC)', ('card',), (('ts', 'desc', 'last'),))
    """
    if "over" not in text.lower():
        return ()
    tokens = tokens_of(text)
    words = [token.text.upper() for token in tokens]
    found = []
    for i, word in enumerate(words):
        if word == "OVER" and i + 1 < len(words) and words[i + 1] == "(" and (first := _call(words, i)) is not None:
            last = _closing(words, i + 1)
            if words[last] != ")":
                return ()
            per, order = _over(text, tokens[i + 2 : last], words[i + 2 : last])
            found.append(Window(tokens[first].start, tokens[last].end + 1, per, order))
    return tuple(found)


def _call(words: Sequence[str], over: int) -> int | None:
    """The place of the function's name before an OVER, past `IGNORE NULLS` and `FILTER (...)`."""
    at = over - 1
    if at > 0 and words[at] == "NULLS":
        at -= 2
    if at < 0 or words[at] != ")":
        return None
    at = _opening(words, at) - 1
    if at > 0 and words[at] == "FILTER":
        at = _opening(words, at - 1) - 1
    return at if at >= 0 else None


def _opening(words: Sequence[str], at: int) -> int:
    depth = 0
    while True:
        depth += (words[at] == ")") - (words[at] == "(")
        if depth == 0 or at == 0:
            return at
        at -= 1


def _closing(words: Sequence[str], at: int) -> int:
    depth = 0
    while True:
        depth += (words[at] == "(") - (words[at] == ")")
        if depth == 0 or at == len(words) - 1:
            return at
        at += 1


def _over(text: str, tokens: Sequence[Any], words: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]:
    """What stands between the parentheses: texts of PARTITION BY and of ORDER BY."""
    lists: dict[str, list[str]] = {"PARTITION": [], "ORDER": []}
    part, begun, depth = "", 0, 0

    def ended(at: int) -> None:
        if part and at > begun:
            lists[part].append(text[tokens[begun].start : tokens[at - 1].end + 1])

    for i, word in enumerate(words):
        starts = depth == 0 and (word in ("ROWS", "RANGE") or word.split()[0] in lists)
        if starts or (depth == 0 and word == ","):
            ended(i)
            begun = i + 1
        if starts:
            part = word.split()[0] if word.split()[0] in lists else ""
            # sqlglot takes PARTITION BY for one word, as it does ORDER BY.
            begun += 1 if part and word == part else 0
        depth += (word == "(") - (word == ")")
    ended(len(words))
    return tuple(lists["PARTITION"]), tuple(ordering(one) for one in lists["ORDER"])
