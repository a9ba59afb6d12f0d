"""The part of its cores that a session uses for work beside a job that runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.errors import HeadraceError, here
from headrace.jvm.session import session

_PROPERTY = "headrace.share"
"""Also in `Pace.scala`."""


def checked(share: float | None) -> float | None:
    """Return a share. Raises BAD_SETTING."""
    if share is None or (not isinstance(share, bool) and isinstance(share, int | float) and 0 < share <= 1):
        return share
    hint = "it is a number above 0, and at most 1: 0.25 for a quarter"
    raise HeadraceError("BAD_SETTING", f"`share` is {share!r}", hint=hint, site=here())


@contextmanager
def sharing(share: float | None) -> Iterator[None]:
    """Let the tasks of this thread's jobs and queries work for a part of the time; None or 1: all of it."""
    if share is None or share == 1:
        yield
        return
    context = session().sparkContext
    before = context.getLocalProperty(_PROPERTY)
    context.setLocalProperty(_PROPERTY, str(share))
    try:
        yield
    finally:
        context.setLocalProperty(_PROPERTY, before)  # type: ignore[arg-type]  # null removes it
