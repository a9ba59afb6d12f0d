"""The verb that joins two streams."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Self

from headrace.expr import Column
from headrace.ops.handle import Handle, other_stream, verb
from headrace.ops.join import join


class JoinVerb(Handle):
    __slots__ = ()

    @verb("join")
    def join(
        self,
        other: Self,
        *,
        on: Column | str | Iterable[str],
        how: str = "inner",
        expires: str | timedelta | None = None,
        emit: str = "changes",
    ) -> Self:
        """Joins this stream with another one, by columns or a condition.

        The rows of both sides are kept without bound, unless `expires` or a condition limits it ([state
        retention](../../concepts/forgetting.md)). If the condition limits the difference of two event times, as in `ts BETWEEN opened AND
        opened + INTERVAL 1 HOUR`, a row is released when the watermark shows that it can no longer match. Rows at or before the watermark
        are then late: those of the left side go to the output `late`, those of the right to `late_right` ([interval
        joins](../../guides/joins.md#interval-joins)).

        Args:
            other: The right stream. Columns outside `on` need different names on both sides, except in semi and anti joins.
            on: Columns that both streams have, which the result has once, or a condition over both: `"card = number"`. Nulls match only by
                `<=>`.
            how: `"inner"`, `"left"`, `"right"`, `"full"`, `"semi"` (left rows with a match) or `"anti"` (left rows without one).
            expires: A duration in event time: rows of a key without new rows on either side for that long are forgotten. Default: never.
            emit: `"changes"` sends an unmatched row at once and retracts it when a match comes; `"close"` sends it once, when no match can
                come; this needs a bound on the event times of both sides, or a window column in `on`.

        Raises:
            PlanError: `BAD_JOIN` for an unknown `how` or `emit`, or a condition that a join cannot have; `BAD_INPUT` if `other` is no
                stream; `UNKNOWN_COLUMN` if a column does not exist; `DUPLICATE_COLUMN` if a column outside `on` has the same name on both
                sides; `BAD_EXPIRY` if `expires` is zero. When the job is built, `NEVER_CLOSES` or `NO_WATERMARK` if `emit="close"` lacks a
                bound or event time, and `BAD_EXPIRY` as in `group_by`.
            SchemaError: `BAD_DURATION` if `expires` is not a duration.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 7), ("b", 5)], "card string, amount int", name="charges")
            >>> cards = hr.read.memory([("a", "SE")], "card string, country string", name="cards")
            >>> sorted(hr.collect(charges.join(cards, on="card", how="left")).rows())
            [('a', 7, 'SE'), ('b', 5, None)]
        """
        stream = other_stream(other, "join", 'charges.join(cards, on="card")')
        return self._then(join(self._node, stream._node, on, how, expires, emit, (self._alias, stream._alias)))
