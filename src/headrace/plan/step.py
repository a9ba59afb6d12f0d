"""Steps: what stateless nodes do to a row, as parts of routes that the kernel reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.jvm.parts import OneOf, Place, inline

__all__ = ["Expect", "Generate", "Locate", "Place", "Project", "Step", "Unweigh", "Weigh", "Where"]


@dataclass(frozen=True, kw_only=True)
class Step(OneOf):
    """A step; failures in it are reported at `place`."""

    place: Place = field(metadata=inline())


@dataclass(frozen=True, kw_only=True)
class Where(Step):
    """Keep the rows for which a condition is true. With a `reason`, the others become dead letters with it."""

    where: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Project(Step):
    """Compute all columns of the output, in order: names and expressions."""

    project: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Generate(Step):
    """Make a row for each row of a generator, with its columns after the input's."""

    generate: str
    names: tuple[str, ...]
    outer: bool


@dataclass(frozen=True, kw_only=True)
class Weigh(Step):
    """Multiply the row's weight by a number: 1 for an insertion, -1 for a retraction.

    A row without a number is a dead letter. `reason` is the reason, in SQL.
    """

    weigh: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Unweigh(Step):
    """Add the weight as a column: as a number, or with `change` as the word insert or delete, one row for each unit of weight."""

    unweigh: str
    change: bool


@dataclass(frozen=True, kw_only=True)
class Locate(Step):
    """Add two columns with the place at which a source read the row: a file or partition, and a position in it. Null if it is unknown."""

    locate: tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Expect(Step):
    """Count, by the name of each condition, the rows that meet and violate it; `otherwise` is what becomes of those that violate one."""

    expect: tuple[tuple[str, str], ...]
    otherwise: str
