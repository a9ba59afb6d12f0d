"""What an operator keeps between epochs, for people to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.ops.facts.carried import Columns
from headrace.plan import Node

GROWS, GROUPS, KEYS, ENTRIES = "grows with rows", "grows with groups", "grows with keys", "grows with entries"
BOUNDED, RELEASED = "bounded", "given back"
"""How the state of an operator grows."""


@dataclass(frozen=True)
class Basis:
    """Known facts for the size of an operator's state: whether its inputs are insert-only, closing columns, the state of its aggregates.

    `parts` runs the check, so it is called only when needed.
    """

    append: bool
    columns: Mapping[Node, Columns]
    parts: Callable[[Node], tuple[tuple[str, str], ...]]
