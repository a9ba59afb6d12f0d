"""Provenance: which rows of its inputs gave a row of an operator of a query.

These rows alone give that row again. Where one of several rows is enough for that, only one is named: the witness.
"""

from __future__ import annotations

from dataclasses import dataclass


class Provenance:
    """How the rows of an operator come from those of its inputs."""


@dataclass(frozen=True)
class Itself(Provenance):
    """A row is a row of the input, as it came or with more columns. `outside`: what else its columns depend on, in words."""

    outside: str = ""


@dataclass(frozen=True)
class OfGroup(Provenance):
    """A row comes from the rows of its group. `keys`: the row's columns, each with its text over the input. `aggregates`: the other columns
    with theirs; if all are extremes, some rows of the group are enough.
    """

    keys: tuple[tuple[str, str], ...]
    aggregates: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class OfPartition(Provenance):
    """A row is a row of the input, perhaps with more columns, and depends on all rows that have the same values of these texts."""

    per: tuple[str, ...]


@dataclass(frozen=True)
class OfSpan(Provenance):
    """A row is a row of the input with the bounds of its session, which come from all rows whose time is between these columns of it, the
    later one excluded.
    """

    per: tuple[str, ...]
    time: str
    between: tuple[str, str]


@dataclass(frozen=True)
class OfPair(Provenance):
    """A row has the columns of a left row, and of a right row that met it.

    `keys` are texts over both sides, `null_safe` the numbers of those in which nulls are equal, `condition` is what else has to be true.
    `right` are the right columns that a row has; without them (None) it shows at most that a right row met it: `semi`, or the column
    `mark`. `kept`: the sides, left 0 and right 1, whose rows are in the result without a match, too.
    """

    keys: tuple[tuple[str, str], ...]
    null_safe: tuple[int, ...] = ()
    condition: str | None = None
    right: tuple[str, ...] | None = None
    semi: bool = False
    mark: str | None = None
    kept: tuple[int, ...] = ()
