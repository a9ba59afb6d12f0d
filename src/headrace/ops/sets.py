"""Rows that two streams have in common, and rows that only the first has."""

from __future__ import annotations

from typing import Self

from headrace.errors import here
from headrace.ops.aggregate import aggregate, distinct
from headrace.ops.filter import Filter
from headrace.ops.generate import Generated
from headrace.ops.handle import Handle, other_stream, verb
from headrace.ops.join import Join
from headrace.ops.on import free
from headrace.ops.project import Project
from headrace.ops.union import union
from headrace.plan import Node
from headrace.ports.options import flag
from headrace.syntax import quote

_LEFT, _RIGHT, _COPY = "_left", "_right", "_copy"


def intersect(left: Node, right: Node, all: bool) -> Node:
    """The rows that both have; with `all` each as often as the stream that has it less often."""
    if flag("intersect", "all", all):
        return _repeated(left, right, "intersect", "{left} > 0 AND {right} > 0", "least({left}, {right})")
    return distinct(_meeting(left, right, "semi", "intersect"))


def subtract(left: Node, right: Node, all: bool) -> Node:
    """The rows of the first that the second does not have; with `all` by subtracting their counts."""
    if flag("subtract", "all", all):
        return _repeated(left, right, "subtract", "{left} > {right}", "{left} - {right}")
    return distinct(_meeting(left, right, "anti", "subtract"))


def _meeting(left: Node, right: Node, how: str, verb: str) -> Join:
    union([left, right])  # raises if the columns differ
    theirs = {name.lower(): name for name in right.columns}
    moved = Project(right, verb, tuple((f"{name}_right", quote(theirs[name.lower()])) for name in left.columns), site=here())
    keys = tuple((quote(name), quote(f"{name}_right")) for name in left.columns)
    return Join(left, moved, how, keys, tuple(range(len(keys))), site=here())


def _repeated(left: Node, right: Node, verb: str, condition: str, times: str) -> Node:
    """Each row as often as `times` says; the counts of both sides are `{left}` and `{right}` in the texts."""
    one, other, copy = (free(name, left.columns) for name in (_LEFT, _RIGHT, _COPY))
    counts = {"left": one, "right": other}
    both = union([_counted(left, verb, {one: 1, other: 0}), _counted(right, verb, {one: 0, other: 1})])
    keys = [(name, quote(name)) for name in left.columns]
    counted = aggregate(both, keys, [(name, f"sum({name})") for name in (one, other)])
    kept = Filter(counted, (condition.format_map(counts),), site=here())
    copies = Generated(kept, f"explode(sequence(1L, {times.format_map(counts)}))", (copy,), False, site=here())
    return Project(copies, verb, tuple(keys), site=here())


def _counted(node: Node, verb: str, counts: dict[str, int]) -> Project:
    items = (*((name, quote(name)) for name in node.columns), *((name, f"{count}L") for name, count in counts.items()))
    return Project(node, verb, items, site=here())


class SetVerbs(Handle):
    __slots__ = ()

    @verb("intersect")
    def intersect(self, other: Self, *, all: bool = False) -> Self:
        """Keeps the rows that both streams have. Columns are matched by name; nulls are equal, as in SQL's `INTERSECT`.

        Args:
            other: A stream with the same columns.
            all: Keeps the smaller of the two counts of a row (`INTERSECT ALL`). Default: keeps a common row once.

        Raises:
            PlanError: `UNION_COLUMNS` if the column names differ; `BAD_INPUT` if `other` is no stream. When the job is built,
                `KEYS_DIFFER`, or with `all=True` `WRONG_TYPE`, if types have no common type.
            ConnectorError: `BAD_OPTION` if `all` is not a boolean.

        Examples:
            >>> import headrace as hr
            >>> first = hr.read.memory([("a",), ("b",), ("b",)], "card string", name="first")
            >>> second = hr.read.memory([("b",), ("b",), ("c",)], "card string", name="second")
            >>> hr.collect(first.intersect(second, all=True)).rows()           # with all=False once
            [('b',), ('b',)]
        """
        return self._then(intersect(self._node, other_stream(other, "intersect", "first.intersect(second)")._node, all))

    @verb("subtract")
    def subtract(self, other: Self, *, all: bool = False) -> Self:
        """Keeps the rows that the other stream does not have. Columns are matched by name; nulls are equal, as in SQL's `EXCEPT`.

        Args:
            other: A stream with the same columns.
            all: Subtracts counts: a row that this stream has three times and the other once is kept twice. Default: a row that the other
                stream does not have is kept once.

        Raises:
            PlanError: `UNION_COLUMNS` if the column names differ; `BAD_INPUT` if `other` is no stream. When the job is built,
                `KEYS_DIFFER`, or with `all=True` `WRONG_TYPE`, if types have no common type.
            ConnectorError: `BAD_OPTION` if `all` is not a boolean.

        Examples:
            >>> import headrace as hr
            >>> first = hr.read.memory([("a",), ("b",), ("b",)], "card string", name="first")
            >>> second = hr.read.memory([("b",), ("c",)], "card string", name="second")
            >>> sorted(hr.collect(first.subtract(second, all=True)).rows())    # with all=False only a
            [('a',), ('b',)]
        """
        return self._then(subtract(self._node, other_stream(other, "subtract", "first.subtract(second)")._node, all))
