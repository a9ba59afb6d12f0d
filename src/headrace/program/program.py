"""Program: the class that state programs derive from."""

from __future__ import annotations

from typing import Any

from headrace.errors import ProgramError, here
from headrace.program.cell import Cell
from headrace.program.output import Output
from headrace.program.recording import broadcast_use, is_recording, recording
from headrace.program.row import Row


class Program:
    """The base class of state programs: keyed state and the handlers that change it.

    Cells (`hr.Value`, `hr.List`, `hr.Map`, `hr.Aggregate`, `hr.Broadcast`, `hr.Timer`) and outputs (`hr.Output`) are class attributes or
    are set in `__init__`. The arguments of `__init__` are the program's parameters.

    | handler | runs for |
    |---|---|
    | `on_event(self, e)` | rows of the main input |
    | `on_<input>(self, r)` | rows of a further input |
    | `on_<timer>(self, at)` | a timer that fires; `(self, at, key)` if the timer has keys |
    | `on_late(self, e)` | optional: late rows of the main input, which also go to the output `late` |

    Every input and every timer needs its handler, and at least one handler emits. Late rows of a further input have no handler; they go to
    the output `late_<input>`. `stream.key_by(...).process(P)` runs each handler once, with placeholders, and records its calls as a plan.
    The JVM executes the plan for every row, so Python's `if`, `for` and `=` cannot depend on values of a row: use [`hr.when`](#when),
    [`hr.each`](#each) and [`hr.let`](#let).

    All methods of cells, timers and outputs may also raise:

    * `ProgramError`: `OUTSIDE_HANDLER` outside a handler; `FOREIGN_CELL` in a handler of another program; `BROADCAST_USE` if keyed state is
      used in the handler of a broadcast input, or a `Broadcast` is changed elsewhere; `STALE_VALUE` or `OUT_OF_SCOPE` if an argument is a
      column used outside the handler or block in which it was created.
    * `PlanError`: `UNKNOWN_COLUMN`; `BAD_LITERAL` for a Python value without a SQL literal; `WRONG_TYPE` for an argument of another type:
      at once for a Python number with a fraction in a whole-number type, else raised by `hr.job`.

    Examples:
        >>> import headrace as hr
        >>> class Count(hr.Program):
        ...     n = hr.Value("bigint", default=0)
        ...
        ...     def __init__(self, every=1):
        ...         self.every = every
        ...
        ...     def on_event(self, e):
        ...         n = self.n.get() + 1
        ...         self.n.set(n)
        ...         with hr.when(n % self.every == 0):
        ...             hr.emit(card=self.key.card, n=n)
        >>> charges = hr.read.memory([("a", 7), ("b", 3), ("a", 1)], "card string, amount int", name="charges")
        >>> hr.collect(charges.key_by("card").process(Count(every=2))).rows()
        [('a', 2)]
    """

    @property
    def key(self) -> Row:
        """The key of the row or timer being handled, as a row of the key columns: `self.key.card`.

        Raises:
            ProgramError: `OUTSIDE_HANDLER` outside a handler, `BROADCAST_USE` in the handler of a broadcast input.
        """
        current = recording("self.key")
        if current.broadcast:
            raise broadcast_use(
                f"{current.handler} is called once for all keys, so there is no self.key",
                "keep shared state in a hr.Broadcast; the handlers of keyed inputs can read it",
            )
        return Row(current, "key", current.frame.key, f"the key of {current.program}")

    def __setattr__(self, name: str, value: Any) -> None:
        if is_recording():
            held = getattr(self, name, None) if name != "key" else None
            if isinstance(held, Cell | Output):
                message = f"`self.{name} = ...` would replace the {type(held).__name__} `{name}`, not what it holds"
                hint = f"self.{name}{held.write_with if isinstance(held, Cell) else '.emit(...)'}"
            else:
                message = f"`self.{name} = ...` in a handler would run once, when the program is traced, not for each row"
                hint = f"declare a cell, {name} = hr.Value(...), and set it with self.{name}.set(...); within one call use a local variable"
            raise ProgramError("HANDLER_ASSIGNS", message, hint=hint, site=here())
        super().__setattr__(name, value)
