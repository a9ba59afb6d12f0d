"""Broadcast: a map that one input writes and every key reads."""

from __future__ import annotations

from headrace.program.map import Map


class Broadcast(Map):
    """A map that all keys of the program share, such as rules, limits or exchange rates: one input writes it, every key reads it.

    The rows of an input passed as `hr.broadcast(stream)` go to every partition, which handles them by time, or with `order="arrival"`,
    within an epoch, by their columns. Without an exactly-once sink, `order="arrival"` leaves their order within an epoch unspecified. Only
    the handler of that input can change the map; other handlers read it. It has all methods of [`hr.Map`](#Map).

    With `order="time"` a row reads the map as of the row's own time, whatever epochs the two arrive in. A late row reads the current map.
    With `order="arrival"` the broadcast rows of an epoch are handled before its other rows.

    With `expires`, each entry expires separately. A row sees the entries that are valid at its own time; late rows, and all rows with
    `order="arrival"`, see those valid at the watermark.

    Each partition stores the whole map.

    Args:
        key: The type of a key, as DDL such as `"string"` or as a type of `pyspark.sql.types`.
        value: The type of a value.
        expires: A duration such as `"30 days"`, counted for each entry from its last `set` ([expiry](../cells.md#expiry)). Default: never.
        clock: The clock of `expires`. `"event"`: the time of the row or timer being handled. `"processing"`: the time at which the epoch
            began.
        was: The cell's name in an older version of the job, whose state it takes over.

    Raises:
        SchemaError: `BAD_TYPE` for an invalid type, `BAD_DURATION` for an invalid `expires`.
        ProgramError: `BAD_CLOCK` for an unknown clock, `BAD_WAS` if `was` is not a name; `BROADCAST_USE`, raised by `process`, if no input
            is broadcast.

    Examples:
        >>> import headrace as hr
        >>> class Limits(hr.Program):
        ...     limits = hr.Broadcast("string", "int")
        ...
        ...     def on_rules(self, r):
        ...         with hr.when(r.country == "*"):
        ...             self.limits.clear()
        ...         with hr.elsewhen(r.limit.is_null()):
        ...             self.limits.remove(r.country)
        ...         with hr.otherwise():
        ...             self.limits.set(r.country, r.limit)
        ...
        ...     def on_event(self, e):
        ...         with hr.when(self.limits.exists() & (e.amount > self.limits.get(e.country))):
        ...             hr.emit(e, rules=self.limits.size())
        >>> charges = hr.read.memory([("a", "SE", 70), ("a", "DE", 70)], "card string, country string, amount int", name="charges")
        >>> rules = hr.read.memory([("SE", 50), ("DE", 90)], "country string, limit int", name="rules")
        >>> hr.collect(charges.key_by("card").process(Limits, rules=hr.broadcast(rules))).rows()
        [('a', 'SE', 70, 2)]


    """

    kind = "broadcast"
    needs = ("key",)
    entries = True
    projected = False

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return f"a map of {type} by {key} for all keys"
