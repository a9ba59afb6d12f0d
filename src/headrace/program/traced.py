"""A traced program: cells, handlers and outputs as frozen data with a JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import Site
from headrace.jvm.parts import ALWAYS, Part
from headrace.program.document import Fields, place
from headrace.program.kinds import KINDS
from headrace.program.statement import Each, Replace, Statement, every


@dataclass(frozen=True)
class TracedCell(Part):
    """One declared piece of keyed state.

    `type` is the type of its values, `key` that of the keys of a map or timer; for an aggregate, `type` has its input columns and `sql` its
    expression. `clock` is set for timers and for cells that expire, `expires_ms` after a value was set. `was` is the cell's name in an
    older version of the job, `computed` the text of its first value over the cells of the previous version.
    """

    name: str
    kind: str
    type: str
    key: str | None = None
    sql: str | None = None
    expires_ms: int | None = None
    clock: str | None = None
    was: str | None = None
    computed: str | None = None
    site: Site | None = field(default=None, compare=False, metadata=ALWAYS)

    @property
    def fits(self) -> bool:
        """Whether it has all fields that its kind needs."""
        clocks = self.clock in (None, "event", "processing")
        return clocks and self.kind in KINDS and all(getattr(self, name) is not None for name in KINDS[self.kind].needs)

    @property
    def has_entries(self) -> bool:
        """Whether it keeps any number of entries."""
        return KINDS[self.kind].entries

    @staticmethod
    def from_json(value: object) -> TracedCell:
        fields = Fields(value, "a cell")
        optional = ("key", "sql", "clock", "was", "computed")
        fields.only("name", "kind", "type", *optional, "expires_ms", "site")
        texts = {name: fields.optional_text(name) for name in optional}
        return TracedCell(
            fields.text("name"),
            fields.text("kind"),
            fields.text("type"),
            **texts,
            expires_ms=fields.optional_number("expires_ms"),
            site=place(fields),
        )


@dataclass(frozen=True)
class TracedHandler(Part):
    """The statements for a row of an input, for a late row of the main input, or for a timer that fires."""

    on: str
    kind: str
    body: tuple[Statement, ...]

    @staticmethod
    def from_json(value: object) -> TracedHandler:
        fields = Fields(value, "a handler")
        fields.only("on", "kind", "body")
        body = tuple(Statement.from_json(statement) for statement in fields.list("body"))
        return TracedHandler(fields.text("on"), fields.text("kind"), body)


@dataclass(frozen=True)
class TracedOutput(Part):
    """An output and the names of its columns, in order. Every program has `main`, without columns if nothing is emitted to it."""

    name: str
    columns: tuple[str, ...]

    @staticmethod
    def from_json(value: object) -> TracedOutput:
        fields = Fields(value, "an output")
        fields.only("name", "columns")
        return TracedOutput(fields.text("name"), fields.texts("columns"))


@dataclass(frozen=True)
class Traced(Part):
    """A state program as data.

    >>> Traced.from_json({"cells": [], "handlers": [], "outputs": [{"name": "main", "columns": ["k"]}]}).columns("main")
    ('k',)
    """

    cells: tuple[TracedCell, ...]
    handlers: tuple[TracedHandler, ...]
    outputs: tuple[TracedOutput, ...]

    @property
    def clock(self) -> str:
        """The clock of its timers and expiring cells: "event", "processing", or "none" if it has neither."""
        return next((cell.clock for cell in self.cells if cell.clock is not None), "none")

    def columns(self, output: str) -> tuple[str, ...]:
        """Returns the columns of an output by its name."""
        return next(one.columns for one in self.outputs if one.name == output)

    @property
    def cleared(self) -> frozenset[str]:
        """The cells from which a handler deletes values, entries or times."""
        return frozenset(name for handler in self.handlers for name in _cleared(handler.to_json()["body"]))

    @property
    def fits(self) -> bool:
        """Whether cells have all that their kinds need, and handlers name only cells, outputs and loops that exist. Names that start with
        __ are headrace's own.
        """
        statements = [statement for handler in self.handlers for statement in every(handler.body)]
        cells = {getattr(statement, "cell", None) for statement in statements} - {cell.name for cell in self.cells}
        outputs = {getattr(statement, "output", None) for statement in statements} - {output.name for output in self.outputs}
        loops = {one.it for one in statements if isinstance(one, Replace)} <= {one.it for one in statements if isinstance(one, Each)}
        own = not any(name.startswith("__") for name in (*(cell.name for cell in self.cells), *(one.name for one in self.outputs)))
        return own and loops and cells | outputs <= {None} and all(cell.fits for cell in self.cells)

    @staticmethod
    def from_json(value: object) -> Traced:
        """Reads a program that `to_json` wrote; refuses unknown fields."""
        fields = Fields(value, "the whole")
        fields.only("cells", "handlers", "outputs")
        return Traced(
            tuple(TracedCell.from_json(cell) for cell in fields.list("cells")),
            tuple(TracedHandler.from_json(handler) for handler in fields.list("handlers")),
            tuple(TracedOutput.from_json(output) for output in fields.list("outputs")),
        )


def _cleared(body: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """Yields the cells from which statements delete something."""
    cells = {step["it"]: step["cell"] for step in _inside(body) if step["do"] == "each"}
    for step in _inside(body):
        if step["do"] == "clear" or (step["do"] == "set" and step["value"].upper() == "NULL"):
            yield step["cell"]
        elif step["do"] == "replace" and "value" not in step:
            yield cells[step["it"]]


def _inside(body: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Yields all statements of a body, with nested ones."""
    for statement in body:
        yield statement
        for inner in [statement.get("body", ()), *(inner for _, inner in statement.get("branches", ()))]:
            yield from _inside(inner)
