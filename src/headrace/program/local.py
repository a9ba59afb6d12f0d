"""let: a local variable of one call of a handler."""

from __future__ import annotations

from typing import Any

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.opaque import Opaque
from headrace.program.recording import Origin, Recording, recording
from headrace.program.statement import Let
from headrace.program.whole import refuse_fraction
from headrace.schema.ddl import type_text
from headrace.syntax import quote


def let(value: Any, type: Any = None) -> Local:
    """Creates a local variable of a handler call, with a value for each row.

    Use it for a value that depends on a branch: a Python name bound under `hr.when` would have that value for every row (`NAME_FROM_WHEN`).
    A value that does not fit the local's type sends the row to the dead letters.

    Args:
        value: The first value: a column of the handler or a Python value, which is a literal.
        type: The local's type, as DDL or as a type of `pyspark.sql.types`. Default: the type of `value`.

    Raises:
        ProgramError: `LET_TYPE` if `value` is None and there is no `type`; `OUTSIDE_HANDLER` outside a handler; `STALE_VALUE` or
            `OUT_OF_SCOPE` for a column used outside the handler or block in which it was created.
        SchemaError: `BAD_TYPE` for an invalid type.
        PlanError: `WRONG_TYPE` for a number with a fraction in a whole-number type, and, raised by `hr.job`, for a value of another type;
            `BAD_LITERAL`, `UNKNOWN_COLUMN`.

    Examples:
        >>> import headrace as hr
        >>> class Graded(hr.Program):
        ...     def on_event(self, e):
        ...         fee = hr.let(e.amount * 0.01, "decimal(8,2)")
        ...         with hr.when(e.amount > 500):
        ...             fee.set(5)
        ...         hr.emit(card=self.key.card, fee=fee.get())
        >>> charges = hr.read.memory([("a", 7), ("b", 900)], "card string, amount int", name="charges")
        >>> sorted(hr.collect(charges.key_by("card").process(Graded)).rows())
        [('a', Decimal('0.07')), ('b', Decimal('5.00'))]
    """
    current = recording("hr.let")
    if value is None and type is None:
        hint = 'write hr.let(None, "timestamp")'
        raise ProgramError("LET_TYPE", "hr.let(None) needs a type", hint=hint, site=here())
    if type is not None:
        refuse_fraction("the local", type_text(type), value)
    text = current.text(value)
    name = current.numbered("let")
    message = "a local created inside a `with hr.when(...)` or `with hr.each(...)` is used outside it"
    current.locals[name] = Origin(current.block, message, "create it before the `with`, and set it inside: total.set(...)")
    current.record(Let(name, text, None if type is None else type_text(type), site=here()))
    return Local(current, name)


class Local(Opaque):
    """A local variable, created by `hr.let`. It lives for one call of a handler.

    Examples:
        >>> import headrace as hr
        >>> class Longest(hr.Program):
        ...     def on_event(self, e):
        ...         name = hr.let(e.first)
        ...         with hr.when(hr.f.length(e.last) > hr.f.length(e.first)):
        ...             name.set(e.last)
        ...         hr.emit(id=self.key.id, longest=name.get())
        >>> people = hr.read.memory([(1, "Ada", "Lovelace"), (2, "Grace", "Hop")], "id int, first string, last string", name="people")
        >>> sorted(hr.collect(people.key_by("id").process(Longest)).rows())
        [(1, 'Lovelace'), (2, 'Grace')]
    """

    __slots__ = ("_name", "_recording")

    def __init__(self, recording: Recording, name: str) -> None:
        self._recording = recording
        self._name = name

    def get(self) -> Column:
        """Returns the value at this point of the handler. A later `set` does not change the column that was returned.

        Raises:
            ProgramError: `OUT_OF_SCOPE` outside the `hr.when` or `hr.each` in which the local was created, `STALE_VALUE` in another
                handler, `OUTSIDE_HANDLER` outside a handler.
        """
        current = recording("a local")
        local = current.numbered("let")
        message = "a local's value read inside a `with hr.when(...)` or `with hr.each(...)` is used outside it"
        text = current.text(self._column())
        current.locals[local] = Origin(current.block, message, "read it where it is used")
        current.record(Let(local, text, site=here()))
        return current.value(quote(local), local)

    def set(self, value: Any) -> None:
        """Replaces the value.

        Args:
            value: A column of the handler, or a Python value, which is a literal. Types as for `Value.set`.

        Raises:
            ProgramError: As for `get`; `STALE_VALUE` or `OUT_OF_SCOPE` also for such a `value`.
            PlanError: `WRONG_TYPE`, raised by `hr.job`, for a value of another type; `BAD_LITERAL`, `UNKNOWN_COLUMN`.
        """
        current = recording("a local")
        current.text(self._column())  # refuses a local of another handler, or of a block that has ended
        current.record(Let(self._name, current.text(value), site=here()))

    def _column(self) -> Column:
        return self._recording.value(quote(self._name), self._name)

    def __repr__(self) -> str:
        return "<Local>"

    def _refusal(self, done: str) -> ProgramError:
        return ProgramError(
            "CELL_OPERATOR",
            f"hr.let returns a local, not its value, so Python cannot {done}",
            hint="read it: total.get(); write it: total.set(...)",
            site=here(),
        )
