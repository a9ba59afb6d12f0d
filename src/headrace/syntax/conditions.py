"""Conditions of joins and orders, taken apart by their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from headrace.syntax.names import parsed
from headrace.syntax.tokens import outer, tokens, unwrapped, written

_EQUALITIES = ("EQ", "NULLSAFE_EQ")
_PREDICATES = {*_EQUALITIES, "NEQ", "LT", "LTE", "GT", "GTE", "IS", "IN", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "NOT", "AND", "OR", "XOR"}
"""What binds less than the operators of a value; of several, the first one read is not always the first one applied."""


@lru_cache(maxsize=8192)
def conjuncts(text: str) -> tuple[str, ...]:
    """The parts of a condition that all have to be true, as they were written; the whole text where that is not certain.

    >>> conjuncts("a.x = b.y AND (b.z > 1 OR a.w IS NULL)")
    ('a.x = b.y', '(b.z > 1 OR a.w IS NULL)')
    >>> conjuncts("a BETWEEN 1 AND 2 AND b = 'it''s' -- a note")
    ('a BETWEEN 1 AND 2', "b = 'it''s'")
    """
    whole = tokens(text)
    parts = tuple(_conjuncts(whole)) if whole else ()
    return tuple(written(text, part) for part in parts) if all(parts) and parts else (text,)


def _conjuncts(part: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """The tokens between each AND that stands outside of brackets and belongs to no BETWEEN."""
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
    """The two sides of an equality as they were written, and whether it holds of two nulls (`<=>`); None for anything else.

    >>> equal_sides("a = b + 1"), equal_sides("a <=> b"), equal_sides("a < b"), equal_sides("a = b IS NULL")
    (('a', 'b + 1', False), ('a', 'b', True), None, None)
    """
    inside = unwrapped(tokens(text))
    found = [(at, name) for at, name in outer(inside) if name in _PREDICATES]
    if len(found) != 1 or found[0][1] not in _EQUALITIES or not 0 < found[0][0] < len(inside) - 1:
        return None
    at, name = found[0]
    return written(text, inside[:at]), written(text, inside[at + 1 :]), name == "NULLSAFE_EQ"


def upper_bound(text: str) -> tuple[str, int] | None:
    """The column that a comparison bounds from above, and the largest whole number it can be; None for anything else.

    >>> upper_bound("rn <= 3"), upper_bound("4 > t.rn"), upper_bound("rn = 1"), upper_bound("rn > 1")
    (('rn', 3), ('rn', 3), ('rn', 1), None)
    """
    tree = parsed(text)
    if tree is None:
        return None
    from sqlglot import exp

    found = tree.expressions[0].unnest()
    turned = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ}
    kind, column, bound = type(found), found.this, found.args.get("expression")
    if isinstance(column, exp.Literal):
        kind, column, bound = turned.get(kind, exp.Expression), bound, column
    if kind not in turned.values() or not isinstance(column, exp.Column) or not isinstance(bound, exp.Literal) or not bound.is_int:
        return None
    return column.name, int(bound.this) - (1 if kind is exp.LT else 0)


_ORDER = re.compile(r"(?is)^(.*?\S)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*$")


def ordering(text: str) -> tuple[str, str, str]:
    """A text of ORDER BY as expression, direction and place of nulls, which is Spark's where it is not said.

    >>> ordering("amount"), ordering("amount DESC"), ordering("upper(card) desc nulls first")
    (('amount', 'asc', 'first'), ('amount', 'desc', 'last'), ('upper(card)', 'desc', 'first'))
    """
    whole = tokens(text)
    found = _ORDER.match(written(text, whole)) if whole else None
    if found is None:
        return text, "asc", "first"
    direction = (found[2] or "asc").lower()
    return found[1], direction, (found[3] or ("first" if direction == "asc" else "last")).lower()
