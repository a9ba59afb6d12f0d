"""What an operator keeps between epochs, for people to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.ops.facts.carried import Columns
from headrace.plan import Node

GROWS, GROUPS, KEYS, ENTRIES = "grows with rows", "grows with groups", "grows with keys", "grows with entries"
BOUNDED, GIVEN = "bounded", "given back"
"""How the state of an operator grows."""


@dataclass(frozen=True)
class Basis:
    """What is known of an operator: whether rows are only ever added to its inputs, the columns of nodes that close, and of the aggregates
    in it, once that is asked, how much is kept for each.
    """

    append: bool
    columns: Mapping[Node, Columns]
    parts: Callable[[Node], tuple[tuple[str, str], ...]]
