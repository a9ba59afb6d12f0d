"""The result of a certification as text, JSON and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.analysis.guarantee import EXACTLY, LEAST, MOST
from headrace.certify.kills import FAILED
from headrace.ports import connectors

FORMAT = 1

RESTORED = "put back after"
"""The beginning of a kind of fault: a checkpoint is put back some epochs after it was copied."""


@dataclass(frozen=True)
class Written:
    """A sink of the copy: its guarantee, and its number of rows after an undisturbed run. `instead` names the system that was written in
    place of the job's own.
    """

    name: str
    connector: str
    guarantee: str
    rows: int
    instead: str = ""

    def to_json(self) -> dict[str, Any]:
        entry = {"name": self.name, "connector": self.connector, "guarantee": self.guarantee, "rows": self.rows}
        return entry | ({"instead": self.instead} if self.instead else {})

    def __str__(self) -> str:
        where = f"{self.connector}, {self.instead}" if self.instead else self.connector
        return f"{self.name} ({where}): {self.guarantee}, {self.rows:,} rows"


@dataclass(frozen=True)
class Tried:
    """Kills of one kind: their number, and the rows lost or doubled by sink. `failed` is the reason why a restart failed.

    For checkpoints that were put back, `kills` counts starts; `outcomes` counts refusals by code, and exact starts.
    """

    point: str
    of: str
    kills: int
    seconds: float
    lost: Mapping[str, int] = field(default_factory=dict)
    doubled: Mapping[str, int] = field(default_factory=dict)
    failed: str = ""
    outcomes: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        outcomes = {"outcomes": dict(self.outcomes)} if self.outcomes else {}
        return {
            "point": self.point,
            "of": self.of,
            "kills": self.kills,
            "seconds": round(self.seconds, 1),
            "lost": dict(self.lost),
            "doubled": dict(self.doubled),
            "failed": self.failed,
            **outcomes,
        }

    @classmethod
    def sum(cls, tried: Sequence[Tried]) -> Tried:
        """Return the sum of several of one kind."""
        lost, doubled = (sum((Counter(rows) for rows in kind), Counter()) for kind in ([t.lost for t in tried], [t.doubled for t in tried]))
        failed = next((one.failed for one in tried if one.failed), "")
        outcomes = sum((Counter(one.outcomes) for one in tried), Counter())
        kills, seconds = sum(t.kills for t in tried), sum(t.seconds for t in tried)
        return cls(tried[0].point, tried[0].of, kills, seconds, lost, doubled, failed, outcomes)


@dataclass(frozen=True)
class Certificate:
    """A comparison of the contents of a job's sinks after kills of all kinds with those after an undisturbed run."""

    job: str
    date: str
    version: str
    sinks: tuple[Written, ...]
    tried: tuple[Tried, ...]
    left_out: Mapping[str, str]
    rows: int
    epochs: int
    seconds: float
    seed: int

    @property
    def broken(self) -> tuple[Tried, ...]:
        """The kinds of kills that broke a guarantee: failed restarts, and rows lost or doubled by a sink that promises not to."""
        promised = {one.name: one.guarantee for one in self.sinks}

        def breaks(one: Tried) -> bool:
            lost = any(n and promised.get(name) in (EXACTLY, LEAST, None) for name, n in one.lost.items())
            doubled = any(n and promised.get(name) in (EXACTLY, MOST, None) for name, n in one.doubled.items())
            return bool(one.failed) or lost or doubled

        return tuple(filter(breaks, self.tried))

    @property
    def holds(self) -> bool:
        return not self.broken

    @property
    def fault(self) -> str:
        """The side at fault: "user" if each sink that lost or doubled rows has a third-party connector, else "headrace"."""
        ours = {name for name, entry in connectors().items() if entry.value.startswith("headrace.")}
        broke = {name for one in self.broken for name in (*one.lost, *one.doubled)}
        elsewhere = {one.name for one in self.sinks if one.connector not in ours}
        return "user" if broke and broke <= elsewhere else "headrace"

    @property
    def kills(self) -> int:
        return sum(one.kills for one in self.tried)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "job": self.job,
            "date": self.date,
            "version": self.version,
            "holds": self.holds,
            "rows": self.rows,
            "epochs": self.epochs,
            "seconds": round(self.seconds, 1),
            "seed": self.seed,
            "sinks": [one.to_json() for one in self.sinks],
            "left_out": dict(self.left_out),
            "tried": [one.to_json() for one in self.tried],
        }

    def __str__(self) -> str:
        widths = [max(len(line[column]) for line in (_HEAD, *self._lines())) for column in range(len(_HEAD))]
        table = [
            "  "
            + "  ".join(
                cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in (_HEAD, *self._lines())
        ]
        return "\n".join([self._title(), *(f"  {text}" for text in self._sinks()), "", *table, "", self._verdict()])

    def displayed(self, names: Callable[[str], str]) -> Certificate:
        """Return the certificate with the names that `names` gives to sinks."""
        sinks = tuple(replace(one, name=names(one.name)) for one in self.sinks)
        tried = tuple(
            replace(
                one,
                of=names(one.of),
                lost={names(name): rows for name, rows in one.lost.items()},
                doubled={names(name): rows for name, rows in one.doubled.items()},
            )
            for one in self.tried
        )
        return replace(self, sinks=sinks, tried=tried, left_out={names(name): why for name, why in self.left_out.items()})

    def markdown(self) -> str:
        """Return the certificate as a Markdown page."""
        lines = [f"# {self._title()}", "", f"{self.date}, headrace {self.version}", "", *(f"* {text}" for text in self._sinks()), ""]
        lines += [_row(_HEAD), _row(("---", *["---:"] * (len(_HEAD) - 1))), *map(_row, self._lines())]
        return "\n".join([*lines, "", self._verdict(), ""])

    def _title(self) -> str:
        failures, restored = (sum(one.kills for one in self.tried if one.point.startswith(what)) for what in (FAILED, RESTORED))
        failed = f", {FAILED} {_times(failures)}" if failures else ""
        started = f", started {_times(restored)} on checkpoints that were put back" if restored else ""
        return f"{self.job}: killed {_times(self.kills - failures - restored)}{failed}{started}"

    def _sinks(self) -> list[str]:
        return [*map(str, self.sinks), *(f"{name}: left out, {why}" for name, why in self.left_out.items())]

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{one.point} of {one.of}" if one.of else one.point,
                str(one.kills),
                one.failed or f"{sum(one.lost.values()):,}",
                "" if one.failed else f"{sum(one.doubled.values()):,}",
                f"{one.seconds:.0f}",
            )
            for one in self.tried
        ]

    def _verdict(self) -> str:
        lost, doubled = (
            sum(sum(rows.values()) for rows in kind) for kind in ([t.lost for t in self.tried], [t.doubled for t in self.tried])
        )
        counts = f"{self.rows:,} rows in {self.epochs} epochs; {lost:,} rows lost, {doubled:,} doubled, in {self.seconds:.0f} s"
        if not self.holds:
            return f"{counts}: NOT as promised"
        return f"{counts}: every sink{' that was tried' if self.left_out else ''} keeps what it promises"


_HEAD = ("killed", "kills", "rows lost", "rows doubled", "seconds")


def _times(count: int) -> str:
    return f"{count} time{'' if count == 1 else 's'}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
