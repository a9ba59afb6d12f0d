"""The first rows of each partition in an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

from headrace.errors import PlanError, here
from headrace.ops.columns import given, listed, single
from headrace.ops.expires import Duration, expiring, expiry
from headrace.ops.partition import Ordering, are_orderings
from headrace.ops.source import DEAD_LETTER
from headrace.plan import Node, Role, node
from headrace.syntax import ordering

TIES = ("row_number", "rank", "dense_rank")


@node("top", Role.STATEFUL)
class Top(Node):
    """The `count` first rows of each partition behind `offset` others, in an order whose ties are settled by all columns, nulls first.

    Law: after every epoch it is `ties() OVER (PARTITION BY per ORDER BY order) <= count` of the input so far. `ties` is `row_number`, or
    without an offset also `rank`, which lets in all rows that tie with the last one, and `dense_rank`, which lets in the rows of the first
    `count` values of the order. `expires_ms`: after how long without rows a partition is forgotten.

    >>> import headrace as hr
    >>> sales = hr.read.memory([("a", 5), ("a", 7)], "shop string, amount int", name="sales")
    >>> # epoch 1: +(a, 5) +(a, 7)   ->   +(a, 7)
    >>> # epoch 2: -(a, 7)           ->   -(a, 7) +(a, 5)
    >>> sales.top(1, by="amount desc", per="shop")
    <Stream top: shop, amount>
    >>> # epoch 1: +(a, 5) +(a, 7)   ->   +(a, 7)
    >>> # epoch 2: +(b, 7)           ->   +(b, 7)
    >>> sales.top(1, by="amount desc", ties="rank")
    <Stream top: shop, amount>
    """

    by_content: ClassVar[bool] = True

    input: Node
    per: tuple[str, ...]
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

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        kept = "all rows" if self.count is None else f"the first {self.count}" + _TIED[self.ties]
        behind = f" behind {self.offset}" if self.offset else ""
        per = f" per {', '.join(self.per)}" if self.per else ""
        by = ", ".join(f"{text} {direction} nulls {nulls}" for text, direction, nulls in self.order)
        return f"{kept}{behind}{per}" + (f" by {by}" if by else "") + expiring(self.expires_ms)


_TIED = {"row_number": "", "rank": " with ties", "dense_rank": " values"}


def top(input: Node, count: Any, by: Any, per: Any, ties: Any, expires: Duration, alias: str | None) -> Top:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise PlanError(
            "BAD_ORDER", f"top cannot keep {count!r} rows", hint='a whole number from 1 on: .top(3, by="amount desc")', site=here()
        )
    if ties not in TIES:
        hint = 'row_number, rank or dense_rank: .top(3, by="amount desc", ties="rank")'
        raise PlanError("BAD_ORDER", f"top does not know the ties {ties!r}", hint=hint, site=here())
    texts = [ordering(one) if isinstance(one, str) else ordering(one._expression.text) for one in listed(by, "by")]
    parts = given(input, listed(per, "per"), {}, alias)
    order: Sequence[Ordering] = [(single(input, text, alias).text, direction, nulls) for text, direction, nulls in texts]
    partitions = tuple(part.text for part in parts)
    return Top(input, partitions, tuple(order), count, ties=ties, expires_ms=expiry(expires, "expires of top"), site=here())
