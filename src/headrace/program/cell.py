"""Cell: what the pieces of keyed state have in common."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

from headrace.errors import ProgramError, Site, here
from headrace.expr import Column
from headrace.program.kinds import KINDS, CellKind
from headrace.program.opaque import Opaque
from headrace.program.recording import Recording, broadcast_use, cell_name
from headrace.program.traced import TracedCell
from headrace.schema.duration import milliseconds


class Cell(Opaque):
    """A declared piece of a program's state. Inside a handler its methods record what the handler does; Python never sees a value.

    A kind of cell is one file: a class with a `kind`, the facts of `CellKind`, and the cell's methods. A class with a `kind` that lacks a
    fact fails at import.

    `expires` is the duration after which a set value is gone: rows and timers of a later time do not see it. It counts from the time of the
    row or timer that set the value (`clock="event"`) or from the start of its epoch (`clock="processing"`). In a list or a map each entry
    expires separately.

    `was` is the cell's name in an older version of the job or, if the cell is `computable`, an expression over the cells of that version.
    """

    kind: ClassVar[str]
    # See `CellKind`.
    needs: ClassVar[tuple[str, ...]]
    entries: ClassVar[bool]
    projected: ClassVar[bool]
    fires: ClassVar[bool] = False
    computable: ClassVar[bool] = False
    read_with = ".get()"
    write_with = ".set(...)"

    def __init__(
        self,
        type: str,
        *,
        key: str | None = None,
        sql: str | None = None,
        expires: str | dt.timedelta | None = None,
        clock: str = "event",
        was: str | Column | None = None,
    ) -> None:
        if clock not in ("event", "processing"):
            raise ProgramError(
                "BAD_CLOCK",
                f"there is no clock {clock!r}",
                hint='clock="event" follows the time in the rows, clock="processing" the wall clock',
                site=here(),
            )
        self.type = type
        self.key = key
        self.sql = sql
        self.expires_ms = None if expires is None else milliseconds(expires, "the expiry of a cell")
        self.clock = clock if self.fires or expires is not None else None
        self.was = was if isinstance(was, str) else None
        self.computed = None if was is None or isinstance(was, str) else self._computed(was)
        self._site: Site | None = here()
        self._name: str | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" not in vars(cls):
            return
        unsaid = [name for name in ("needs", "entries", "projected") if not hasattr(cls, name)]
        unsaid += ["_keeps"] if cls._keeps is Cell._keeps else []
        if unsaid:
            raise TypeError(f"{cls.__name__} does not define: {', '.join(unsaid)}")
        KINDS[cls.kind] = CellKind(cls.needs, cls._keeps, cls.entries, cls.projected, cls.computable, cls.fires)

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        """Describes what a cell of this type keeps, for messages."""
        raise NotImplementedError

    def traced(self, name: str) -> TracedCell:
        """Returns the declaration of the cell as a part of a plan; `process` calls it.

        Args:
            name: The attribute of the program that holds the cell.

        Examples:
            >>> import headrace as hr
            >>> cell = hr.Value("int", expires="1 hour").traced("n")
            >>> cell.kind, cell.type, cell.expires_ms
            ('value', 'int', 3600000)
        """
        return TracedCell(name, self.kind, self.type, self.key, self.sql, self.expires_ms, self.clock, self.was, self.computed, self._site)

    def _computed(self, was: object) -> str:
        """Returns the text of a `was` that is an expression."""
        kind = type(self).__name__ if self.key is None or not self.computable else f"{type(self).__name__} with keys"
        if not isinstance(was, Column):
            raise ProgramError(
                "BAD_WAS",
                f"the `was` of a {kind} cannot be {was!r}",
                hint='give the old name, was="n", or an expression over the cells of the previous version, was=hr.col("n") * 2',
                site=here(),
            )
        if not self.computable or self.key is not None:
            raise ProgramError(
                "BAD_WAS",
                f"the `was` of a {kind} must be a name, not the expression `{was._expression.text}`",
                hint='only values and timers without keys can be computed from other cells; write was="old_name" to keep the state',
                site=here(),
            )
        return was._expression.text

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>" if self._name else f"<{type(self).__name__}>"

    def _recording(self) -> tuple[Recording, str]:
        current, name = cell_name(self, f"the {type(self).__name__} `{self._name}`" if self._name else f"a {type(self).__name__}")
        if current.broadcast and self.kind != "broadcast":
            raise broadcast_use(
                f"`{name}` is kept per key, but {current.handler} runs without a key",
                f"to share state between keys, declare {name} = hr.Broadcast(key, value)",
            )
        return current, name

    def _refusal(self, done: str, cure: str | None = None) -> ProgramError:
        """The error for an operation of Python. `cure` replaces the hint to read or write the cell; `{}` in it is the cell."""
        name = self._name or "cell"
        return ProgramError(
            "CELL_OPERATOR",
            f"`{name}` is a cell, not its value, so Python cannot {done}",
            hint=f"read it: self.{name}{self.read_with}; write it: self.{name}{self.write_with}"
            if cure is None
            else cure.format(f"self.{name}"),
            site=here(),
        )
