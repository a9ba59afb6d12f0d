"""Another output of a source or operator: late rows, dead letters, rows without a match, side outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from headrace.errors import PlanError, here
from headrace.ops.columns import label
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.outputs import DEAD_SCHEMA
from headrace.ops.facts.reading import Wanted
from headrace.ops.feeding import fed
from headrace.ops.inlet import Json
from headrace.ops.operator import Memoryless, Unary, operator
from headrace.plan import Node, Role, node
from headrace.spelling import suggestion


@node("output")
class OutputOf(Unary, Memoryless):
    """The rows of one output of a source or operator, by its name.

    * `dead_letter`: the rows that could not be read or computed, with the columns `node, reason, file, position, raw`
    * `late`: the rows that came after their group had closed, or retracted forgotten rows; for a join, those of its left side
    * `late_right`: those of the right side of a join
    * `missed`: the rows without a match in a lookup

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> charges.output("dead_letter")
    <Stream charges.dead_letter: node, reason, file, position, raw>
    """

    role = Role.OUTPUT

    output: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return operator(self.input).output_columns(self.output)

    @property
    def fits(self) -> bool:
        return bool(self.input.outputs) and (self.output in self.input.outputs or self.late is not None)

    @property
    def late(self) -> Node | None:
        """The input of an operator whose rows these are: late ones, or rows without a match; None if they are others."""
        return operator(self.input).rows_of(self.output)

    @property
    def verb(self) -> str:
        return self.output

    def describe(self) -> str:
        return f"output {self.output}"

    @property
    def checked_as(self) -> str:
        return operator(self.input).output_checked_as(self.output) or str(self.name)

    def check_request(self) -> Json | None:
        known = operator(self.input).output_checked_as(self.output)
        return {"id": self.name, "schema": DEAD_SCHEMA} if known is None else None

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return operator(self.input).output_kind(self.output, kinds)

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        return operator(self.input).output_time_after(self.output, times)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return operator(self.input).output_closing_after(self.output, columns)

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}


def outputs_of(nodes: Iterable[Node]) -> tuple[OutputOf, ...]:
    """Return the other outputs among some nodes."""
    return tuple(node for node in nodes if isinstance(node, OutputOf))


def output(input: Node, wanted: Any, late: tuple[str, ...]) -> OutputOf:
    """Return the node of an output; `late` are the input's outputs for late rows."""
    outputs = (*input.outputs, *late)
    if not outputs:
        before = input
        while not before.outputs:
            before = before.inputs[0]
        raise PlanError(
            "UNKNOWN_OUTPUT",
            f"{label(input)} has no outputs",
            hint=f'rows on which {label(input)} fails go to {label(fed(before) or before)}.output("dead_letter"), '
            "if the same job writes it to a sink; hr.collect(...).dead_letters has them, too",
            site=here(),
        )
    name = wanted if isinstance(wanted, str) else getattr(wanted, "_name", None)
    if name is None or name not in outputs:
        shown = f"`{wanted}`" if isinstance(wanted, str) else repr(wanted)
        hint = suggestion(str(name), outputs, f"it has: {', '.join(outputs)}")
        raise PlanError("UNKNOWN_OUTPUT", f"{label(input)} has no output {shown}", hint=hint, site=here())
    return OutputOf(input, name, site=here())
