"""The rows of several streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Self

from headrace.errors import PlanError, here
from headrace.ops.columns import label
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.reading import Wanted
from headrace.ops.handle import Handle, other_stream, verb
from headrace.ops.inlet import Json
from headrace.ops.operator import Memoryless, all_append, operator
from headrace.ops.project import in_order
from headrace.ops.tree import Tree, reads
from headrace.plan import Node, Role, node
from headrace.syntax import quote


@node("union")
class Union(Memoryless):
    """All rows of all inputs. Columns are matched by name, in the order of the first; types are widened to one that holds all.

    >>> import headrace as hr
    >>> north = hr.read.memory([("a", 1)], "card string, amount int", name="north")
    >>> south = hr.read.memory([(2, "b")], "amount int, card string", name="south")
    >>> north.union(south)                                     # (a, 1) and (2, b)   ->   (a, 1) (b, 2)
    <Stream north.union: card, amount>
    """

    role = Role.STATELESS

    branches: tuple[Node, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.branches[0].columns

    @property
    def fits(self) -> bool:
        return all({name.lower() for name in one.columns} == {name.lower() for name in self.columns} for one in self.branches)

    def describe(self) -> str:
        return "union"

    def check_request(self) -> Json | None:
        return {"id": self.name, "site": self.line, "union": [operator(branch).checked_as for branch in self.branches]}

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return all_append(self, kinds)

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        names = {None if time is None else time.lower() for time in (times[branch] for branch in self.branches)}
        return times[self.branches[0]] if len(names) == 1 else None

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        first, *others = (columns[branch] for branch in self.branches)
        return {name: closes for name, closes in first.items() if all(other.get(name) == closes for other in others)}

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}


def union(branches: Sequence[Node]) -> Union:
    first, *others = branches
    wants = {name.lower() for name in first.columns}
    if not others:
        raise PlanError("UNION_COLUMNS", "union needs another stream", hint="first.union(second, third)", site=here())
    for other in others:
        has = {name.lower() for name in other.columns}
        if has != wants:
            missing = [f"`{name}`" for name in first.columns if name.lower() not in has]
            more = [f"`{name}`" for name in other.columns if name.lower() not in wants]
            lacks = f"{label(other)} lacks {', '.join(missing)}" if missing else ""
            adds = f"{label(other)} has {', '.join(more)}, which {label(first)} lacks" if more else ""
            raise PlanError(
                "UNION_COLUMNS",
                "the streams of a union must have the same columns: " + "; ".join(part for part in (lacks, adds) if part),
                hint="align them with .select(...), .rename({...}), .drop(...) or .with_columns(missing=hr.lit(None))",
                site=here(),
            )
    return Union(tuple(branches), site=here())


@reads("union")
def _union(tree: Tree) -> Node:
    first, *others = tree.nodes("inputs")
    # By position, so that all get the names of the first: the node matches columns by name.
    alike = [
        in_order(other, tuple((name, quote(theirs)) for name, theirs in zip(first.columns, other.columns, strict=True)), tree.site)
        for other in others
    ]
    return Union((first, *alike), site=tree.site)


class UnionVerb(Handle):
    __slots__ = ()

    @verb("union")
    def union(self, *streams: Self) -> Self:
        """Returns the rows of this stream and of others. Equal rows are kept, as in SQL's `UNION ALL`.

        Columns are matched by name and are in the order of this stream. Types are widened to a common type. The result keeps event time if
        it is the same column in every stream.

        Args:
            *streams: One or more streams with the same column names.

        Raises:
            PlanError: `UNION_COLUMNS` if the names differ or no stream is given; `BAD_INPUT` if an argument is no stream. When the job is
                built, `WRONG_TYPE` if types have no common type.

        Examples:
            >>> import headrace as hr
            >>> north = hr.read.memory([("a", 1)], "card string, amount int", name="north")
            >>> south = hr.read.memory([(2, "b")], "amount int, card string", name="south")
            >>> north.union(south)                             # ('a', 1) and (2, 'b')  ->  ('a', 1), ('b', 2)
            <Stream north.union: card, amount>
        """
        nodes = [other_stream(stream, "union", "first.union(second, third)")._node for stream in streams]
        return self._then(union([self._node, *nodes]))
