"""The kernel's document about an offline rewrite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.jvm.parts import Columns, Int, OneOf, Part, inline
from headrace.ops.parts import KeptCellText


@dataclass(frozen=True, kw_only=True)
class RowChangeText(Part):
    """The columns of a row before and after; `places` has the old place of each column, -1 for a new one."""

    before: Columns
    after: Columns
    places: tuple[Int, ...]


class ChangeText(OneOf):
    """A change in the state of an operator.

    Only programs can be rewritten: an operator of queries that keeps something else has another name.
    """

    kind_field = "kind"


@dataclass(frozen=True, kw_only=True)
class CellChangeText(Part):
    """A cell whose entries get other types."""

    before: KeptCellText
    after: KeptCellText


@dataclass(frozen=True, kw_only=True)
class HeldChangeText(Part):
    """An input whose rows may be held, and the change of their columns."""

    side: Int
    row: RowChangeText = field(metadata=inline())


@dataclass(frozen=True, kw_only=True)
class ProgramChangeText(ChangeText):
    """A change in the state of a program: in its key, if that changes, and in entries of cells. `inputs` are all or none of its inputs."""

    kind_name = "program"

    op: Int
    name: str
    kind: str
    key: RowChangeText | None
    cells: tuple[CellChangeText, ...]
    inputs: tuple[HeldChangeText, ...]


@dataclass(frozen=True, kw_only=True)
class TakenText(Part):
    """An operator whose state is taken, and the level where it lies."""

    op: Int
    level: Int


class OriginText(OneOf):
    """Where the state of operators lies that is taken."""

    kind_field = "kind"


@dataclass(frozen=True, kw_only=True)
class StoresText(OriginText):
    """In the stores of a query, as of the end of an epoch."""

    kind_name = "stores"

    kind: str = "stores"
    folder: str
    epoch: int
    partitions: Int
    operators: tuple[TakenText, ...]


@dataclass(frozen=True, kw_only=True)
class PortableText(OriginText):
    """In the files of a portable savepoint, in a folder as Spark's readers take it. `paged`: the operators that have pages of bags."""

    kind_name = "portable"

    kind: str = "portable"
    folder: str
    operators: tuple[Int, ...]
    paged: tuple[Int, ...]


@dataclass(frozen=True, kw_only=True)
class ContinuedText(Part):
    """The stores of a level that are continued in place: those of the same level of the query `origin` among `from`. `others`: whether they
    may have state of operators that are not at the level any more.
    """

    origin: Int
    others: bool


@dataclass(frozen=True, kw_only=True)
class StoreText(Part):
    """A level of the new query: the operators whose state its stores get, and the stores that it continues, if any."""

    operators: tuple[Int, ...]
    continued: ContinuedText | None


@dataclass(frozen=True, kw_only=True)
class DeploymentText(Part):
    """The stores of a query in the folder `to`, to be written as of an epoch, and its watermark in milliseconds."""

    from_: tuple[OriginText, ...]
    to: str
    epoch: int
    watermark: int
    partitions: Int
    clock: str
    settings: Mapping[str, str]
    levels: tuple[StoreText, ...]
    changes: tuple[ChangeText, ...]


@dataclass(frozen=True, kw_only=True)
class ExportText(Part):
    """The state of queries, to be written to the folder `to` as the files of a portable savepoint."""

    from_: tuple[OriginText, ...]
    to: str
    settings: Mapping[str, str]
