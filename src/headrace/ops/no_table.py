"""What Python does with a table or a list and cannot do with a stream, whose rows exist only when a job runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from headrace.errors import PlanError, here
from headrace.words import Verbs


class NoTable(Verbs):
    """An object with verbs, and without rows to index, count or loop over. `_called` is the name of the stream in its errors."""

    __slots__ = ()
    _called: ClassVar[str] = "stream"

    if not TYPE_CHECKING:  # type checkers find these uses themselves

        def __getitem__(self, wanted: Any) -> NoReturn:
            raise _no_table(f"cannot be indexed with [{_shown(wanted)}]", _item_cure(wanted, self._called))

        def __iter__(self) -> NoReturn:
            cure = (
                f"hr.collect({self._called}).rows() runs to the end of the input and returns the rows; hr.show({self._called}) prints them"
            )
            raise _no_table("cannot be looped over", cure)

        def __len__(self) -> NoReturn:
            kept = f'count them with {self._called}.group_by().agg(n="count(*)")'
            cure = f"{kept}; for a bounded input, len(hr.collect({self._called}))"
            raise _no_table("has no length", cure)

        def __contains__(self, item: object) -> NoReturn:
            raise _no_table("cannot be searched with `in`", f"write {_shown(item)} in {self._called}.columns".replace("'", '"'))

    def __bool__(self) -> bool:
        # Python would ask for the length; `stream or default` has to work.
        return True


def _no_table(why: str, cure: str) -> PlanError:
    message = f"a stream {why}: it describes a computation and holds no rows"
    return PlanError("NOT_A_TABLE", message, hint=cure, site=here())


def _shown(wanted: Any) -> str:
    return repr(wanted) if isinstance(wanted, str | int | list | tuple) else "..."


def _item_cure(wanted: Any, called: str) -> str:
    """Return what to write instead of [...]: pandas and PySpark select columns with it, Python rows."""
    if isinstance(wanted, str):
        return (
            f'the column is hr.col("{wanted}"), or its name in a SQL string; for a stream of this column only, {called}.select("{wanted}")'
        )
    if isinstance(wanted, list | tuple) and wanted and all(isinstance(name, str) for name in wanted):
        return f"write {called}.select({', '.join(repr(name) for name in wanted)})".replace("'", '"')
    if isinstance(wanted, int | slice):
        return f"hr.collect({called}).rows()[...] runs to the end of the input and returns the rows"
    return f'select columns with {called}.select("a", "b"), rows with {called}.filter("a > 3")'
