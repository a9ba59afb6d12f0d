"""Rows of two streams that meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

from headrace.errors import PlanError, here
from headrace.expr import of_text
from headrace.ops.columns import bare, checked, column_name, duplicate, label
from headrace.ops.expires import Duration, expiring, expiry
from headrace.ops.project import Project
from headrace.ops.source import DEAD_LETTER
from headrace.ops.window import CHANGES, CLOSE
from headrace.plan import Node, Role, node
from headrace.syntax import conjuncts, equal_sides, quote, references

HOWS = ("inner", "left", "right", "full", "semi", "anti")
EMITS = (CHANGES, CLOSE)

_Parts = tuple[list[tuple[str, str]], list[int], list[str]]
"""Keys of both sides, which of them also meet where both are null, and the other parts of a condition."""


@node("join", Role.STATEFUL)
class Join(Node):
    """Rows of two inputs whose keys are equal and for which the condition is true.

    `how`: inner; left and full also give rows that meet none, with nulls; semi and anti give the left rows that meet some, or none;
    existence gives each left row with whether it does, in the column `mark`. A key is a text over the left columns and one over the
    right; keys in `null_safe` (by number) also meet where both are null. The inputs have no column name in common. `expires_ms`: after how
    long without rows of either side a key is forgotten. `emit`: that a row meets none is said at once and taken back when it does
    ("changes"), or once, when it can meet none any more ("close").

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
    >>> cards = hr.read.memory([("a", "SE")], "card string, country string", name="cards")
    >>> charges.join(cards, on="card")                         # epoch 1: charges +(a, 7), cards +(a, SE)   ->   +(a, 7, SE)
    <Stream join.join: card, amount, country>
    """

    by_content: ClassVar[bool] = True

    left: Node
    right: Node
    how: str = field(metadata={"of": ("inner", "left", "full", "semi", "anti", "existence")})
    keys: tuple[tuple[str, str], ...]
    null_safe: tuple[int, ...] = ()
    condition: str | None = None
    mark: str | None = None
    expires_ms: int | None = field(default=None, metadata={"later": True, "least": 1})
    emit: str = field(default=CHANGES, metadata={"later": True, "of": EMITS})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        if self.how in ("semi", "anti"):
            return self.left.columns
        return (*self.left.columns, *((str(self.mark),) if self.how == "existence" else self.right.columns))

    @property
    def fits(self) -> bool:
        return all(0 <= key < len(self.keys) for key in self.null_safe) and (self.mark is not None) == (self.how == "existence")

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        met = [f"{left} {'<=>' if i in self.null_safe else '='} {right}" for i, (left, right) in enumerate(self.keys)]
        met += [self.condition] if self.condition is not None else []
        once = "" if self.emit == CHANGES else ", rows without partners once"
        return f"{self.how} join" + (f" on {' AND '.join(met)}" if met else "") + expiring(self.expires_ms) + once


def join(left: Node, right: Node, on: Any, how: str, expires: Duration, emit: str, aliases: tuple[str | None, str | None]) -> Node:
    """The join that a user asks for, with the columns of both sides, a key by name once."""
    for option, value, known in (("how", how, HOWS), ("emit", emit, EMITS)):
        if value not in known:
            raise PlanError("BAD_JOIN", f"{option} cannot be {value!r}", hint=f"it is one of: {', '.join(known)}", site=here())
    names = names_of(left, right, on, "join")
    after = expiry(expires, "expires of join")
    if names is None:
        return _on_condition(left, right, str(of_text(checked(on))._expression.text), how, after, emit, aliases)
    return _on_names(left, right, names, how, after, emit)


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


def _on_names(left: Node, right: Node, names: tuple[str, ...], how: str, after: int | None, emit: str) -> Node:
    if how == "right":
        return _on_names_right(left, right, names, after, emit)
    keys = {name.lower() for name in names}
    shared = [name for name in right.columns if name.lower() not in keys and name.lower() in {one.lower() for one in left.columns}]
    if shared and how not in ("semi", "anti"):
        raise _clash(left, right, shared[0])
    renamed = {name: _free(f"{name}_right", (*left.columns, *right.columns)) for name in names}
    theirs = {name: column_name(right, name) for name in names}
    items = tuple((next((renamed[one] for one in names if theirs[one] == name), name), quote(name)) for name in right.columns)
    if how in ("semi", "anti"):
        items = tuple((renamed[name], quote(theirs[name])) for name in names)
    moved = Project(right, "join", items, site=here())
    keys_of = tuple((quote(name), quote(renamed[name])) for name in names)
    made = Join(left, moved, how, keys_of, expires_ms=after, emit=emit, site=here())
    if how in ("semi", "anti"):
        return made
    kept = [
        (name, f"coalesce({quote(name)}, {quote(renamed[name])})" if how == "full" and name in names else quote(name))
        for name in left.columns
    ]
    kept += [(name, quote(name)) for name in right.columns if name.lower() not in keys]
    return Project(made, "join", tuple(kept), site=here())


def _on_names_right(left: Node, right: Node, names: tuple[str, ...], after: int | None, emit: str) -> Node:
    """A right join is a left one with its sides changed, and its columns in the order that was asked for."""
    swapped = _on_names(right, left, tuple(column_name(right, name) for name in names), "left", after, emit)
    keys = {name.lower() for name in names}
    order = [*left.columns, *(name for name in right.columns if name.lower() not in keys)]
    has = {name.lower(): name for name in swapped.columns}
    return Project(swapped, "join", tuple((name, quote(has[name.lower()])) for name in order), site=here())


def _on_condition(
    left: Node, right: Node, text: str, how: str, after: int | None, emit: str, aliases: tuple[str | None, str | None]
) -> Node:
    shared = [name for name in right.columns if name.lower() in {one.lower() for one in left.columns}]
    if shared:
        raise _clash(left, right, shared[0])
    text = _over_both(left, right, text, aliases)
    if how == "right":
        swapped = joined(right, left, "left", text, after, emit)
        return Project(swapped, "join", tuple((name, quote(name)) for name in (*left.columns, *right.columns)), site=here())
    return joined(left, right, how, text, after, emit)


def _over_both(left: Node, right: Node, text: str, aliases: tuple[str | None, str | None]) -> str:
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


def joined(left: Node, right: Node, how: str, condition: str | None, expires_ms: int | None = None, emit: str = CHANGES) -> Join:
    """A join on a condition, of which the equalities between the sides become its keys."""
    keys, safe, rest = _apart(left, right, condition)
    condition = " AND ".join(f"({part})" for part in rest) or None
    return Join(left, right, how, tuple(keys), tuple(safe), condition, expires_ms=expires_ms, emit=emit, site=here())


def sides_of(left: Node, right: Node, text: str, aliases: tuple[str | None, str | None]) -> _Parts:
    """What a user's condition over both sides consists of."""
    return _apart(left, right, _over_both(left, right, text, aliases))


def _apart(left: Node, right: Node, condition: str | None) -> _Parts:
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


def _free(wanted: str, taken: Sequence[str]) -> str:
    has = {name.lower() for name in taken}
    while wanted.lower() in has:
        wanted += "_"
    return wanted


def _clash(left: Node, right: Node, name: str) -> PlanError:
    mine = next(one for one in left.columns if one.lower() == name.lower())
    found = duplicate(name, mine, "join")
    hint = f'rename it on one side: {label(right)}.rename({{"{name}": "..."}})'
    return PlanError("DUPLICATE_COLUMN", found.message, hint=hint, site=here())
