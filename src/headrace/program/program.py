"""Program: the class that state programs derive from."""

from __future__ import annotations

from typing import Any

from headrace.errors import ProgramError, here
from headrace.program.cell import Cell
from headrace.program.output import Output
from headrace.program.recording import broadcast_use, is_recording, recording
from headrace.program.row import Row


class Program:
    """Keyed state with the logic that changes it.

    >>> import headrace as hr
    >>> class Count(hr.Program):
    ...     n = hr.Value("bigint")
    ...
    ...     def __init__(self, every=1):
    ...         self.every = every
    ...
    ...     def on_event(self, e):
    ...         n = hr.f.coalesce(self.n.get(), 0) + 1
    ...         self.n.set(n)
    ...         with hr.when(n % self.every == 0):
    ...             hr.emit(card=self.key.card, n=n)

    Cells (`hr.Value`, `hr.Timer`) and outputs (`hr.Output`) are class attributes or set in `__init__`, whose arguments are the program's
    parameters. Handlers are `on_event` (rows of the main input), `on_<input>`, `on_<timer>` and `on_late` (rows of the main input that
    break the watermark's promise). Each handler runs once, when the program is put into a stream, and what it does is written down and
    later done in the JVM for every row.
    """

    @property
    def key(self) -> Row:
        """The key of the row or timer being handled: `self.key.card`."""
        current = recording("self.key")
        if current.broadcast:
            raise broadcast_use(
                f"{current.handler} is called once for all keys, so there is no self.key",
                "keep what all keys see in a hr.Broadcast; the handlers of other inputs read it for their key",
            )
        return Row(current, "key", current.frame.key, f"the key of {current.program}")

    def __setattr__(self, name: str, value: Any) -> None:
        if is_recording():
            held = getattr(self, name, None) if name != "key" else None
            if isinstance(held, Cell | Output):
                message = f"`self.{name} = ...` would replace the {type(held).__name__} `{name}`, not what it holds"
                hint = f"self.{name}{held.write_with if isinstance(held, Cell) else '.emit(...)'}"
            else:
                message = f"`self.{name} = ...` in a handler would be done once, when the program is traced, and not for each row"
                hint = (
                    f"declare a cell, {name} = hr.Value(...), and set it with self.{name}.set(...); for this call only use a local variable"
                )
            raise ProgramError("HANDLER_ASSIGNS", message, hint=hint, site=here())
        super().__setattr__(name, value)
