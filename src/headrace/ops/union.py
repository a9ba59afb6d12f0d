"""The rows of several streams."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from headrace.errors import PlanError, here
from headrace.ops.columns import label
from headrace.plan import Node, node


@node("union")
class Union(Node):
    """All rows of all inputs. Columns are matched by name, in the order of the first; types are widened to one that holds all.

    >>> import headrace as hr
    >>> north = hr.read.memory([("a", 1)], "card string, amount int", name="north")
    >>> south = hr.read.memory([(2, "b")], "amount int, card string", name="south")
    >>> north.union(south)                                     # (a, 1) and (2, b)   ->   (a, 1) (b, 2)
    <Stream north.union: card, amount>
    """

    branches: tuple[Node, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.branches[0].columns

    @property
    def fits(self) -> bool:
        return all({name.lower() for name in one.columns} == {name.lower() for name in self.columns} for one in self.branches)

    def describe(self) -> str:
        return "union"


def union(branches: Sequence[Node]) -> Union:
    first, *others = branches
    wants = {name.lower() for name in first.columns}
    if not others:
        raise PlanError("UNION_COLUMNS", "union was given no other stream", hint="first.union(second, third)", site=here())
    for other in others:
        has = {name.lower() for name in other.columns}
        if has != wants:
            missing = [f"`{name}`" for name in first.columns if name.lower() not in has]
            more = [f"`{name}`" for name in other.columns if name.lower() not in wants]
            lacks = f"{label(other)} lacks {', '.join(missing)}" if missing else ""
            adds = f"{label(other)} has {', '.join(more)}, which {label(first)} has not" if more else ""
            raise PlanError(
                "UNION_COLUMNS",
                "the streams of a union have the same columns: " + "; ".join(part for part in (lacks, adds) if part),
                hint="bring them to the same names with .select(...), .rename({...}), .drop(...) or .with_columns(missing=hr.lit(None))",
                site=here(),
            )
    return Union(tuple(branches), site=here())
