"""Verbs that compute a row's columns: select, with_columns, drop, rename."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from headrace.errors import PlanError, Site, here
from headrace.expr import Column
from headrace.ops.change_words import DEBEZIUM, WITHOUT_CHANGE, after_items
from headrace.ops.columns import column_name, name_of, once, verb_arguments
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.closing import named
from headrace.ops.facts.keys import Keys, lower
from headrace.ops.facts.ranking import Copies
from headrace.ops.facts.reading import Wanted, read
from headrace.ops.handle import Handle, verb
from headrace.ops.operator import Stepwise
from headrace.ops.partition import windowed
from headrace.ops.tree import Tree, reads
from headrace.plan import Node, node
from headrace.plan.step import Project as ProjectStep
from headrace.schema import Struct
from headrace.syntax import plain_name, quote


@node("project")
class Project(Stepwise):
    """All columns of the output with their expressions over the input's columns, in order. `by` is the verb that the user wrote.

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

    @property
    def named_columns(self) -> Mapping[str, str]:
        if self.by in ("select", "with_columns", "rename", "drop"):
            return {}
        # A verb of two streams renames columns that both have.
        pairs = ((name, plain_name(text)) for name, text in self.items)
        return {name: had for name, had in pairs if had is not None and name.rstrip("_") == f"{had}_right"}

    def steps(self) -> tuple[ProjectStep, ...]:
        return (ProjectStep(project=self.items, place=self.place),)

    @property
    def keeps_apart(self) -> bool:
        return lower(self.input.columns) <= {(plain_name(text) or "").lower() for _, text in self.items}

    @property
    def copies(self) -> Copies:
        return Copies({name.lower(): had.lower() for name, text in self.items if (had := plain_name(text)) is not None}, all_rows=True)

    @property
    def reads_changes(self) -> bool:
        return self.by in (WITHOUT_CHANGE, DEBEZIUM)

    def over_schema(self, schema: Struct, before: tuple[str, ...]) -> Project:
        if self.by == DEBEZIUM:
            return replace(self, items=after_items(schema))
        if self.by != WITHOUT_CHANGE:
            return self
        change = set(before) - set(self.columns)
        return replace(self, items=tuple((name, quote(name)) for name in schema.names if name not in change))

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        called = {(plain_name(text) or "").lower(): name.lower() for name, text in reversed(self.items)}
        return tuple(frozenset(called[name] for name in key) for key in keys[self.input] if key <= called.keys())

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        time = times[self.input]
        if time is None:
            return None
        copies = [name for name, text in self.items if (plain_name(text) or "").lower() == time.lower()]
        # Of several copies, the one that kept the name counts.
        return next((name for name in copies if name.lower() == time.lower()), copies[0] if copies else None)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return named(self.items, columns[self.input])

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        # Columns that are not read are computed, too, as they may fail.
        return {"input": read(self.input, (text for _, text in self.items))}


def select(input: Node, columns: Sequence[Any], by_name: dict[str, Any], alias: str | None = None) -> Project:
    items = tuple((name_of(expression, keywords=True), expression.text) for expression in verb_arguments(input, columns, by_name, alias))
    return _projection(*windowed(input, items), "select")


def with_columns(input: Node, columns: Sequence[Any], by_name: dict[str, Any], alias: str | None = None) -> Project:
    new = [(name_of(expression, keywords=True), expression.text) for expression in verb_arguments(input, columns, by_name, alias)]
    once((name for name, _ in new), "with_columns")
    texts = {name.lower(): text for name, text in new}
    had = {name.lower() for name in input.columns}
    kept = [(name, texts.get(name.lower(), quote(name))) for name in input.columns]
    items = (*kept, *((name, text) for name, text in new if name.lower() not in had))
    return _projection(*windowed(input, items), "with_columns")


def drop(input: Node, names: Sequence[Any]) -> Project:
    gone = {column_name(input, name) for name in names}
    return _projection(input, tuple((name, quote(name)) for name in input.columns if name not in gone), "drop")


def rename(input: Node, names: Mapping[str, str]) -> Project:
    if not isinstance(names, Mapping) or not all(isinstance(name, str) for pair in names.items() for name in pair):
        raise PlanError("BAD_COLUMN", f"rename expects old and new names, got {names!r}", hint='write .rename({"old": "new"})', site=here())
    new = {column_name(input, old): name for old, name in names.items()}
    return _projection(input, tuple((new.get(name, name), quote(name)) for name in input.columns), "rename")


def _projection(input: Node, items: tuple[tuple[str, str], ...], verb: str) -> Project:
    if not items:
        raise PlanError("NO_COLUMNS", f"{verb} leaves no columns", hint="keep at least one column", site=here())
    once((name for name, _ in items), verb)
    return Project(input, verb, items, site=here())


def in_order(input: Node, items: tuple[tuple[str, str], ...], site: Site | None) -> Node:
    """Return a node with these columns and no others; the input itself if they are its columns."""
    same = tuple((name, quote(name)) for name in input.columns)
    return input if items == same else Project(input, "select", items, site=site)


@reads("project")
def _project(tree: Tree) -> Node:
    return in_order(tree.node("input"), tree.tuples("columns"), tree.site)


class ProjectVerbs(Handle):
    __slots__ = ()

    @verb("select")
    def select(self, *columns: Column | str, **named: Column | str) -> Self:
        """Keeps the given columns and no others.

        Args:
            *columns: Names, SQL texts with a name such as `"amount * 100 AS cents"`, or columns; `"*"` stands for all columns. Window
                functions are allowed.
            **named: Columns by their new name: `cents="amount * 100"`.

        Raises:
            PlanError: `NO_COLUMNS` without a column; `UNNAMED_COLUMN` if an expression has no name; `DUPLICATE_COLUMN` if two columns have
                one name; `UNKNOWN_COLUMN` if a column does not exist; `BAD_COLUMN` if an argument is neither a column nor a text.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 9)], "card string, amount int", name="charges")
            >>> charges.select("card", cents=hr.col("amount") * 100)           # ('a', 9)  ->  ('a', 900)
            <Stream charges.select: card, cents>
        """
        return self._then(select(self._node, columns, named, self._alias))

    @verb("with_columns")
    def with_columns(self, *columns: Column | str, **named: Column | str) -> Self:
        """Adds columns, or replaces columns of the same name.

        All expressions refer to the input columns, not to columns that the same call adds.

        Args:
            *columns: SQL texts with a name such as `"amount * 100 AS cents"`, or columns. Window functions are allowed.
            **named: Columns by their name: `large="amount > 500"`.

        Raises:
            PlanError: `UNNAMED_COLUMN` if an expression has no name; `DUPLICATE_COLUMN` if two new columns have one name; `UNKNOWN_COLUMN`
                if a column does not exist; `BAD_COLUMN` if an argument is neither a column nor a text, such as the number `3` instead of
                `hr.lit(3)`.

        Examples:
            >>> import headrace as hr
            >>> sales = hr.read.memory([("a", 5), ("a", 7)], "shop string, amount int", name="sales")
            >>> sales.with_columns(cents="amount * 100", place=hr.f.rank().over(per="shop", by="amount desc"))
            <Stream partition(sales).with_columns: shop, amount, cents, place>
        """
        return self._then(with_columns(self._node, columns, named, self._alias), self._alias)

    @verb("drop")
    def drop(self, *names: str) -> Self:
        """Removes columns.

        Args:
            *names: The names of the columns.

        Raises:
            PlanError: `UNKNOWN_COLUMN` if a column does not exist; `NO_COLUMNS` if none is left.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 9)], "card string, amount int", name="charges")
            >>> charges.drop("amount")
            <Stream charges.drop: card>
        """
        return self._then(drop(self._node, names), self._alias)

    @verb("rename")
    def rename(self, names: Mapping[str, str]) -> Self:
        """Renames columns. A renamed column of event time stays event time.

        Args:
            names: A mapping from old to new names.

        Raises:
            PlanError: `UNKNOWN_COLUMN` if a column does not exist; `DUPLICATE_COLUMN` if a new name is taken; `BAD_COLUMN` if `names` is
                not a mapping of names.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 9)], "card string, amt int", name="charges")
            >>> charges.rename({"amt": "amount"})
            <Stream charges.rename: card, amount>
        """
        return self._then(rename(self._node, names), self._alias)
