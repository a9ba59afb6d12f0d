"""A file that is being loaded for its job: what would run at its top level is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from headrace.errors import HeadraceError, here

_file: ContextVar[Path | None] = ContextVar("headrace_loading", default=None)


@contextlib.contextmanager
def loading(file: Path) -> Iterator[None]:
    """Mark a file as being loaded, so that `refuse_while_loading` raises."""
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
            f"{what} is called while {file} is being loaded",
            hint='put it under `if __name__ == "__main__":`, so that only `python FILE` runs it',
            site=here(),
        )
