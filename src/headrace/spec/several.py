"""Independent errors, raised together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from headrace.errors import HeadraceError


class Several:
    """Gathers errors, each once, until `check` raises them together.

    >>> several = Several()
    >>> for column in ("amout", "crad", "amout"):
    ...     with several.gathering():
    ...         raise HeadraceError("UNKNOWN_COLUMN", f"no column `{column}`")
    >>> [error.message for error in several.errors]
    ['no column `amout`', 'no column `crad`']
    """

    def __init__(self) -> None:
        self.errors: list[HeadraceError] = []

    @contextlib.contextmanager
    def gathering(self) -> Iterator[None]:
        """Gather the error that the block raises."""
        try:
            yield
        except HeadraceError as error:
            for one in (error, *error.also):
                if (one.code, one.message, one.site) not in [(known.code, known.message, known.site) for known in self.errors]:
                    self.errors.append(one)

    def check(self) -> None:
        """Raise the gathered errors as one."""
        if self.errors:
            first, *rest = self.errors
            raise HeadraceError(first.code, first.message, hint=first.hint, site=first.site, also=rest)
