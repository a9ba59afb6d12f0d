"""Shapes: what the operators and sinks of a plan need to keep between epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.errors import Site
from headrace.plan.codec import typed
from headrace.spark.compile.layout import Cell

PROGRAM, SINK, LOOKUP = "program", "sink", "lookup"

_TEXTS = tuple[str, ...]


@dataclass(frozen=True)
class InputShape:
    """One input of a program: its row, and where its key and time columns come from (texts back to the source or program)."""

    schema: str
    key: tuple[str, ...]
    time: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"schema": self.schema, "key": list(self.key), "time": list(self.time)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> InputShape:
        return cls(typed(value["schema"], str), typed(value["key"], _TEXTS), typed(value["time"], _TEXTS))


@dataclass(frozen=True)
class Shape:
    """What an operator keeps between epochs, as the plan declares it. A sink or a lookup keeps only its number.

    `content` is a hash of all that an operator of a query declares: its state is of no use to another. `origin` is a hash of the steps that
    its rows, or those of a sink, took before (`origins`), and so is `way` (`ways`), which earlier versions did not store, or stored as
    `ordered_way`. `says` is `content` without the names of the inputs, since a rule of the optimiser may insert a node; earlier versions
    did not store it either.
    """

    name: str
    kind: str
    level: int = 0
    key: str = ""
    order: str = ""
    clock: str = "none"
    inputs: dict[str, InputShape] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    site: Site | None = None
    content: str = ""
    origin: str = ""
    way: str = ""
    ordered_way: str = ""
    says: str = ""

    def reads_like(self, old: Shape) -> bool:
        """Return whether its rows take the same steps as before, as far as the checkpoint shows."""
        if old.way and self.way:
            return old.way in (self.way, self.ordered_way)
        return not old.origin or not self.origin or old.origin == self.origin

    def computes_like(self, old: Shape) -> bool:
        """Return whether it declares the same computation; `reads_like` compares where its rows come from."""
        return self.says == old.says if self.says and old.says and self.way and old.way else self.content == old.content

    @property
    def keeps(self) -> bool:
        """Whether it has a place in a level, with state there."""
        return self.kind not in (SINK, LOOKUP)


@dataclass(frozen=True)
class QueryShape:
    """One query of the job: its sources, its number of levels, its clock, its operators and sinks."""

    name: str
    sources: tuple[str, ...]
    levels: int
    clock: str
    shapes: tuple[Shape, ...]
