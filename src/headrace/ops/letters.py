"""The dead letters of a stream of changes, which its source and the operator that checks it share."""

from __future__ import annotations

from typing import Any, Self

from headrace.errors import here
from headrace.ops import output
from headrace.ops.facts.forgetting import late_outputs
from headrace.ops.facts.outputs import DEAD_LETTER, DEAD_SCHEMA
from headrace.ops.feeding import fed
from headrace.ops.handle import Handle, verb
from headrace.ops.output import OutputOf
from headrace.ops.project import Project
from headrace.ops.union import union
from headrace.ops.weigh import weigh
from headrace.plan import Node
from headrace.schema import parse_schema


def of_stream(node: Node, wanted: Any, late: tuple[str, ...]) -> Node:
    """Return an output of a stream. The dead letters of changes are those of their source and of the operator that checks them."""
    source = fed(node)
    if wanted != DEAD_LETTER or source is None or source is node:
        return output.output(node, wanted, late)
    return union([OutputOf(source, DEAD_LETTER, site=here()), OutputOf(node, DEAD_LETTER, site=here()) if node.outputs else _none(node)])


def _none(node: Node) -> Node:
    """Return no rows, with the columns of dead letters. The stream is still read, and its rows fail as they do for any other reader."""
    items = tuple((field.name, f"CAST(NULL AS {field.type})") for field in parse_schema(DEAD_SCHEMA).fields)
    return Project(weigh(node, "0"), DEAD_LETTER, items, site=here())


class OutputVerb(Handle):
    __slots__ = ()

    @verb("output")
    def output(self, output_: Any) -> Self:
        """Returns another output of a source or an operator, such as its late rows or dead letters.

        * `"dead_letter"`: rows that could not be read or computed, with the columns `node`, `reason`, `file`, `position` and `raw`.
        * `"late"`: rows that came after their window or session had closed; in a program with `order="time"`, in `join_asof` and in an
          interval join, rows at or before the watermark; retractions of rows that `expires` has forgotten ([late
          rows](../../concepts/time.md#late-rows)). The right side of a join has `"late_right"`, the versions of `join_asof`
          `"late_versions"`, a further input of a program `"late_<input>"`.
        * `"missed"`: the rows of a lookup without a match.
        * Side outputs of a program, by their name or their `hr.Output` object.

        Args:
            output_: The name, or the `hr.Output` object.

        Raises:
            PlanError: `UNKNOWN_OUTPUT` if it has no such output. Call `output` directly on the source or operator: a stateless step such as
                `filter` has no outputs.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
            >>> charges.output("dead_letter")
            <Stream charges.dead_letter: node, reason, file, position, raw>
        """
        return self._then(of_stream(self._node, output_, late_outputs(self._node)))
