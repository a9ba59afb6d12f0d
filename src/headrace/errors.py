"""Errors: what they say, and how they say it.

Every error text reads: code and message, the place, a hint that cures it, the command that explains it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from headrace.codes import CODES as CODES
from headrace.codes import EXIT_CODES as EXIT_CODES
from headrace.codes import REASONS as REASONS
from headrace.codes import Code as Code
from headrace.codes import page_of
from headrace.codes import register as register
from headrace.masking import masked, masked_problem
from headrace.places import Site as Site
from headrace.places import here as here
from headrace.places import ours as ours
from headrace.places import shown_path as shown_path
from headrace.places import standing as standing


class HeadraceError(Exception):
    """Base of all errors of headrace: `code`, `fault`, `message`, `hint`, `site` and `also` (further errors found with it).

    `HeadraceError("UNKNOWN_COLUMN", ...)` makes the kind that the table names (here a PlanError).

    >>> print(HeadraceError("UNKNOWN_COLUMN", "no column `amout` in charges", hint="did you mean `amount`?"))
    UNKNOWN_COLUMN: no column `amout` in charges
      hint: did you mean `amount`?
      more: headrace error UNKNOWN_COLUMN
    """

    total: ClassVar[int] = 0
    """How many there were in this process."""

    def __new__(cls, code: str, *args: Any, **keywords: Any) -> HeadraceError:
        if code not in CODES:
            raise TypeError(f"no error has the code {code}; a connector adds its own with headrace.errors.register")
        kind = KINDS[CODES[code].kind]
        if not issubclass(kind, cls):
            raise TypeError(f"{code} is a {kind.__name__}, not a {cls.__name__}")
        return super().__new__(kind)

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        site: Site | None = None,
        cause: BaseException | None = None,
        also: Iterable[HeadraceError] = (),
    ) -> None:
        HeadraceError.total += 1
        self.code = code
        self.message = masked(message)
        self.hint = hint and masked(hint)
        self.site = site
        self.also = tuple(also)
        super().__init__(code, self.message)
        if cause is not None:
            self.__cause__ = masked_problem(cause)

    @property
    def fault(self) -> str:
        """Whose fault it was: "user", "input", "environment" or "headrace"."""
        return CODES[self.code].fault

    @property
    def page(self) -> str:
        return page_of(self.code)

    @property
    def exit_code(self) -> int:
        """What the command line ends with."""
        return EXIT_CODES[self.fault]

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        if self.site is not None:
            lines.append(masked(f"  at {self.site}: {self.site.text}" if self.site.text else f"  at {self.site}"))
        if self.hint:
            first, *rest = self.hint.split("\n")
            lines.append(f"  hint: {first}")
            lines.extend(f"        {line}" for line in rest)
        lines.append(f"  more: headrace error {self.code}")
        lines.extend("\n" + str(other) for other in self.also)
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.code, self.message, self.hint, self.site, self.also)

    def to_json(self) -> dict[str, Any]:
        """The error as data, for the command line and pages."""
        return {
            "code": self.code,
            "fault": self.fault,
            "message": self.message,
            "hint": self.hint,
            "site": None if self.site is None else {"place": str(self.site), "text": masked(self.site.text)},
            "page": self.page,
            "also": [other.to_json() for other in self.also],
        }


def _rebuild(code: str, message: str, hint: str | None, site: Site | None, also: tuple[HeadraceError, ...]) -> HeadraceError:
    return HeadraceError(code, message, hint=hint, site=site, also=also)


class PlanError(HeadraceError):
    """The pipeline as described cannot be built."""


class SchemaError(HeadraceError):
    """A type, schema or value does not fit."""


class ProgramError(HeadraceError):
    """A state program cannot be traced or checked."""


class ConfigError(HeadraceError):
    """Settings, or what is installed, are not enough."""


class CheckpointError(HeadraceError):
    """What is stored with a job does not allow this run."""


class ConnectorError(HeadraceError):
    """A source or sink cannot be used as asked."""


class RunError(HeadraceError):
    """A run failed."""


KINDS: dict[str, type[HeadraceError]] = {
    kind.__name__: kind for kind in (PlanError, SchemaError, ProgramError, ConfigError, CheckpointError, ConnectorError, RunError)
}
