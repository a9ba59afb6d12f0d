"""The kernel's document about stored state that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.jvm.parts import Int, OneOf, Part
from headrace.ops.parts import OperatorText


class StateText(OneOf):
    """Where the state of an operator lies."""

    kind_field = "kind"


@dataclass(frozen=True, kw_only=True)
class StoreStateText(StateText):
    """In the folder of its query, after an epoch."""

    kind_name = "store"

    kind: str = "store"
    checkpoint: str
    epoch: int
    level: Int


@dataclass(frozen=True, kw_only=True)
class PortableStateText(StateText):
    """In the files of a portable savepoint, in a folder as Spark's readers take it."""

    kind_name = "portable"

    kind: str = "portable"
    files: str


@dataclass(frozen=True, kw_only=True)
class KeptText(Part):
    """An operator with state: as in a query document. `called` begins its tables' names."""

    operator: OperatorText
    state: StateText
    called: str


@dataclass(frozen=True, kw_only=True)
class Inspection(Part):
    """Stored state, to be shown as tables. `partitions`: the number of them in each store; 1 for a portable savepoint."""

    settings: Mapping[str, str]
    partitions: Int
    operators: tuple[KeptText, ...]
