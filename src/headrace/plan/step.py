"""Steps: what stateless nodes do to a row, as data that routes carry and the kernel reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.jvm.parts import OneOf, Place, inline

__all__ = ["Expect", "Generate", "Place", "Project", "Step", "Unweigh", "Weigh", "Where"]


@dataclass(frozen=True, kw_only=True)
class Step(OneOf):
    """A step; `place` is where a failure in it is reported."""

    place: Place = field(metadata=inline())


@dataclass(frozen=True, kw_only=True)
class Where(Step):
    """Keep the rows for which a condition is true. With a `reason` the others are dead letters, and say it."""

    where: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Project(Step):
    """Compute all columns of the output, in order: names and texts."""

    project: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Generate(Step):
    """A row for each one that a generator makes, its columns after the input's."""

    generate: str
    names: tuple[str, ...]
    outer: bool


@dataclass(frozen=True, kw_only=True)
class Weigh(Step):
    """Multiply the row's weight by a number: 1 for a row that is added, -1 for one that is taken away.

    A row without a number is a dead letter. `reason` says why, in SQL.
    """

    weigh: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Unweigh(Step):
    """Show the weight in one more column: as a number, or (`change`) as the words insert and delete, the row as often as it counts."""

    unweigh: str
    change: bool


@dataclass(frozen=True, kw_only=True)
class Expect(Step):
    """Count the rows that meet each condition, by its name, and those that do not; of the latter `otherwise` says what becomes."""

    expect: tuple[tuple[str, str], ...]
    otherwise: str
