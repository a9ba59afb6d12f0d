"""Inputs of a program whose rows go to all keys."""

from __future__ import annotations

from typing import Any

from headrace.errors import PlanError, here
from headrace.ops.process import Broadcasted, Keys
from headrace.ops.stream import Stream


def broadcast(stream: Any) -> Broadcasted:
    """An input whose rows go to all keys of a program, which keeps what it needs of them in a `hr.Broadcast`.

    >>> import headrace as hr
    >>> rules = hr.read.memory([("SE", 100)], "country string, limit int", name="rules")
    >>> hr.broadcast(rules)
    <Broadcasted rules>
    """
    if not isinstance(stream, Stream):
        hint = ".process(P, rules=hr.broadcast(rules)); it has no keys, so key_by is not needed"
        raise PlanError("BAD_INPUT", f"hr.broadcast was given {stream!r}, which is no stream", hint=hint, site=here())
    return Broadcasted(Keys(stream._node, (), broadcast=True))
