"""One row for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from headrace.errors import PlanError, here
from headrace.ops.columns import given, name_of, once
from headrace.ops.expires import Duration, expiring, expiry
from headrace.ops.source import DEAD_LETTER
from headrace.ops.values import one_row
from headrace.plan import Node, Role, node
from headrace.syntax import quote


@dataclass(frozen=True)
class Groups:
    """A stream with the columns it is grouped by, as names and texts."""

    node: Node
    items: tuple[tuple[str, str], ...]
    alias: str | None = None
    expires_ms: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.items)


@node("aggregate", Role.STATEFUL)
class Aggregate(Node):
    """A row for each group of rows with equal keys, its aggregates kept up to date; without keys one row, also for no rows at all.

    `seed` is a source of one row, which wakes the one group of an aggregate without keys. `expires_ms`: after how long without rows a group
    is forgotten.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1), ("b", 5), ("a", 2)], "card string, amount int", name="charges")
    >>> # epoch 1: +(a, 1) +(b, 5)   ->   +(a, 1) +(b, 5)
    >>> # epoch 2: +(a, 2)           ->   -(a, 1) +(a, 3)
    >>> charges.group_by("card").agg(spent="sum(amount)")
    <Stream aggregate: card, spent>
    """

    by_content: ClassVar[bool] = True

    input: Node
    keys: tuple[tuple[str, str], ...]
    aggregates: tuple[tuple[str, str], ...]
    seed: Node | None = None
    expires_ms: int | None = field(default=None, metadata={"later": True, "least": 1})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*(name for name, _ in self.keys), *(name for name, _ in self.aggregates))

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        by = f" by {', '.join(name for name, _ in self.keys)}" if self.keys else ""
        shown = ", ".join(f"{text} AS {name}" for name, text in self.aggregates)
        return (f"aggregate{by}: {shown}" if shown else f"distinct{by}") + expiring(self.expires_ms)


def aggregate(
    input: Node, keys: Sequence[tuple[str, str]], aggregates: Sequence[tuple[str, str]], expires_ms: int | None = None
) -> Aggregate:
    """The node of an aggregate."""
    return Aggregate(input, tuple(keys), tuple(aggregates), None if keys else one_row(), expires_ms, site=here())


def group_by(input: Node, columns: Sequence[Any], expires: Duration, alias: str | None) -> Groups:
    found = given(input, columns, {}, alias)
    items = tuple((name_of(expression), expression.text) for expression in found)
    once((name for name, _ in items), "group_by")
    return Groups(input, items, alias, expiry(expires, "expires of group_by"))


def agg(groups: Groups, columns: Sequence[Any], named: Mapping[str, Any]) -> Aggregate:
    found = given(groups.node, columns, dict(named), groups.alias)
    aggregates = tuple((name_of(expression), expression.text) for expression in found)
    if not aggregates and not groups.items:
        raise PlanError("NO_COLUMNS", "agg was given no aggregate", hint='.agg(total="sum(amount)")', site=here())
    once([*groups.names, *(name for name, _ in aggregates)], "agg")
    return aggregate(groups.node, groups.items, aggregates, groups.expires_ms)


def distinct(input: Node, expires: Duration = None) -> Aggregate:
    return aggregate(input, [(name, quote(name)) for name in input.columns], (), expiry(expires, "expires of distinct"))
