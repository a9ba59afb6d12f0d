"""The net changes of each epoch."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from headrace.errors import here
from headrace.ops.source import DEAD_LETTER
from headrace.plan import Node, Role, node


@node("consolidate", Role.STATEFUL)
class Consolidate(Node):
    """What an epoch changes in all: a row that is added and taken away in it does not appear. It keeps nothing.

    epoch 1: +(a, 1) +(b, 2) -(a, 1)   ->   +(b, 2)
    """

    by_content: ClassVar[bool] = True

    input: Node

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        return "consolidate: the net of each epoch"


def consolidate(input: Node) -> Consolidate:
    return Consolidate(input, site=here())
