"""Conditions of joins and orders, taken apart by their text."""

from __future__ import annotations

import re

from headrace.syntax.names import parsed


def conjuncts(text: str) -> tuple[str, ...]:
    """The parts of a condition that all have to be true; the text as a whole where sqlglot cannot tell.

    >>> conjuncts("a.x = b.y AND (b.z > 1 OR a.w IS NULL)")
    ('a.x = b.y', '(b.z > 1 OR a.w IS NULL)')
    """
    tree = parsed(text)
    if tree is None:
        return (text,)
    from sqlglot import exp

    found: list[str] = []
    stack = [tree.expressions[0]]
    while stack:
        part = stack.pop()
        inner = part.unnest()
        if isinstance(inner, exp.And):
            stack += [inner.expression, inner.this]
        else:
            found.append(part.sql(dialect="spark"))
    return (text,) if len(found) == 1 else tuple(found)


def equal_sides(text: str) -> tuple[str, str, bool] | None:
    """The two sides of an equality, and whether it holds of two nulls (`<=>`); None for anything else.

    >>> equal_sides("a = b + 1"), equal_sides("a <=> b"), equal_sides("a < b")
    (('a', 'b + 1', False), ('a', 'b', True), None)
    """
    tree = parsed(text)
    if tree is None:
        return None
    from sqlglot import exp

    found = tree.expressions[0].unnest()
    if not isinstance(found, exp.EQ | exp.NullSafeEQ):
        return None
    return found.this.sql(dialect="spark"), found.expression.sql(dialect="spark"), isinstance(found, exp.NullSafeEQ)


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
    found = _ORDER.match(text)
    if found is None:
        return text, "asc", "first"
    direction = (found[2] or "asc").lower()
    return found[1], direction, (found[3] or ("first" if direction == "asc" else "last")).lower()
