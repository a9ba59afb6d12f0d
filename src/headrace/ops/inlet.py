"""Inlets: how rows come to the inputs of an operator in a query document, and which questions about the plan an operator needs for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.plan import Node, Plan, Step
from headrace.schema import Struct

Json = dict[str, Any]


class Checked(Protocol):
    """A plan whose expressions Spark has checked."""

    @property
    def plan(self) -> Plan: ...

    def schema(self, node: Node) -> Struct:
        """Return the columns of a node's rows."""

    def output_schema(self, node: Node, output: str) -> Struct:
        """Return the columns of an output of an operator."""

    def key_schema(self, node: Node) -> str:
        """Return the columns of an operator's key, as DDL."""

    def may_be_late(self, node: Node, name: str, stream: Node, apart: str) -> bool:
        """Return whether rows of the input `name`, which reads `stream`, may be late.

        Raises for a stream that mixes such rows with others; `apart` is a hint how to give the others an input of their own.
        """


@dataclass(frozen=True)
class Inlet:
    """How the rows of a stream come to one input of an operator.

    * `delivery`: `key`, to the group of their key; `null_key`, the same with null as a valid key; `row`, to the group of the whole row;
      `shard`, to one of `shards` groups by hash; `shards`, to each of them (None: as many as there are partitions); `shared`, to all keys
      of each partition; `looked_up`, to a lookup
    * `order`: time, columns, rows (equal ones together), position (as they came), or None
    * `steps` are the last ones on the way
    * `combines`: the operator takes the net of equal rows, so they may be combined before they are sent
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
    steps: tuple[Step, ...] = ()
    shards: int | None = None
    combines: bool = False


def inlet(
    stream: Node,
    at: Checked,
    *,
    delivery: str,
    key: Sequence[tuple[str, str]] = (),
    key_schema: str = "",
    name: str = "input",
    side: int = 0,
    order: str | None = "rows",
    steps: tuple[Step, ...] = (),
    shards: int | None = None,
) -> Inlet:
    """Return an inlet for the rows of a stream."""
    combines = order in (None, "rows")
    return Inlet(stream, name, side, at.schema(stream).ddl, delivery, tuple(key), key_schema, None, order, steps, shards, combines)


def numbered(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return expressions as the columns of a key: `key_1` and so on."""
    return [(f"key_{i}", text) for i, text in enumerate(texts, 1)]
