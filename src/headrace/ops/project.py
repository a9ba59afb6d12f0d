"""Verbs that compute a row's columns anew: select, with_columns, drop, rename."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from headrace.errors import PlanError, here
from headrace.ops.columns import column_name, given, name_of, once
from headrace.ops.partition import windowed
from headrace.plan import Node, node, steps
from headrace.plan.step import Project as ProjectStep
from headrace.syntax import plain_name, quote


@node("project")
class Project(Node):
    """All columns of the output with their texts over the input's columns, in order. `by` is the verb that the user wrote.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> charges.select("card", cents=hr.col("amount") * 100)   # (a, 1)   ->   (a, 100)
    <Stream charges.select: card, cents>
    >>> charges.with_columns(amount="amount + 1", large="amount > 500")
    <Stream charges.with_columns: card, amount, large>
    >>> charges.drop("amount")
    <Stream charges.drop: card>
    >>> charges.rename({"amount": "cents"})
    <Stream charges.rename: card, cents>
    """

    input: Node
    by: str
    items: tuple[tuple[str, str], ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.items)

    @property
    def verb(self) -> str:
        return self.by

    def describe(self) -> str:
        kept = set(self.input.columns)
        shown = [name if plain_name(text) == name and name in kept else f"{text} AS {quote(name)}" for name, text in self.items]
        if self.by == "drop":
            left = set(self.columns)
            return f"drop {', '.join(name for name in self.input.columns if name not in left)}"
        if self.by in ("with_columns", "rename"):
            shown = [text for text in shown if " AS " in text]
        return f"{self.by} {', '.join(shown)}"


@steps.register
def _(node: Project) -> tuple[ProjectStep, ...]:
    return (ProjectStep(node.items, node.site),)


def select(input: Node, columns: Sequence[Any], named: dict[str, Any], alias: str | None = None) -> Project:
    items = tuple((name_of(expression), expression.text) for expression in given(input, columns, named, alias))
    return _made(*windowed(input, items), "select")


def with_columns(input: Node, columns: Sequence[Any], named: dict[str, Any], alias: str | None = None) -> Project:
    new = [(name_of(expression), expression.text) for expression in given(input, columns, named, alias)]
    once((name for name, _ in new), "with_columns")
    texts = {name.lower(): text for name, text in new}
    had = {name.lower() for name in input.columns}
    kept = [(name, texts.get(name.lower(), quote(name))) for name in input.columns]
    items = (*kept, *((name, text) for name, text in new if name.lower() not in had))
    return _made(*windowed(input, items), "with_columns")


def drop(input: Node, names: Sequence[Any]) -> Project:
    gone = {column_name(input, name) for name in names}
    return _made(input, tuple((name, quote(name)) for name in input.columns if name not in gone), "drop")


def rename(input: Node, names: Mapping[str, str]) -> Project:
    if not isinstance(names, Mapping) or not all(isinstance(name, str) for pair in names.items() for name in pair):
        raise PlanError(
            "BAD_COLUMN", f"rename was given {names!r}", hint='it takes old and new names: .rename({"old": "new"})', site=here()
        )
    new = {column_name(input, old): name for old, name in names.items()}
    return _made(input, tuple((new.get(name, name), quote(name)) for name in input.columns), "rename")


def _made(input: Node, items: tuple[tuple[str, str], ...], verb: str) -> Project:
    if not items:
        raise PlanError("NO_COLUMNS", f"{verb} leaves no columns", hint="keep one column at least", site=here())
    once((name for name, _ in items), verb)
    return Project(input, verb, items, site=here())
