"""The kernel's document about a checkpoint whose state is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.jvm.parts import Int, Part
from headrace.ops.parts import OperatorText


@dataclass(frozen=True, kw_only=True)
class KeptText(Part):
    """An operator with state: as in a query document, in the folder of its query, after an epoch. `called` begins its tables' names."""

    operator: OperatorText
    level: Int
    checkpoint: str
    epoch: int
    called: str


@dataclass(frozen=True, kw_only=True)
class Inspection(Part):
    """The state of a checkpoint, to be shown as tables."""

    settings: Mapping[str, str]
    partitions: Int
    operators: tuple[KeptText, ...]
