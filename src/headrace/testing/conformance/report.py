"""Report: what a connector was checked for, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.errors import HeadraceError

PASSED, REFUSED, FAILED, LEFT = "passed", "refused", "FAILED", "left out"


@dataclass(frozen=True)
class Line:
    """One check: `passed`, `refused` (with an error of headrace, which may be right), `FAILED` or `left out`, and why."""

    check: str
    outcome: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:8}  {self.check}{': ' if self.why else ''}{self.why}"


class NotConforming(AssertionError):
    """A connector does not do what its traits say; `report` has all that was checked."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"{report.name} does not conform\n{report}")
        self.report = report


class Refused(Exception):
    """Raised in a check: the connector said clearly that it does not take this."""


class NotTried(Exception):
    """Raised in a check: there is no way to try it."""


@dataclass
class Report:
    """The checks of one connector, in their order; its text has a line for each. With `only` those alone whose names have one of these."""

    name: str
    only: tuple[str, ...] = ()
    lines: list[Line] = field(default_factory=list)

    def check(self, name: str, work: Callable[[], object], *, may_refuse: bool = False) -> None:
        """Do one check: it fails by any exception."""
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
            said = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            self.lines.append(Line(name, FAILED, said))
        else:
            self.lines.append(Line(name, PASSED))

    @property
    def failed(self) -> list[str]:
        """The checks that failed."""
        return [line.check for line in self.lines if line.outcome == FAILED]

    def outcome(self, check: str) -> str:
        return next(line.outcome for line in self.lines if line.check == check)

    def require(self) -> Report:
        """The report itself; raises `NotConforming` if a check failed."""
        if self.failed:
            raise NotConforming(self)
        return self

    def __str__(self) -> str:
        return "\n".join(f"  {line}" for line in self.lines)
