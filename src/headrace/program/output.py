"""Output and emit: the outputs of a program, and the function that emits a row to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.errors import ProgramError, here
from headrace.program.recording import Emitted, Recording, broadcast_use, recording, warn_of_text
from headrace.program.row import Row, columns_of_row
from headrace.program.statement import Emit

MAIN = "main"


class Output:
    """A side output of a program, declared like a cell. `stream.output("large")` is the stream of its rows.

    Examples:
        >>> import headrace as hr
        >>> class Split(hr.Program):
        ...     large = hr.Output()
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.amount > 500):
        ...             self.large.emit(e)
        ...         with hr.otherwise():
        ...             hr.emit(card=self.key.card)
        >>> charges = hr.read.memory([("a", 7), ("b", 900)], "card string, amount int", name="charges")
        >>> hr.collect(charges.key_by("card").process(Split).output("large")).rows()
        [('b', 900)]
    """

    def __init__(self) -> None:
        self._site = here()
        self._name: str | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<Output {self._name}>" if self._name else "<Output>"

    def emit(self, row: Row | Mapping[str, Any] | None = None, /, **columns: Any) -> None:
        """Emits a row to this output.

        Args:
            row: A row of the handler, with all its columns, or a mapping from names to values.
            **columns: Further columns by name. A Python value is a literal, even a string: wrap SQL in `hr.expr`.

        Raises:
            ProgramError: As for `hr.emit`.
            PlanError: As for `hr.emit`.
        """
        what = f"the Output `{self._name}`" if self._name else "an Output"
        current = recording(what)
        name = current.frame.cells.get(id(self))
        if name is None:
            raise ProgramError(
                "FOREIGN_CELL",
                f"{what} is used in {current.program}, but is not an attribute of it",
                hint="declare it in the program: large = hr.Output() in the class or in __init__",
                site=here(),
            )
        _emit(current, name, row, columns)


def emit(row: Row | Mapping[str, Any] | None = None, /, **columns: Any) -> None:
    """Emits a row to the program's main output.

    All rows of an output have the same columns, in the order of the first `emit`. Their types are widened to a common type.

    Args:
        row: A row of the handler, with all its columns, or a mapping from names to values.
        **columns: Further columns by name. A Python value is a literal, even a string: wrap SQL in `hr.expr` (in `select` and `hr.f` a
            string is SQL).

    Raises:
        ProgramError: `EMIT_COLUMNS` without columns, or if a name is given twice; `EMIT_DIFFERS` if another `emit` of this output has other
            columns; `BROADCAST_USE` in the handler of a broadcast input; `OUTSIDE_HANDLER` outside a handler; `STALE_VALUE` or
            `OUT_OF_SCOPE` for a column used outside the handler or block in which it was created.
        PlanError: `BAD_LITERAL` for a Python value without a SQL literal, `UNKNOWN_COLUMN`; `WRONG_TYPE`, raised by `hr.job`, for types
            without a common type.

    Examples:
        >>> import headrace as hr
        >>> class Large(hr.Program):
        ...     def on_event(self, e):
        ...         with hr.when(e.amount > 500):
        ...             hr.emit(e, fee=e.amount * 0.01)
        >>> charges = hr.read.memory([("a", 7), ("b", 900)], "card string, amount int", name="charges")
        >>> hr.collect(charges.key_by("card").process(Large)).rows()
        [('b', 900, 9.0)]
    """
    _emit(recording("hr.emit"), MAIN, row, columns)


def _emit(current: Recording, output: str, row: Any, named: dict[str, Any]) -> None:
    if current.broadcast:
        raise broadcast_use(
            f"{current.handler} runs in every partition for broadcast rows, so its rows would be emitted once per partition",
            "emit in the handler of a keyed input; the broadcast stream can have its own sink",
        )
    values: list[tuple[str, Any]] = []
    if isinstance(row, Row):
        values += columns_of_row(row).items()
    elif isinstance(row, Mapping):
        values += row.items()
    elif row is not None:
        raise ProgramError(
            "EMIT_COLUMNS",
            f"a row to emit cannot be a {type(row).__name__}",
            hint="name its columns: hr.emit(card=self.key.card, amount=e.amount); all columns of a row: hr.emit(e)",
            site=here(),
        )
    values += named.items()
    if not values:
        raise ProgramError("EMIT_COLUMNS", "the emitted row has no columns", hint="hr.emit(card=self.key.card)", site=here())
    seen: dict[str, str] = {}
    for name, _ in values:
        if not isinstance(name, str):
            raise ProgramError("EMIT_COLUMNS", f"a column's name must be a string, not {name!r}", hint='{"card": ...}', site=here())
        if name.lower() in seen:
            raise ProgramError(
                "EMIT_COLUMNS",
                f"the column `{name}` is emitted twice" + ("" if name == seen[name.lower()] else f", also as `{seen[name.lower()]}`"),
                hint="rename one of the two, or list the columns instead of passing the whole row",
                site=here(),
            )
        seen[name.lower()] = name
    for name, value in values:
        if isinstance(value, str) and value == name and value in (*current.columns, *current.frame.key):
            warn_of_text(value, f"{'e' if value in current.columns else 'key'}.{value}")
    texts = {name: current.text(value) for name, value in values}
    first = current.frame.outputs.setdefault(output, Emitted(tuple(texts), here()))
    if set(first.columns) != set(texts):
        missing = [f"`{name}` is missing" for name in first.columns if name not in texts]
        added = [f"`{name}` is new" for name in texts if name not in first.columns]
        target = "the main output" if output == MAIN else f"the output `{output}`"
        raise ProgramError(
            "EMIT_DIFFERS",
            f"all rows of {target} must have the same columns, but {', '.join(missing + added)}",
            hint=f"the first emit, at {first.site}, has: {', '.join(first.columns)}; emit None for a missing value, "
            "or use a second hr.Output()",
            site=here(),
        )
    current.record(Emit(output, tuple((name, texts[name]) for name in first.columns), site=here()))
