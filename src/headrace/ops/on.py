"""The `on=` of a join, taken apart: columns that both sides have, or a condition over both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import PlanError, here
from headrace.expr import of_text
from headrace.ops.columns import bare, column_name, label
from headrace.ops.project import Project
from headrace.plan import Node
from headrace.syntax import conjuncts, equal_sides, quote, references, unqualified

Aliases = tuple[str | None, str | None]
"""The aliases of the left and the right stream in a condition."""

Parts = tuple[list[tuple[str, str]], list[int], list[str]]
"""The equalities between both sides, which of them hold for two nulls, and the other conditions."""


def names_of(left: Node, right: Node, on: Any, verb: str) -> tuple[str, ...] | None:
    """Return the columns of `on` if it names some, as the left side spells them; None if it is a condition."""
    if isinstance(on, str) and on.strip().isidentifier():
        on = (on,)
    if isinstance(on, str) or not isinstance(on, Sequence):
        return None
    if not on:
        raise PlanError(
            "BAD_JOIN", f"{verb} needs at least one column", hint='write on="card", or a condition: on="a.card = b.number"', site=here()
        )
    for name in on:
        column_name(right, name)
    return tuple(column_name(left, name) for name in on)


def over_both(left: Node, right: Node, text: str, aliases: Aliases) -> str:
    """Return a condition without the aliases of the streams, its columns checked."""
    for alias in aliases:
        expression = bare(of_text(text)._expression, alias)
        text = expression.text
    both = {name.lower() for name in (*left.columns, *right.columns)}
    for path in references(text) or ():
        if path[0].lower() not in both:
            raise _unknown(left, right, path)
    return text


def _unknown(left: Node, right: Node, path: tuple[str, ...]) -> PlanError:
    qualifier = next(
        (node for node in (left, right) if len(path) > 1 and node.name is not None and node.name.lower() == path[0].lower()), None
    )
    if qualifier is not None:
        hint = f'to use the qualifier `{path[0]}`, write {label(qualifier)}.alias("{path[0]}")'
    else:
        hint = f"there are: {', '.join(dict.fromkeys((*left.columns, *right.columns)))}"
    return PlanError("UNKNOWN_COLUMN", f"no column `{'.'.join(path)}` in {label(left)} or {label(right)}", hint=hint, site=here())


def shared(left: Node, right: Node) -> list[str]:
    """Return the columns of the right side that have the name of one of the left side."""
    taken = {name.lower() for name in left.columns}
    return [name for name in right.columns if name.lower() in taken]


def set_apart(left: Node, right: Node, text: str, aliases: Aliases, verb: str) -> tuple[Node, str]:
    """Return the right side and the condition with new names for columns that both sides have, for a verb that gives no right columns."""
    plain = over_both(left, right, text, aliases)
    both = shared(left, right)
    if not both:
        return right, plain
    known = {alias.lower() for alias in aliases if alias is not None}
    for path in references(text) or ():
        if not (len(path) > 1 and path[0].lower() in known) and path[0].lower() in {name.lower() for name in both}:
            cure = f'{label(left)}.alias("a").{verb}({label(right)}.alias("b"), on="a.{path[0]} = b.{path[0]}", ...)'
            message = f"`{path[0]}` is ambiguous: it is a column of {label(left)} and of {label(right)}"
            raise PlanError("BAD_JOIN", message, hint=f"give the streams aliases: {cure}", site=here())
    taken = [*left.columns, *right.columns]
    renamed: dict[str, str] = {}
    for name in both:
        renamed[name.lower()] = free(f"{name}_right", taken)
        taken.append(renamed[name.lower()])
    if aliases[1] is not None:
        text = unqualified(text, aliases[1], renamed)
    items = tuple((renamed.get(name.lower(), name), quote(name)) for name in right.columns)
    moved = Project(right, verb, items, site=here())
    return moved, over_both(left, moved, text, aliases)


def free(wanted: str, taken: Sequence[str]) -> str:
    """Return a name that no column has."""
    has = {name.lower() for name in taken}
    while wanted.lower() in has:
        wanted += "_"
    return wanted


def sides_of(left: Node, right: Node, text: str, aliases: Aliases) -> Parts:
    """Return the parts of a user's condition over both sides."""
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
    """Return the side whose columns an expression is over: left, right, both or neither."""
    paths = references(text)
    used = {path[0].lower() for path in paths or ()}
    if not used:
        return "neither"
    if used <= {name.lower() for name in left.columns}:
        return "left"
    return "right" if used <= {name.lower() for name in right.columns} else "both"
