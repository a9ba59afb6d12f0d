"""reject: a row that the program does not take."""

from __future__ import annotations

from headrace.errors import here
from headrace.expr import Column
from headrace.program.recording import recording
from headrace.program.statement import Reject


def reject(reason: str | Column) -> None:
    """Sends the row being handled to the dead letters with a reason, as if its handler had failed.

    >>> import headrace as hr
    >>> class Balance(hr.Program):
    ...     balance = hr.Value("decimal(12,2)", default=0)
    ...
    ...     def on_event(self, e):
    ...         left = self.balance.get() - e.amount
    ...         with hr.when(left < 0):
    ...             hr.reject(hr.f.concat(hr.lit("not enough: "), self.balance.get()))
    ...         self.balance.set(left)
    ...         hr.emit(card=self.key.card, left=left)

    The handler ends there. What it has set is as before the row, what it has emitted is not sent. A text is the reason itself.
    """
    current = recording("hr.reject")
    current.record(Reject(current.text(reason), site=here()))
