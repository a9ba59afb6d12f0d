"""One row for each key."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import Any, ClassVar

from headrace.errors import PlanError, here
from headrace.ops.changes import CHANGE, Changes, changes
from headrace.ops.columns import column_name, duplicate, once
from headrace.ops.source import DEAD_LETTER
from headrace.plan import Node, Role, node


@node("upserts", Role.STATEFUL)
class Upserts(Node):
    """The one row of each key; of an epoch at the most one goes and one comes.

    `last`: a row takes the place of the one before it, and a row that is taken away ends the key. Else the rows of a key add up, and two
    of them at the end of an epoch stop the job. `pairs`: each change is a row with a word in `_change`, an update two of them. `replaces`:
    whoever takes the rows puts each in the place of the one before it, which is not taken away first; so last rows need not be kept.

    >>> import headrace as hr
    >>> told = hr.read.memory([("a", 1), ("b", 5), ("a", 2)], "card string, amount int", name="told")
    >>> # epoch 1: (a, 1) (b, 5)   ->   +(a, 1) +(b, 5)
    >>> # epoch 2: (a, 2)          ->   -(a, 1) +(a, 2)
    >>> told.upserts("card")
    <Stream upserts: card, amount>
    >>> told.upserts("card").changes()
    <Stream upserts: card, amount, _change>
    """

    by_content: ClassVar[bool] = True

    input: Node
    key: tuple[str, ...]
    last: bool
    pairs: bool = False
    replaces: bool = field(default=False, metadata={"later": True})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, CHANGE) if self.pairs else self.input.columns

    @property
    def fits(self) -> bool:
        return bool(self.key) and set(self.key) <= set(self.input.columns)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        what = "the last row" if self.last else "the one row"
        return f"{what} of each {', '.join(self.key)}" + (", each change as a row" if self.pairs else "")


def upserts(input: Node, key: Any, kind: str, *, replaces: bool = False) -> Upserts:
    """The rows of a stream of that kind by key. `replaces`: for somebody who puts a row in the place of the one before it."""
    columns = key_of(input, key, "upserts")
    if isinstance(input, Upserts) and not input.pairs and set(input.key) == set(columns):
        return input
    return Upserts(input, columns, last=kind == "append", replaces=replaces, site=here())


def key_of(input: Node, key: Any, verb: str) -> tuple[str, ...]:
    """The columns that a user gave as a key."""
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, list | tuple) or not names:
        raise PlanError(
            "BAD_COLUMN", f"{verb} was given {key!r} as its key", hint='name its columns: "id", or ["shop", "day"]', site=here()
        )
    found = tuple(column_name(input, name) for name in names)
    once(found, verb)
    return found


def shown(input: Node, kind: str) -> Changes | Upserts:
    """The changes of a stream of that kind as rows; where it has a key, what takes the place of what."""
    if not isinstance(input, Upserts) or input.pairs:
        return changes(input, kind)
    if any(name.lower() == CHANGE for name in input.columns):
        raise duplicate(CHANGE, CHANGE, "changes")
    return replace(input, pairs=True, site=here())
