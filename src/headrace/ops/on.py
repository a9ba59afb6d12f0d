"""What `on=` of a join says: columns that both sides have, or a condition over both, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import PlanError, here
from headrace.expr import of_text
from headrace.ops.columns import bare, column_name, label
from headrace.plan import Node
from headrace.syntax import conjuncts, equal_sides, references

Parts = tuple[list[tuple[str, str]], list[int], list[str]]
"""The equalities of both sides, which of them hold of two nulls, and the other conditions."""


def names_of(left: Node, right: Node, on: Any, verb: str) -> tuple[str, ...] | None:
    """The columns of `on` where it names some, as the left side spells them; None where it is a condition."""
    if isinstance(on, str) and on.strip().isidentifier():
        on = (on,)
    if isinstance(on, str) or not isinstance(on, Sequence):
        return None
    if not on:
        raise PlanError("BAD_JOIN", f"{verb} was given no columns", hint='on="card", or a condition: on="a.card = b.number"', site=here())
    for name in on:
        column_name(right, name)
    return tuple(column_name(left, name) for name in on)


def over_both(left: Node, right: Node, text: str, aliases: tuple[str | None, str | None]) -> str:
    """A condition without the aliases of the streams, its columns checked."""
    for alias in aliases:
        expression = bare(of_text(text)._expression, alias)
        text = expression.text
    both = {name.lower() for name in (*left.columns, *right.columns)}
    for path in references(text) or ():
        if path[0].lower() not in both:
            hint = f"there are: {', '.join((*left.columns, *right.columns))}"
            raise PlanError("UNKNOWN_COLUMN", f"no column `{'.'.join(path)}` in {label(left)} or {label(right)}", hint=hint, site=here())
    return text


def sides_of(left: Node, right: Node, text: str, aliases: tuple[str | None, str | None]) -> Parts:
    """What a user's condition over both sides consists of."""
    return apart(left, right, over_both(left, right, text, aliases))


def apart(left: Node, right: Node, condition: str | None) -> Parts:
    keys: list[tuple[str, str]] = []
    safe: list[int] = []
    rest: list[str] = []
    for part in conjuncts(condition) if condition is not None else ():
        sides = equal_sides(part)
        of = [_side(one, left, right) for one in sides[:2]] if sides is not None else []
        if sides is not None and sorted(of) == ["left", "right"]:
            safe += [len(keys)] if sides[2] else []
            keys.append((sides[0], sides[1]) if of[0] == "left" else (sides[1], sides[0]))
        else:
            rest.append(part)
    return keys, safe, rest


def _side(text: str, left: Node, right: Node) -> str:
    """Which side's columns a text is over: left, right, or both or neither."""
    paths = references(text)
    used = {path[0].lower() for path in paths or ()}
    if not used:
        return "neither"
    if used <= {name.lower() for name in left.columns}:
        return "left"
    return "right" if used <= {name.lower() for name in right.columns} else "both"
