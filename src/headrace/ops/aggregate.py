"""One row for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from headrace.errors import PlanError, here
from headrace.expr import Expression
from headrace.ops.columns import label, name_of, once, verb_arguments
from headrace.ops.expires import Duration, expiring, expiry
from headrace.ops.facts.keys import Keys, lower
from headrace.ops.facts.kind import APPEND, CHANGES, only_added
from headrace.ops.facts.provenance import OfGroup, Provenance
from headrace.ops.facts.reading import Wanted, read
from headrace.ops.facts.state import BOUNDED, GROUPS, GROWS, Basis
from headrace.ops.handle import Handle, verb
from headrace.ops.inlet import Checked, Inlet, inlet
from headrace.ops.parts import RelationText
from headrace.ops.relational import Grouped
from headrace.ops.tree import Tree, reads
from headrace.ops.values import one_row
from headrace.plan import Fact, Node, node
from headrace.syntax import path_of, quote


@dataclass(frozen=True)
class Groups:
    """A stream with its grouping columns, as names and expressions."""

    node: Node
    items: tuple[tuple[str, str], ...]
    alias: str | None = None
    expires_ms: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.items)


@dataclass(frozen=True, kw_only=True)
class AggregateText(RelationText):
    """The names and texts of keys and aggregates. With `global_` there are no keys, but one group, even without rows."""

    keys: tuple[tuple[str, str], ...]
    aggregates: tuple[tuple[str, str], ...]
    global_: bool


@node("aggregate")
class Aggregate(Grouped):
    """One row for each group of rows with equal keys, its aggregates kept up to date; without keys always one row.

    `seed` is a source of one row, which makes the only group of an aggregate without keys emit its row. `expires_ms`: a group without rows
    for that long is forgotten.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1), ("b", 5), ("a", 2)], "card string, amount int", name="charges")
    >>> # epoch 1: +(a, 1) +(b, 5)   ->   +(a, 1) +(b, 5)
    >>> # epoch 2: +(a, 2)           ->   -(a, 1) +(a, 3)
    >>> charges.group_by("card").agg(spent="sum(amount)")
    <Stream aggregate(charges): card, spent>
    """

    net = True

    keys: tuple[tuple[str, str], ...]
    aggregates: tuple[tuple[str, str], ...]
    seed: Node | None = None
    expires_ms: int | None = field(default=None, metadata={"later": True, "least": 1})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*(name for name, _ in self.keys), *(name for name, _ in self.aggregates))

    @property
    def called_after(self) -> tuple[Node, ...]:
        return (self.input,)

    def describe(self) -> str:
        by = f" by {', '.join(name for name, _ in self.keys)}" if self.keys else ""
        shown = ", ".join(f"{text} AS {name}" for name, text in self.aggregates)
        return (f"aggregate{by}: {shown}" if shown else f"distinct{by}") + expiring(self.expires_ms)

    @property
    def group_columns(self) -> Sequence[tuple[str, str]]:
        return self.keys

    @property
    def key_names(self) -> tuple[str | None, ...]:
        return tuple(name for name, _ in self.keys)

    @property
    def texts_of_groups(self) -> bool:
        return True

    @property
    def forgets_after(self) -> int | None:
        return self.expires_ms

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return APPEND if kinds[self.input] == APPEND and self.keys and not self.aggregates else CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return (lower(name for name, _ in self.keys),)

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {"input": read(self.input, (text for _, text in (*self.keys, *self.aggregates)))}

    @property
    def provenance(self) -> Provenance:
        return OfGroup(self.keys, self.aggregates)

    def kept(self, basis: Basis) -> Fact:
        of = f"a group of {', '.join(name for name, _ in self.keys)}" if self.keys else "the one group"
        constant = ("constant", "append") if basis.append else ("constant",)
        values = [text for text, kept in basis.parts(self) if kept not in constant]
        if values:
            more = f"; for {of} it keeps the values of {', '.join(values)}, as any may become the result after a retraction"
            return Fact(GROWS, f"grows with the distinct values{more}")
        if self.keys:
            return Fact(GROUPS, f"grows with the number of groups: a row of numbers for {of}")
        return Fact(BOUNDED, f"bounded: a row of numbers for {of}")

    def relation(self) -> AggregateText:
        return AggregateText(keys=self.keys, aggregates=self.aggregates, global_=not self.keys)

    @property
    def relation_inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        key = at.key_schema(self)
        # Insert-only rows need no order.
        order = None if only_added(self) else "rows"
        rows = inlet(self.input, at, delivery="null_key", key=self.keys, key_schema=key, order=order)
        # The seed's row creates the group; its values are not used.
        return (rows,) if self.seed is None else (rows, inlet(self.seed, at, delivery="null_key", name="seed", side=1, order=order))


def aggregate(
    input: Node, keys: Sequence[tuple[str, str]], aggregates: Sequence[tuple[str, str]], expires_ms: int | None = None
) -> Aggregate:
    """Return the node of an aggregate."""
    return Aggregate(input, tuple(keys), tuple(aggregates), None if keys else one_row(), expires_ms, site=here())


def group_by(input: Node, columns: Sequence[Any], expires: Duration, alias: str | None) -> Groups:
    keys = verb_arguments(input, columns, {}, alias)
    items = tuple((name_of(expression), expression.text) for expression in keys)
    once((name for name, _ in items), "group_by")
    return Groups(input, items, alias, expiry(expires, "group_by: `expires`"))


def agg(groups: Groups, columns: Sequence[Any], named: Mapping[str, Any]) -> Aggregate:
    expressions = verb_arguments(groups.node, columns, dict(named), groups.alias)
    for expression in expressions:
        if path_of(expression.text) is not None:
            raise _no_aggregate(groups, expression)
    aggregates = tuple((name_of(expression, keywords=True), expression.text) for expression in expressions)
    if not aggregates and not groups.items:
        raise PlanError("NO_COLUMNS", "agg needs at least one aggregate", hint='.agg(total="sum(amount)")', site=here())
    once([*groups.names, *(name for name, _ in aggregates)], "agg")
    return aggregate(groups.node, groups.items, aggregates, groups.expires_ms)


def _no_aggregate(groups: Groups, expression: Expression) -> PlanError:
    """Return the error for a column, or a field of one, where an aggregate is expected."""
    text, name = expression.text, expression.alias or (path_of(expression.text) or ("total",))[-1]
    if text.lower() in (name.lower() for name in groups.names):
        hint = f"it is already a column of the result: {', '.join(groups.names)}"
    else:
        hint = f'choose one value per group: {name}="max({text})", or min, any_value, count; for numbers, sum or avg'
    message = f"`{text}` is a column of {label(groups.node)}, not an aggregate"
    return PlanError("NOT_AN_AGGREGATE", message, hint=hint, site=here())


def distinct(input: Node, expires: Duration = None) -> Aggregate:
    return aggregate(input, [(name, quote(name)) for name in input.columns], (), expiry(expires, "distinct: `expires`"))


@reads("aggregate")
def _aggregate(tree: Tree) -> Node:
    keys = tree.tuples("keys")
    grouped = Aggregate(tree.node("input"), keys, tree.tuples("aggregates"), None if keys else one_row(), site=tree.site)
    return replace(grouped, expires_ms=tree.expiry(grouped, bool(keys)))


class DistinctVerb(Handle):
    __slots__ = ()

    @verb("distinct")
    def distinct(self, *, expires: str | timedelta | None = None) -> Self:
        """Keeps each distinct row once.

        A row appears with its first copy and is retracted with its last one. Over append-only input the result is append-only.

        Args:
            expires: A duration such as `"7 days"` in event time: a row that has not been seen for that long is forgotten, and its next copy
                passes again. Default: never.

        Raises:
            PlanError: `BAD_EXPIRY` if `expires` is zero, or, when the job is built, if a window among the columns already releases the
                state, and `NO_WATERMARK` if no source has event time.
            SchemaError: `BAD_DURATION` if `expires` is not a duration.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 7), ("b", 5), ("a", 7)], "card string, amount int", name="charges")
            >>> charges.distinct()                             # ('a', 7), ('b', 5)
            <Stream aggregate(charges): card, amount>
        """
        return self._then(distinct(self._node, expires))
