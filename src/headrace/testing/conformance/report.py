"""Report: the checks of a connector and their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.errors import HeadraceError

PASSED, REFUSED, FAILED, LEFT = "passed", "refused", "FAILED", "left out"


@dataclass(frozen=True)
class Line:
    """One check and its outcome, with the reason: `passed`, `refused` (an error of headrace, which may be right), `FAILED`, `left out`."""

    check: str
    outcome: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:8}  {self.check}{': ' if self.why else ''}{self.why}"


class NotConforming(AssertionError):
    """Raised if a connector does not have its declared traits; `report` has all checks."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"{report.name} does not conform\n{report}")
        self.report = report


class Refused(Exception):
    """Raised in a check: the connector explicitly refuses this."""


class NotTried(Exception):
    """Raised in a check: it cannot be tried here."""


@dataclass
class Report:
    """The checks of one connector, in order; its text has a line for each. `only` limits it to checks whose names have one of the words."""

    name: str
    only: tuple[str, ...] = ()
    lines: list[Line] = field(default_factory=list)

    def check(self, name: str, work: Callable[[], object], *, may_refuse: bool = False) -> None:
        """Run one check; any exception fails it, except a refusal where one is allowed."""
        if self.only and not any(text in name for text in self.only):
            return
        try:
            work()
        except NotTried as why:
            self.lines.append(Line(name, LEFT, str(why)))
        except Refused as why:
            self.lines.append(Line(name, REFUSED, str(why)))
        except HeadraceError as error:
            outcome = REFUSED if may_refuse and error.fault != "headrace" else FAILED
            self.lines.append(Line(name, outcome, f"{error.code}: {error.message}"))
        except Exception as error:
            message = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            self.lines.append(Line(name, FAILED, message))
        else:
            self.lines.append(Line(name, PASSED))

    @property
    def failed(self) -> list[str]:
        """The checks that failed."""
        return [line.check for line in self.lines if line.outcome == FAILED]

    def outcome(self, check: str) -> str:
        return next(line.outcome for line in self.lines if line.check == check)

    def require(self) -> Report:
        """Return the report, or raise `NotConforming` if a check failed."""
        if self.failed:
            raise NotConforming(self)
        return self

    def __str__(self) -> str:
        return "\n".join(f"  {line}" for line in self.lines)
