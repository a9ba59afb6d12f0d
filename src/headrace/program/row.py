"""Row: the handle on a row, or on the key, inside a handler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn, cast

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.recording import Recording, find
from headrace.syntax import quote


class Row:
    """The row that a handler is called with. Its attributes are its columns, and it has no methods that could hide one.

    `e.amount`, or `e["two words"]` where the name is no Python name.
    """

    __slots__ = ("__columns", "__owner", "__recording", "__text")
    __hash__ = None  # type: ignore[assignment]  # == is refused below

    def __init__(self, recording: Recording, text: str, columns: tuple[str, ...], owner: str) -> None:
        self.__recording = recording
        self.__text = text
        self.__columns = columns
        self.__owner = owner

    def __getattr__(self, name: str) -> Column:
        if name.startswith("__") or (name.startswith("_") and name not in self.__columns):
            raise AttributeError(f"no column `{name}` in {self.__owner}")
        return self[name]

    def __getitem__(self, name: str) -> Column:
        if not isinstance(name, str):
            raise self.__refusal("take an item of it by number")
        found = find(name, self.__columns, self.__owner)
        return self.__recording.value(f"{self.__text}.{quote(found)}", self.__text)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_Row__"):
            object.__setattr__(self, name, value)
            return
        raise self.__refusal("change it")

    def __dir__(self) -> list[str]:
        return list(self.__columns)

    def __repr__(self) -> str:
        return f"<Row {self.__text}: {', '.join(self.__columns)}>"

    def __refusal(self, done: str) -> ProgramError:
        example = self.__columns[0] if self.__columns else "amount"
        return ProgramError(
            "ROW_OPERATOR",
            f"`{self.__text}` is a row, so Python cannot {done}",
            hint=f"use its columns: {self.__text}.{example}; all of them: hr.emit({self.__text}, ...)"
            if self.__text == "e"
            else f"use its columns: self.key.{example}",
            site=here(),
        )

    def _has_no_literal(self) -> ProgramError:
        """What `expr.literal` raises when a row stands where a value is expected."""
        return self.__refusal("use it as a value")

    def __operator(self, *_: object) -> NoReturn:
        raise self.__refusal("compute with it")

    def __bool__(self) -> NoReturn:
        raise self.__refusal("decide on it")

    def __iter__(self) -> Iterator[Column]:
        raise self.__refusal("loop over it")

    def __len__(self) -> int:
        raise self.__refusal("take its length")

    def __contains__(self, item: object) -> bool:
        raise self.__refusal("look into it with `in`")

    def __eq__(self, other: object) -> NoReturn:
        raise self.__refusal("compare it")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __and__ = __or__ = __invert__ = __operator
    __call__ = __setitem__ = __operator


def columns_of_row(row: Row) -> dict[str, Column]:
    """All columns of a row by name, in its order; a function because a method could hide a column."""
    columns = cast("tuple[str, ...]", row._Row__columns)  # Python's spelling of Row.__columns
    return {name: row[name] for name in columns}
