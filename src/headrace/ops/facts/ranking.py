"""What rules that make plans cheaper learn of an operator: which columns it copies, and how it numbers rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Copies:
    """The columns that an operator copies, each with the name that it had, in lower case; and whether no row is left out."""

    columns: Mapping[str, str]
    all_rows: bool


@dataclass(frozen=True)
class Ranking:
    """By which function each column numbers the rows of a partition, in its order.

    Columns are in lower case; a function is None where a column has something else than the number of a row.
    """

    per: tuple[str, ...]
    order: tuple[tuple[str, str, str], ...]
    functions: Mapping[str, str | None]
