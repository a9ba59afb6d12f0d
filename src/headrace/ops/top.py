"""The first rows of each partition in an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from headrace.errors import PlanError, here
from headrace.expr import Column
from headrace.ops.columns import listed, single, verb_arguments
from headrace.ops.expires import Duration, expiring, expiry
from headrace.ops.facts.keys import Keys, lower
from headrace.ops.facts.kind import CHANGES
from headrace.ops.facts.provenance import Itself, OfPartition, Provenance
from headrace.ops.facts.state import BOUNDED, GROUPS, GROWS, Basis
from headrace.ops.handle import Handle, verb
from headrace.ops.partition import Ordering, are_orderings
from headrace.ops.parts import RelationText
from headrace.ops.relational import Partitioned, partition_of
from headrace.ops.tree import Tree, reads
from headrace.plan import Fact, Node, node
from headrace.syntax import ordering, plain_name

TIES = ("row_number", "rank", "dense_rank")


@dataclass(frozen=True, kw_only=True)
class TopText(RelationText):
    """The texts of the partition and its order, and the rows to keep; `count` is null to keep all rows after the offset."""

    per: tuple[str, ...]
    order: tuple[Ordering, ...]
    count: int | None
    offset: int
    ties: str


@node("top")
class Top(Partitioned):
    """The first `count` rows of each partition after `offset` others, in an order whose ties are settled by all columns, nulls first.

    Law: after every epoch it is `ties() OVER (PARTITION BY per ORDER BY order) <= count` of the input so far. `ties` is `row_number`, or
    without an offset also `rank`, which includes all rows that tie with the last one, and `dense_rank`, which includes all rows of the
    first `count` values of the order. `expires_ms`: a partition without rows for that long is forgotten.

    >>> import headrace as hr
    >>> sales = hr.read.memory([("a", 5), ("a", 7)], "shop string, amount int", name="sales")
    >>> # epoch 1: +(a, 5) +(a, 7)   ->   +(a, 7)
    >>> # epoch 2: -(a, 7)           ->   -(a, 7) +(a, 5)
    >>> sales.top(1, by="amount desc", per="shop")
    <Stream top(sales): shop, amount>
    >>> # epoch 1: +(a, 5) +(a, 7)   ->   +(a, 7)
    >>> # epoch 2: +(b, 7)           ->   +(b, 7)
    >>> sales.top(1, by="amount desc", ties="rank")
    <Stream top(sales): shop, amount>
    """

    order: tuple[Ordering, ...]
    count: int | None = field(metadata={"least": 0})
    offset: int = field(default=0, metadata={"least": 0})
    ties: str = field(default="row_number", metadata={"later": True, "of": TIES})
    expires_ms: int | None = field(default=None, metadata={"later": True, "least": 1})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def fits(self) -> bool:
        return are_orderings(self.order)

    def describe(self) -> str:
        kept = "all rows" if self.count is None else f"the first {self.count}" + _TIED[self.ties]
        behind = f" after {self.offset}" if self.offset else ""
        per = f" per {', '.join(self.per)}" if self.per else ""
        by = ", ".join(f"{text} {direction} nulls {nulls}" for text, direction, nulls in self.order)
        return f"{kept}{behind}{per}" + (f" by {by}" if by else "") + expiring(self.expires_ms)

    @property
    def forgets_after(self) -> int | None:
        return self.expires_ms

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        per = [plain_name(text) for text in self.per]
        one = self.count == 1 and self.ties == "row_number" and all(per)
        return (*keys[self.input], lower(name for name in per if name)) if one else keys[self.input]

    @property
    def first_rows(self) -> bool:
        return True

    @property
    def provenance(self) -> Provenance:
        return OfPartition(self.per) if self.offset else Itself()

    def kept(self, basis: Basis) -> Fact:
        if basis.append and self.ties != "row_number":
            kept = f"the first {self.count} of each {partition_of(self.per)}, and those that tie with the last"
            if self.ties == "dense_rank":
                kept = f"those of the first {self.count} values of each {partition_of(self.per)}"
            return Fact(GROWS, f"grows with the rows that tie: {kept}")
        if basis.append and self.count is not None:
            kept = f"the first {self.count + self.offset} rows of each {partition_of(self.per)}"
            return Fact(GROUPS if self.per else BOUNDED, f"{'grows with the number of partitions' if self.per else 'bounded'}: {kept}")
        order = f"in the order of each {partition_of(self.per)}"
        if basis.append:
            return Fact(GROWS, f"grows with the rows, as all after the first {self.offset} count; {order}")
        return Fact(GROWS, f"grows with the rows, as later ones move up after a retraction; {order}")

    def relation(self) -> TopText:
        return TopText(per=self.per, order=self.order, count=self.count, offset=self.offset, ties=self.ties)


_TIED = {"row_number": "", "rank": " with ties", "dense_rank": " values"}


def top(input: Node, count: Any, by: Any, per: Any, ties: Any, expires: Duration, alias: str | None) -> Top:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise PlanError(
            "BAD_ORDER", f"top cannot keep {count!r} rows", hint='use a whole number of at least 1: .top(3, by="amount desc")', site=here()
        )
    if ties not in TIES:
        hint = 'use row_number, rank or dense_rank: .top(3, by="amount desc", ties="rank")'
        raise PlanError("BAD_ORDER", f"top: `ties` cannot be {ties!r}", hint=hint, site=here())
    texts = [ordering(one) if isinstance(one, str) else ordering(one._expression.text) for one in listed(by, "by")]
    parts = verb_arguments(input, listed(per, "per"), {}, alias, aliases=False)
    order: Sequence[Ordering] = [(single(input, text, alias).text, direction, nulls) for text, direction, nulls in texts]
    partitions = tuple(part.text for part in parts)
    return Top(input, partitions, tuple(order), count, ties=ties, expires_ms=expiry(expires, "top: `expires`"), site=here())


@reads("limit")
def _limit(tree: Tree) -> Node:
    return Top(tree.node("input"), (), tree.tuples("order"), tree["count"], tree["offset"], site=tree.site)


class TopVerb(Handle):
    __slots__ = ()

    @verb("top")
    def top(
        self,
        n: int,
        *,
        by: Column | str | Iterable[Column | str],
        per: Column | str | Iterable[Column | str] = (),
        ties: str = "row_number",
        expires: str | timedelta | None = None,
    ) -> Self:
        """Keeps the first `n` rows of each group, in an order.

        Rows equal in the order are sorted by all columns, ascending, nulls first. When a row is retracted, the next one moves up. Over
        append-only input only the rows of the result are stored.

        Args:
            n: The number of rows to keep in each group, at least 1.
            by: The order: columns or SQL texts such as `"amount desc"`. Nulls are first in ascending order and last in descending order,
                unless the text says `nulls last` or `nulls first`.
            per: The columns of the group. Default: the whole stream is one group.
            ties: `"row_number"` keeps `n` rows; `"rank"` also those equal to the last one in the order; `"dense_rank"` all rows of the
                first `n` values of the order. As Spark's functions of these names.
            expires: A duration such as `"7 days"` in event time: a group without new rows for that long is forgotten. Default: never.

        Returns:
            A stream of changes with the same columns.

        Raises:
            PlanError: `BAD_ORDER` if `n` is not a whole number of at least 1 or `ties` is unknown; `UNKNOWN_COLUMN` if a column does not
                exist; `BAD_COLUMN` if an argument is no column; `BAD_EXPIRY` if `expires` is zero. When the job is built, `BAD_EXPIRY` if
                there is no `per` or a window in it already releases the state, and `NO_WATERMARK` if no source has event time.
            SchemaError: `BAD_DURATION` if `expires` is not a duration.

        Examples:
            >>> import headrace as hr
            >>> sales = hr.read.memory([("a", 5), ("a", 7), ("b", 1)], "shop string, amount int", name="sales")
            >>> sorted(hr.collect(sales.top(1, by="amount desc", per="shop")).rows())
            [('a', 7), ('b', 1)]
        """
        return self._then(top(self._node, n, by, per, ties, expires, self._alias))
