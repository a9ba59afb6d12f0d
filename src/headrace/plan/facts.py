"""Facts: results of analyses of a plan. Analyses register here when `headrace.analysis` is imported; a plan never depends on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.plan.plan import Plan


@dataclass(frozen=True)
class Fact:
    """A fact about one node: a value for programs and a sentence for people."""

    value: Any
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "text": self.text}


Analysis = Callable[["Plan"], Mapping[str, Fact]]
_ANALYSES: dict[str, Analysis] = {}


def fact(name: str) -> Callable[[Analysis], Analysis]:
    """Register a function that returns a fact for some nodes of a plan, by their names; explain shows it under this name."""

    def register(analysis: Analysis) -> Analysis:
        _ANALYSES[name] = analysis
        return analysis

    return register


def facts(plan: Plan, name: str) -> Mapping[str, Fact]:
    """Return the facts of one analysis."""
    return _ANALYSES[name](plan)


def names() -> tuple[str, ...]:
    """Return the names of the analyses, in the order in which they registered."""
    return tuple(_ANALYSES)
