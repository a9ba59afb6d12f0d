"""The way back from rows of a result to the rows of sources that gave them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.ops.operator import operator
from headrace.plan import Node, Plan
from headrace.spark.why.origin import origin
from headrace.spark.why.paths import read_by
from headrace.spark.why.streams import Captured, once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Step:
    """An operator on the way: so many of its rows come from so many different rows of its inputs. `witnesses`: if some rows of a group were
    enough, how many there were to choose from.
    """

    node: Node
    rows: int
    inputs: int
    witnesses: int | None


@dataclass(frozen=True)
class Way:
    """The way back. `roots`: the rows at its beginning, by node: those of sources, with their places, and those of operators that depend on
    what came before.
    """

    steps: tuple[Step, ...]
    roots: Mapping[Node, DataFrame]


def back(plan: Plan, streams: Mapping[Node, Captured], node: Node, rows: DataFrame) -> Way:
    """Go back from rows of a node, which have `TIMES`, over what was captured of each stream on the way."""
    wanted: dict[Node, list[DataFrame]] = {}
    roots: dict[Node, DataFrame] = {}
    steps: list[Step] = []

    def follow(stream: Node, some: DataFrame) -> int:
        count, behind = streams[stream].roots(some, streams)
        for root, frames in behind.items():
            wanted.setdefault(root, []).extend(frames)
        return count

    follow(node, rows)
    for root in reversed([*plan.nodes.values()]):
        if root not in wanted:
            continue
        its, before = once(wanted[root]), read_by(root)
        count = its.count()
        if count == 0:
            continue
        if not before:
            roots[root] = its
            continue
        provenance = operator(root).provenance
        assert provenance is not None
        came = origin(provenance, its, [streams[stream] for stream in before])
        inputs = sum(follow(stream, some) for stream, some in zip(before, came.rows, strict=True) if some is not None)
        steps.append(Step(root, count, inputs, came.witnesses))
    return Way(tuple(steps), {node: roots[node] for node in plan.nodes.values() if node in roots})
