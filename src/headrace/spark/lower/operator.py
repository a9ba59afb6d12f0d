"""What every core operator says: what it keeps between epochs, and what the kernel has to build."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from headrace.analysis.schemas import Schemas
from headrace.plan import Node, Plan
from headrace.spark.feeds import Feeds
from headrace.spark.identity import Entry, Shape

Json = dict[str, Any]


@dataclass(frozen=True)
class Lowering:
    """What a lowering may look at: the plan, its checked schemas, and the ways rows take."""

    plan: Plan
    schemas: Schemas
    feeds: Feeds


@singledispatch
def shape(node: Node, level: int, at: Lowering) -> Shape:
    """What the operator keeps between epochs."""
    raise TypeError(f"{node!r} has no lowering")


@singledispatch
def lower(node: Node, entry: Entry, at: Lowering) -> Json:
    """The operator in a query document, with its outputs but without their routes."""
    raise TypeError(f"{node!r} has no lowering")
