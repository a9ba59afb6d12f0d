"""Whether a file is being loaded for its job. What it runs at its top level is refused then."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from headrace.errors import HeadraceError, here

_file: ContextVar[Path | None] = ContextVar("headrace_loading", default=None)


@contextlib.contextmanager
def loading(file: Path) -> Iterator[None]:
    """While this lasts, `refuse_while_loading` refuses."""
    token = _file.set(file)
    try:
        yield
    finally:
        _file.reset(token)


def refuse_while_loading(what: str) -> None:
    """Refuse to run anything while a file is being loaded for its job."""
    file = _file.get()
    if file is not None:
        raise HeadraceError(
            "RUN_WHILE_LOADING",
            f"{what} is called while {file} is being loaded for its job",
            hint='put it behind `if __name__ == "__main__":`, so that only `python FILE` runs it.',
            site=here(),
        )
