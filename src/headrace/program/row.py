"""Row: the handle on a row, or on the key, inside a handler."""

from __future__ import annotations

from typing import cast

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.opaque import Opaque
from headrace.program.recording import Recording, find
from headrace.syntax import quote


class Row(Opaque):
    """The row that a handler receives, or the key `self.key`. Its attributes are its columns.

    `e.amount` is a column. `e["two words"]` is a column whose name is not a Python identifier. Names are case-insensitive. A row has no
    methods that could hide a column. An unknown column raises `UNKNOWN_COLUMN`; any other use of a row as a value raises `ROW_OPERATOR`.

    Examples:
        >>> import headrace as hr
        >>> class Renamed(hr.Program):
        ...     def on_event(self, e):
        ...         hr.emit(card=self.key.card, amount=e.amount, country=e["home country"])
        >>> charges = hr.read.memory([("a", 7, "SE")], "card string, amount int, `home country` string", name="charges")
        >>> hr.collect(charges.key_by("card").process(Renamed)).rows()
        [('a', 7, 'SE')]
    """

    __slots__ = ("__columns", "__owner", "__recording", "__text")

    def __init__(self, recording: Recording, text: str, columns: tuple[str, ...], owner: str) -> None:
        self.__recording = recording
        self.__text = text
        self.__columns = columns
        self.__owner = owner

    def __getattr__(self, name: str) -> Column:
        if name.startswith("__") or (name.startswith("_") and name not in self.__columns):
            raise AttributeError(f"no column `{name}` in {self.__owner}")
        return self[name]

    def __getitem__(self, name: str) -> Column:  # type: ignore[override]  # Opaque refuses it, and here it names a column
        if not isinstance(name, str):
            raise self._refusal("index it by number")
        column = find(name, self.__columns, self.__owner)
        return self.__recording.value(f"{self.__text}.{quote(column)}", self.__text)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_Row__"):
            object.__setattr__(self, name, value)
            return
        raise self._refusal("change it")

    def __dir__(self) -> list[str]:
        return list(self.__columns)

    def __repr__(self) -> str:
        return f"<Row {self.__text}: {', '.join(self.__columns)}>"

    def _refusal(self, done: str) -> ProgramError:
        example = self.__columns[0] if self.__columns else "amount"
        return ProgramError(
            "ROW_OPERATOR",
            f"`{self.__text}` is a row, so Python cannot {done}",
            hint=f"use its columns: {self.__text}.{example}; all of them: hr.emit({self.__text}, ...)"
            if self.__text == "e"
            else f"use its columns: self.key.{example}",
            site=here(),
        )


def columns_of_row(row: Row) -> dict[str, Column]:
    """Returns all columns of a row by name, in order. It is a function because a method could hide a column."""
    columns = cast("tuple[str, ...]", row._Row__columns)  # Python's spelling of Row.__columns
    return {name: row[name] for name in columns}
