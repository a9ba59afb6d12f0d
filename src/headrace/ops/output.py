"""Another output of a source or operator: late rows, dead letters, rows that met nothing, side outputs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from headrace.errors import PlanError, here
from headrace.ops.asof import AsOf
from headrace.ops.columns import label
from headrace.ops.feeding import fed
from headrace.ops.program import LATE, Program
from headrace.ops.source import DEAD_COLUMNS, DEAD_LETTER
from headrace.plan import Node, Role, node
from headrace.spelling import suggestion

LATE_RIGHT = f"{LATE}_right"


@node("output", Role.OUTPUT)
class OutputOf(Node):
    """The rows of one output of a source or operator by its name.

    `dead_letter` has the rows that could not be read or computed: `node, reason, file, position, raw`; `late` those that came to an
    operator after their group had closed, or took away what it had forgotten, of a join those of its left side, `late_right` those of the
    other; `missed` those that a lookup found nothing for.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> charges.output("dead_letter")
    <Stream charges.dead_letter: node, reason, file, position, raw>
    """

    input: Node
    output: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        if isinstance(self.input, Program):
            return self.input.output_columns(self.output)
        return DEAD_COLUMNS if self.late is None else self.late.columns

    @property
    def fits(self) -> bool:
        return bool(self.input.outputs) and (self.output in self.input.outputs or self.output in (LATE, LATE_RIGHT))

    @property
    def late(self) -> Node | None:
        """The input of an operator of a query whose rows these are, late ones or such as met nothing; None where they are others."""
        if isinstance(self.input, Program) or self.output == DEAD_LETTER:
            return None
        if isinstance(self.input, AsOf):
            return self.input.late(self.output)
        return self.input.inputs[1 if self.output == LATE_RIGHT else 0]

    @property
    def verb(self) -> str:
        return self.output

    def describe(self) -> str:
        return f"output {self.output}"


def output(input: Node, wanted: Any, late: tuple[str, ...]) -> OutputOf:
    """`late` are the outputs that it has for rows behind their time."""
    outputs = (*input.outputs, *late)
    if not outputs:
        before = input
        while not before.outputs:
            before = before.inputs[0]
        raise PlanError(
            "UNKNOWN_OUTPUT",
            f"{label(input)} has no outputs",
            hint=f'{label(fed(before) or before)}.output("dead_letter") has the rows that {label(input)} cannot compute, '
            "in a job with both; hr.collect(...).dead_letters has them, too",
            site=here(),
        )
    name = wanted if isinstance(wanted, str) else getattr(wanted, "_name", None)
    if name is None or name not in outputs:
        shown = f"`{wanted}`" if isinstance(wanted, str) else repr(wanted)
        hint = suggestion(str(name), outputs, f"it has: {', '.join(outputs)}")
        raise PlanError("UNKNOWN_OUTPUT", f"{label(input)} has no output {shown}", hint=hint, site=here())
    return OutputOf(input, name, site=here())
