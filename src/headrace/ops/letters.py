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
        """Another output: "late", "dead_letter", or an hr.Output of the program, by the object or its name.

        A query has late rows where its groups close: of `.window(...).group_by("window_end").agg(...)` those that came after that. Where
        they expire, they are those that take away what is forgotten.
        """
        return self._then(of_stream(self._node, output_, late_outputs(self._node)))
