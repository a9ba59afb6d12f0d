"""Entries: what lists and maps have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.errors import here
from headrace.expr import Column
from headrace.program.cell import Cell
from headrace.program.statement import Clear


class Entries(Cell):
    """A cell with any number of entries, which are read in pages."""

    def __iter__(self) -> Iterator[Any]:
        raise self._refusal("loop over it", "loop over it: with hr.each({}) as it: ...")

    def __len__(self) -> int:
        raise self._refusal("take its length", "write {}.size()")

    def clear(self) -> None:
        """Deletes all entries.

        Raises:
            ProgramError: `LOOP_CHANGES` in a loop over the cell.
        """
        recording, name = self._recording()
        recording.record(Clear(name, site=here()))

    def size(self) -> Column:
        """Returns the number of entries, as bigint."""
        recording, name = self._recording()
        return recording.read(name, "size")

    def exists(self) -> Column:
        """Returns whether there is an entry."""
        recording, name = self._recording()
        return recording.read(name, "exists")
