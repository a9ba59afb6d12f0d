"""Splits conditions of joins, and orders, by their tokens: verbs do this before there is a Spark session.

They are split where Spark's parser splits them, or not at all; tests/spark/kernel/test_texts.py compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from headrace.syntax.tokens import outer, tokens, unwrapped, written

_EQUALITIES = ("EQ", "NULLSAFE_EQ")
_PREDICATES = {*_EQUALITIES, "NEQ", "LT", "LTE", "GT", "GTE", "IS", "IN", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "NOT", "AND", "OR", "XOR"}
"""Operators of lower precedence than those of values. With several of them the text's order does not show which is applied first."""

_BEFORE = {"PLUS", "DASH", "NOT"}
"""Prefix operators."""
_SIGNS = {
    *(*_EQUALITIES, "NEQ", "LT", "LTE", "GT", "GTE", "LIKE", "ILIKE", "RLIKE", "IS", "IN"),
    *("PLUS", "DASH", "STAR", "SLASH", "DIV", "MOD", "DPIPE", "PIPE", "AMP", "CARET", "NOT", "DOT"),
}
"""Operators with an operand after them, and, except for prefix operators, one before them."""


@lru_cache(maxsize=8192)
def conjuncts(text: str) -> tuple[str, ...]:
    """Return the conjuncts of a condition as written, or the whole text if they are not certain.

    >>> conjuncts("a.x = b.y AND (b.z > 1 OR a.w IS NULL)")
    ('a.x = b.y', '(b.z > 1 OR a.w IS NULL)')
    >>> conjuncts("a BETWEEN 1 AND 2 AND b = 'it''s' -- a note")
    ('a BETWEEN 1 AND 2', "b = 'it''s'")
    >>> conjuncts("a = and AND b")
    ('a = and AND b',)
    """
    whole = tokens(text)
    parts = tuple(_conjuncts(whole)) if whole else ()
    return tuple(written(text, part) for part in parts) if parts and all(map(_whole, parts)) else (text,)


def _whole(part: Sequence[Any]) -> bool:
    """Return whether tokens may be an expression: there are some, and no operator at either end lacks an operand."""
    kinds = [token.token_type.name for token in part]
    return kinds == ["STAR"] or (bool(kinds) and kinds[-1] not in _SIGNS and kinds[0] not in _SIGNS - _BEFORE)


def _conjuncts(part: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """Yield the tokens between ANDs that are outside brackets and belong to no BETWEEN; all tokens if there is an OR."""
    inside = unwrapped(part)
    ends: list[int] = []
    between = 0
    for at, name in outer(inside):
        if name in ("OR", "XOR"):
            ends.clear()
            break
        if name == "AND" and between == 0:
            ends.append(at)
        between += (name == "BETWEEN") - (name == "AND" and between > 0)
    if not ends:
        yield part
        return
    for first, end in zip([0, *(at + 1 for at in ends)], [*ends, len(inside)], strict=True):
        yield from _conjuncts(inside[first:end])


@lru_cache(maxsize=8192)
def equal_sides(text: str) -> tuple[str, str, bool] | None:
    """Return the two sides of an equality as written, and whether it is null-safe (`<=>`); None for other conditions.

    >>> equal_sides("a = b + 1"), equal_sides("a <=> b"), equal_sides("a < b"), equal_sides("a = b IS NULL")
    (('a', 'b + 1', False), ('a', 'b', True), None, None)
    """
    inside = unwrapped(tokens(text))
    predicates = [(at, name) for at, name in outer(inside) if name in _PREDICATES]
    if len(predicates) != 1 or predicates[0][1] not in _EQUALITIES or not 0 < predicates[0][0] < len(inside) - 1:
        return None
    at, name = predicates[0]
    return written(text, inside[:at]), written(text, inside[at + 1 :]), name == "NULLSAFE_EQ"


def ordering(text: str) -> tuple[str, str, str]:
    """Return an item of ORDER BY as expression, direction and place of nulls, with Spark's defaults.

    >>> ordering("amount"), ordering("amount DESC"), ordering("upper(card) desc nulls first")
    (('amount', 'asc', 'first'), ('amount', 'desc', 'last'), ('upper(card)', 'desc', 'first'))
    """
    part: Sequence[Any] = tokens(text)
    part, nulls = _without(part, {("NULLS", "FIRST"): "first", ("NULLS", "LAST"): "last"})
    part, direction = _without(part, {("ASC",): "asc", ("DESC",): "desc"})
    if not part:
        return text, "asc", "first"
    direction = direction or "asc"
    return written(text, part), direction, nulls or ("first" if direction == "asc" else "last")


def _without(part: Sequence[Any], ends: Mapping[tuple[str, ...], str]) -> tuple[Sequence[Any], str]:
    """Return tokens without one of these endings, and its meaning. In quotes or after a dot the word is a name and no ending."""
    for ending, meaning in ends.items():
        before, last = part[: -len(ending)], part[-len(ending) :]
        bare = all(token.token_type.name != "IDENTIFIER" and not token.token_type.name.endswith("STRING") for token in last)
        if _whole(before) and bare and tuple(token.text.upper() for token in last) == ending:
            return before, meaning
    return part, ""
