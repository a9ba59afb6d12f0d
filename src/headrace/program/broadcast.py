"""Broadcast: a map that one input writes and every key reads."""

from __future__ import annotations

from headrace.program.map import Map


class Broadcast(Map):
    """Values by keys of their own, the same for all keys of the program: rules, limits, exchange rates.

    >>> import headrace as hr
    >>> class Limits(hr.Program):
    ...     limits = hr.Broadcast("string", "decimal(10,2)")
    ...
    ...     def on_rules(self, r):
    ...         self.limits.set(r.country, r.limit)
    ...
    ...     def on_event(self, e):
    ...         with hr.when(e.amount > self.limits.get(e.country)):
    ...             hr.emit(e)
    >>> charges = hr.read.memory([], "card string, country string, amount decimal(10,2)", name="charges")
    >>> rules = hr.read.memory([], "country string, limit decimal(10,2)", name="rules")
    >>> charges.key_by("card").process(Limits, rules=hr.broadcast(rules))
    <Stream charges.Limits: card, country, amount>

    The rows of an input given as `hr.broadcast(stream)` go to every partition and change it there, in the same order; the handlers of
    other inputs and of timers read it as a `hr.Map`. With `order="time"` a row sees it as it was at the row's own time, whatever epochs the
    two came in; a late row sees it as it is when it comes. With `order="arrival"` the rules of an epoch come before its rows.

    Each value set expires by itself where there is `expires=`: a row of a later moment does not see it, and a late one or one in the order
    of arrival does not see what the watermark has passed either.
    """

    kind = "broadcast"
    needs = ("key",)
    entries = True
    projected = False

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return f"a map of {type} by {key} for all keys"
