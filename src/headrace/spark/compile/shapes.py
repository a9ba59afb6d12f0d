"""Shapes: what the operators and sinks of a plan ask to be kept for them between epochs."""

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
    """What an operator keeps between epochs, as the plan asks for it. A sink or a lookup keeps nothing but its number.

    `content` is all that an operator of a query says: its state is of use to no other. `origin` stands for what its rows, or those of a
    sink, went through before (`origins`), and so does `way`, which earlier versions did not store (`ways`), or as `ordered_way`. Nor did
    they store `says`, which is `content` without the names of the inputs: a rule of the optimiser may put something in between.
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
        """Whether its rows go through what they went through before, as far as the checkpoint tells."""
        if old.way and self.way:
            return old.way in (self.way, self.ordered_way)
        return not old.origin or not self.origin or old.origin == self.origin

    def computes_like(self, old: Shape) -> bool:
        """Whether it says the same of its rows; `reads_like` answers for where they come from."""
        return self.says == old.says if self.says and old.says and self.way and old.way else self.content == old.content

    @property
    def keeps(self) -> bool:
        """Whether it has a place in a level, with state there."""
        return self.kind not in (SINK, LOOKUP)


@dataclass(frozen=True)
class QueryShape:
    """One query of the job: what it reads, how many levels it has and by which clock, its operators and sinks."""

    name: str
    sources: tuple[str, ...]
    levels: int
    clock: str
    shapes: tuple[Shape, ...]
