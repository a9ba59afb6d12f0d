"""What rewrite rules look for in an operator.

Only here an operator may leave facts out: a rule then leaves it unchanged, and the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from headrace.ops.facts.contract import Contract
from headrace.ops.facts.ranking import Copies, Ranking
from headrace.plan import Node


class Rewritable(Contract):
    """An operator as the rewrite rules see it."""

    # Whether it keeps its rows or repeats their columns, so that columns which are not read are left out of its input.
    holds_columns: ClassVar[bool] = False

    # Whether no epoch of its output both inserts and retracts the same row.
    net: ClassVar[bool] = False

    def place_of_filter(self, named: frozenset[str]) -> str | None:
        """Return the input at which a condition over these columns (lower case) gives the same result; None if it stays downstream."""
        return None

    @property
    def copies(self) -> Copies | None:
        """The columns that it copies, if it has no state and copies rows. A condition over them gives the same result in front of it."""
        return None

    @property
    def ranking(self) -> Ranking | None:
        """How it numbers rows, if it does: the functions and the order."""
        return None

    @property
    def first_rows(self) -> bool:
        """Whether it gives only the first rows of partitions."""
        return False

    @property
    def keeps_apart(self) -> bool:
        """Whether each row gives at most one, and different rows give different ones."""
        return False

    @property
    def needless_over_net(self) -> bool:
        """Whether it gives its input as it is, if no epoch of the input both inserts and retracts the same row."""
        return False

    def with_table(self, array: Callable[[Node], str | None]) -> Node | None:
        """Return it without state if an input is a small table, for which `array` returns the SQL text of an array; else None."""
        return None
