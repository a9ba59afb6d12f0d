"""Handles on things that exist only when rows flow and are not columns. Every operator on one is refused, with a hint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from headrace.errors import ProgramError
from headrace.expr import in_handler


class Opaque:
    """The base of cells and rows. Its names begin with an underscore, because all other attributes of a row are its columns."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # == is refused below

    def _refusal(self, done: str) -> ProgramError:
        """The error for an operation that Python tried, with what to write instead."""
        raise NotImplementedError

    def _has_no_literal(self) -> ProgramError:
        """The error that `expr.literal` raises where a value is expected."""
        return self._refusal("use it as a value")

    def _operator(self, *_: Any, **__: Any) -> NoReturn:
        raise self._refusal("compute with it")

    def __bool__(self) -> NoReturn:
        raise self._refusal("use it as a condition")

    def __iter__(self) -> Iterator[Any]:
        raise self._refusal("loop over it")

    def __len__(self) -> int:
        raise self._refusal("take its length")

    def __contains__(self, item: object) -> bool:
        raise self._refusal("search it with `in`")

    def __str__(self) -> str:
        if in_handler.get():
            raise self._refusal("convert it to a string")
        return repr(self)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise self._refusal("call it")

    def __eq__(self, other: object) -> NoReturn:
        raise self._refusal("compare it")

    def __ne__(self, other: object) -> NoReturn:
        raise self._refusal("compare it")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _operator
    __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _operator
    __neg__ = __pos__ = __abs__ = __invert__ = __int__ = __float__ = __index__ = __getitem__ = __setitem__ = _operator
