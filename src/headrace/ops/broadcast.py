"""Inputs of a program whose rows go to all keys."""

from __future__ import annotations

from typing import Any

from headrace.errors import PlanError, here
from headrace.ops.process import Broadcasted, Keys
from headrace.ops.stream import Stream


def broadcast(stream: Any) -> Broadcasted:
    """Passes a stream to a program as an input for all keys. Its handler stores what is needed in a `hr.Broadcast`.

    The rows go to every partition. Their handler cannot use `self.key` or keyed cells, and cannot emit.

    Args:
        stream: An append-only stream, not keyed.

    Raises:
        PlanError: `BAD_INPUT` if `stream` is not a stream. `process` raises `CHANGES_NOT_YET` for a stream with retractions.

    Examples:
        >>> import headrace as hr
        >>> class Limits(hr.Program):
        ...     limits = hr.Broadcast("string", "int")
        ...
        ...     def on_rules(self, r):
        ...         self.limits.set(r.country, r.limit)
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.amount > self.limits.get(e.country)):
        ...             hr.emit(e)
        >>> charges = hr.read.memory([("a", "SE", 70), ("a", "DE", 70)], "card string, country string, amount int", name="charges")
        >>> rules = hr.read.memory([("SE", 50), ("DE", 90)], "country string, limit int", name="rules")
        >>> hr.collect(charges.key_by("card").process(Limits, rules=hr.broadcast(rules))).rows()
        [('a', 'SE', 70)]
    """
    if not isinstance(stream, Stream):
        hint = "write .process(P, rules=hr.broadcast(rules)), without key_by"
        raise PlanError("BAD_INPUT", f"hr.broadcast expects a stream, got {stream!r}", hint=hint, site=here())
    return Broadcasted(Keys(stream._node, (), broadcast=True))
