"""Cell: what the pieces of keyed state have in common."""

from __future__ import annotations

from typing import ClassVar

from headrace.errors import ProgramError, Site, here
from headrace.program.opaque import Opaque
from headrace.program.recording import Recording, cell_name
from headrace.program.traced import TracedCell


class Cell(Opaque):
    """A declared attribute of a program. Inside a handler its methods record what the handler does; Python never sees a value.

    A cell type is one file: a class with a `kind`, the Spark type of what it keeps, and its methods.
    """

    kind: ClassVar[str]
    fires: ClassVar[bool] = False  # has a handler of its own
    read_with: ClassVar[str] = ".get()"
    write_with: ClassVar[str] = ".set(...)"

    def __init__(
        self, type: str, *, key: str | None = None, sql: str | None = None, clock: str | None = None, was: str | None = None
    ) -> None:
        self.type = type
        self.key = key
        self.sql = sql
        self.clock = clock
        self.was = was
        self._site: Site | None = here()
        self._name: str | None = None

    def traced(self, name: str) -> TracedCell:
        """The cell as data."""
        return TracedCell(name, self.kind, self.type, self.key, self.sql, self.clock, self.was, self._site)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>" if self._name else f"<{type(self).__name__}>"

    def _recording(self) -> tuple[Recording, str]:
        return cell_name(self, f"the {type(self).__name__} `{self._name}`" if self._name else f"a {type(self).__name__}")

    def _refusal(self, done: str) -> ProgramError:
        name = self._name or "cell"
        return ProgramError(
            "CELL_OPERATOR",
            f"`{name}` is a cell, not its value, so Python cannot {done}",
            hint=f"read it: self.{name}{self.read_with}; write it: self.{name}{self.write_with}",
            site=here(),
        )
