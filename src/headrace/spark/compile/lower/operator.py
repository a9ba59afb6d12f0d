"""What every core operator says: what it keeps between epochs, which rows it takes, and what the kernel has to build."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from headrace.analysis.schemas import Schemas
from headrace.plan import Node, Plan
from headrace.spark.compile.feeds import Feeds
from headrace.spark.compile.identity import Entry, Shape

Json = dict[str, Any]


@dataclass(frozen=True)
class Lowering:
    """What a lowering may look at: the plan, its checked schemas, and the ways rows take."""

    plan: Plan
    schemas: Schemas
    feeds: Feeds


@dataclass(frozen=True)
class Inlet:
    """How the rows of a stream come to one input of an operator.

    `delivery`: to the group of their key (`key`, or `null_key` where a null is a key as any other), of the whole `row`, of one of `shards`
    by hash (`shard`) or of each (`shards`; None: as many as there are partitions), or to all keys of each partition (`shared`). `order`:
    time, columns, rows (equal ones together), position (as they came) or none. `steps` are done last on the way. `combines`: the operator
    takes the net of equal rows, so that they may become one before they are sent.
    """

    stream: Node
    name: str
    side: int
    schema: str
    delivery: str
    key: tuple[tuple[str, str], ...] = ()
    key_schema: str = ""
    time: str | None = None
    order: str | None = None
    steps: tuple[Json, ...] = ()
    shards: int | None = None
    combines: bool = False


@singledispatch
def inlets(node: Node, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    """The inputs of the operator. `steady`: some sink counts on a replay being equal."""
    raise TypeError(f"{node!r} has no lowering")


@singledispatch
def shape(node: Node, level: int, at: Lowering) -> Shape:
    """What the operator keeps between epochs."""
    raise TypeError(f"{node!r} has no lowering")


@singledispatch
def lower(node: Node, entry: Entry, at: Lowering) -> Json:
    """The operator in a query document, with its outputs but without their routes."""
    raise TypeError(f"{node!r} has no lowering")
