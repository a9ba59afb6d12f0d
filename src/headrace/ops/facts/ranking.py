"""What rewrite rules need to know of an operator: which columns it copies, and how it numbers rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Copies:
    """The columns that an operator copies, each with its former name, in lower case; and whether it keeps all rows."""

    columns: Mapping[str, str]
    all_rows: bool


@dataclass(frozen=True)
class Ranking:
    """The function by which each column numbers the rows of a partition, in its order.

    Columns are in lower case; the function of a column with anything but the number of a row is None.
    """

    per: tuple[str, ...]
    order: tuple[tuple[str, str, str], ...]
    functions: Mapping[str, str | None]
