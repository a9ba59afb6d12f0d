"""Inlets: how rows come to the inputs of an operator in a query document, and what an operator may ask about the plan to say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.plan import Node, Plan, Step
from headrace.schema import Struct

Json = dict[str, Any]


class Checked(Protocol):
    """A plan whose texts Spark has checked."""

    @property
    def plan(self) -> Plan: ...

    def schema(self, node: Node) -> Struct:
        """The columns of a node's rows."""

    def output_schema(self, node: Node, output: str) -> Struct:
        """The columns of an output of an operator."""

    def key_schema(self, node: Node) -> str:
        """The columns of an operator's key, as DDL."""

    def may_be_late(self, node: Node, name: str, stream: Node, apart: str) -> bool:
        """Whether rows of the input `name`, which takes a stream, may be late. Refuses a stream that mixes such rows with others; `apart`
        says how the others are given an input of their own.
        """


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
    """An input that takes the rows of a stream."""
    combines = order in (None, "rows")
    return Inlet(stream, name, side, at.schema(stream).ddl, delivery, tuple(key), key_schema, None, order, steps, shards, combines)


def numbered(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Texts as the columns of a key: `key_1` and so on."""
    return [(f"key_{i}", text) for i, text in enumerate(texts, 1)]
