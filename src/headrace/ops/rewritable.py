"""What rules that make plans cheaper look for in an operator.

Here alone an operator may be silent: a rule leaves it as it is then, and the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from headrace.ops.facts.contract import Contract
from headrace.ops.facts.ranking import Copies, Ranking
from headrace.plan import Node


class Rewritable(Contract):
    """An operator as the rules see it."""

    # Whether it keeps its rows or repeats their columns, so that those which nobody reads are left out in front of it.
    holds_columns: ClassVar[bool] = False

    # Whether no epoch both adds a row and takes it away again in what it gives.
    net: ClassVar[bool] = False

    def place_of_filter(self, named: frozenset[str]) -> str | None:
        """The input at which a condition over these columns of its rows, in lower case, says the same; None: it has to stay behind it."""
        return None

    @property
    def copies(self) -> Copies | None:
        """Where it gives copies of its rows and has no state: of which columns. A condition over those says the same in front of it."""
        return None

    @property
    def ranking(self) -> Ranking | None:
        """Where it numbers rows: by which functions, in which order."""
        return None

    @property
    def first_rows(self) -> bool:
        """Whether it gives nothing but the first rows of partitions."""
        return False

    @property
    def keeps_apart(self) -> bool:
        """Whether each row gives one at the most, and rows that differ give others."""
        return False

    @property
    def needless_over_net(self) -> bool:
        """Whether it gives its input as it is, where no epoch both adds a row of that and takes it away again."""
        return False

    def with_table(self, array: Callable[[Node], str | None]) -> Node | None:
        """It without state, where an input is a table of few rows, of which `array` gives the text of an array."""
        return None
