"""Window functions in Spark SQL text: their places, partitions and orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.syntax.conditions import ordering
from headrace.syntax.tokens import tokens as tokens_of


@dataclass(frozen=True)
class Window:
    """A call with its OVER, from `start` up to `end` of the text: the texts of its partition, and its order as `ordering` returns it."""

    start: int
    end: int
    per: tuple[str, ...]
    order: tuple[tuple[str, str, str], ...]


def windows(text: str) -> tuple[Window, ...]:
    """Return the window functions of a text, in order; none if sqlglot cannot read the text, which Spark then judges.

    >>> text = "amount - lag(amount) OVER (PARTITION BY card ORDER BY ts DESC)"
    >>> [found] = windows(text)
    >>> text[found.start : found.end], found.per, found.order
    ('lag(amount) OVER (PARTITION BY card ORDER BY ts DESC)', ('card',), (('ts', 'desc', 'last'),))
    """
    if "over" not in text.lower():
        return ()
    tokens = tokens_of(text)
    words = [token.text.upper() for token in tokens]
    calls = []
    for i, word in enumerate(words):
        if word == "OVER" and i + 1 < len(words) and words[i + 1] == "(" and (first := _call(words, i)) is not None:
            last = _closing(words, i + 1)
            if words[last] != ")":
                return ()
            per, order = _over(text, tokens[i + 2 : last], words[i + 2 : last])
            calls.append(Window(tokens[first].start, tokens[last].end + 1, per, order))
    return tuple(calls)


def _call(words: Sequence[str], over: int) -> int | None:
    """Return the place of the function's name before an OVER, past `IGNORE NULLS` and `FILTER (...)`."""
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
    """Return the texts of PARTITION BY and the orders of ORDER BY, from the tokens between the parentheses."""
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
            # PARTITION BY and ORDER BY are one token of sqlglot each; PARTITION or ORDER alone is followed by BY.
            begun += 1 if part and word == part else 0
        depth += (word == "(") - (word == ")")
    ended(len(words))
    return tuple(lists["PARTITION"]), tuple(ordering(one) for one in lists["ORDER"])
