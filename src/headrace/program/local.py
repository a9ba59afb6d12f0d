"""let: a value under a name that lives for one call of a handler and can be given another value."""

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
    """A local of the call: what a Python variable cannot be where its value depends on the row.

    >>> import headrace as hr
    >>> class Graded(hr.Program):
    ...     def on_event(self, e):
    ...         fee = hr.let(e.amount * 0.01)
    ...         with hr.when(e.amount > 500):
    ...             fee.set(5)
    ...         hr.emit(card=self.key.card, fee=fee.get())

    A Python value is a literal. The type is that of the first value, unless `type` (a Spark type) names another one; every further value
    is cast to it, and one that does not fit sends the row to the dead letters.
    """
    current = recording("hr.let")
    if value is None and type is None:
        hint = 'give it one: hr.let(None, "timestamp")'
        raise ProgramError("LET_TYPE", "hr.let(None) makes a local without a type", hint=hint, site=here())
    if type is not None:
        refuse_fraction("the local", type_text(type), value)
    text = current.text(value)
    name = current.numbered("let")
    said = "a local was made with hr.let inside a `with hr.when(...)` or `with hr.each(...)`, and is used outside of it"
    current.locals[name] = Origin(current.block, said, "make it before the `with`, and give it its value inside: total.set(...)")
    current.record(Let(name, text, None if type is None else type_text(type), site=here()))
    return Local(current, name)


class Local(Opaque):
    """What `hr.let` makes. `get()` is its value at this place of the handler, `set(value)` gives it another one."""

    __slots__ = ("_name", "_recording")

    def __init__(self, recording: Recording, name: str) -> None:
        self._recording = recording
        self._name = name

    def get(self) -> Column:
        """The value at this place of the handler. A later `set` does not change what was read."""
        current = recording("a local")
        local = current.numbered("let")
        said = "the value of a local was read inside a `with hr.when(...)` or `with hr.each(...)`, and is used outside of it"
        text = current.text(self._column())
        current.locals[local] = Origin(current.block, said, "read it where it is used")
        current.record(Let(local, text, site=here()))
        return current.value(quote(local), local)

    def set(self, value: Any) -> None:
        """Gives it another value."""
        current = recording("a local")
        current.text(self._column())  # refuses one of another handler, or of a block that has ended
        current.record(Let(self._name, current.text(value), site=here()))

    def _column(self) -> Column:
        return self._recording.value(quote(self._name), self._name)

    def __repr__(self) -> str:
        return "<Local>"

    def _refusal(self, done: str) -> ProgramError:
        return ProgramError(
            "CELL_OPERATOR",
            f"what hr.let made is a local, not its value, so Python cannot {done}",
            hint="read it: total.get(); write it: total.set(...)",
            site=here(),
        )
