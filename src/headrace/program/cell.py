"""Cell: what the pieces of keyed state have in common."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from headrace.errors import ProgramError, Site, here
from headrace.program.recording import Recording, cell_name
from headrace.program.traced import TracedCell


class Cell:
    """A declared attribute of a program. Inside a handler its methods record what the handler does; Python never sees a value.

    A cell type is one file: a class with a `kind`, the Spark type of what it keeps, and its methods.
    """

    kind: ClassVar[str]
    fires: ClassVar[bool] = False  # has a handler of its own
    read_with: ClassVar[str] = ".get()"
    write_with: ClassVar[str] = ".set(...)"
    __hash__ = None  # type: ignore[assignment]  # == is refused below

    def __init__(self, type: str, *, clock: str | None = None, was: str | None = None) -> None:
        self.type = type
        self.clock = clock
        self.was = was
        self._site: Site | None = here()
        self._name: str | None = None

    def traced(self, name: str) -> TracedCell:
        """The cell as data."""
        return TracedCell(name, self.kind, self.type, self.clock, self.was, self._site)

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

    def _has_no_literal(self) -> ProgramError:
        """What `expr.literal` raises when a cell stands where a value is expected."""
        return self._refusal("use it as one")

    def _operator(self, *_: object) -> NoReturn:
        raise self._refusal("compute with it")

    def __bool__(self) -> NoReturn:
        raise self._refusal("decide on it")

    def __iter__(self) -> NoReturn:
        raise self._refusal("loop over it")

    def __len__(self) -> int:
        raise self._refusal("take its length")

    def __contains__(self, item: object) -> bool:
        raise self._refusal("look into it with `in`")

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise self._refusal("call it")

    def __eq__(self, other: object) -> NoReturn:
        raise self._refusal("compare it")

    def __ne__(self, other: object) -> NoReturn:
        raise self._refusal("compare it")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _operator
    __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _operator
    __neg__ = __pos__ = __abs__ = __invert__ = __int__ = __float__ = __index__ = __getitem__ = _operator
