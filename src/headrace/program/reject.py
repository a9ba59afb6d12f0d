"""reject: sends a row to the dead letters."""

from __future__ import annotations

from headrace.errors import here
from headrace.expr import Column
from headrace.program.recording import recording
from headrace.program.statement import Reject


def reject(reason: str | Column) -> None:
    """Sends the row being handled to the program's dead letters, as if its handler had failed.

    The handler ends there for that row. Its changes to cells and timers are undone, and its emitted rows are dropped.

    Args:
        reason: The reason in the dead letter: a text, or a column of the handler, which is cast to string.

    Raises:
        ProgramError: `OUTSIDE_HANDLER` outside a handler; `STALE_VALUE` or `OUT_OF_SCOPE` for a column used outside the handler or block in
            which it was created.

    Examples:
        >>> import headrace as hr
        >>> class Balance(hr.Program):
        ...     balance = hr.Value("int", default=100)
        ...
        ...     def on_event(self, e):
        ...         left = self.balance.get() - e.amount
        ...         with hr.when(left < 0):
        ...             hr.reject(hr.f.concat(hr.lit("not enough: "), self.balance.get()))
        ...         self.balance.set(left)
        ...         hr.emit(card=self.key.card, left=left)
        >>> charges = hr.read.memory([("a", 70), ("a", 70)], "card string, amount int", name="charges")
        >>> balances = charges.key_by("card").process(Balance)
        >>> rejected = balances.output("dead_letter").select(why="split_part(reason, ' at ', 1)")    # the reason ends with the place
        >>> hr.collect(rejected).rows()
        [('not enough: 30',)]
    """
    current = recording("hr.reject")
    current.record(Reject(current.text(reason), site=here()))
