"""The parts of the documents that the kernel reads: a dataclass for each declares its fields once, for Python and for Scala.

Fields keep their order in the JSON. A field whose default is None is left out if it is None; every other field is always there.
`tools/parts.py` writes the case classes of the kernel (`kernel/document/`) from these classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from typing import Annotated, Any, ClassVar

from headrace.errors import Site

Json = dict[str, Any]
"""A part, or a connector's description of its scan, as JSON."""

Int = Annotated[int, "Int"]
"""A number of 32 bits; others have 64."""

Columns = Annotated[str, "StructType"]
"""Columns as DDL, which the kernel parses under the settings of the plan. The empty text means no columns."""

ALWAYS: Mapping[str, Any] = {"always": True}
"""Metadata of a field that is written even if it is None, its default."""


def inline(by: str | None = None) -> Mapping[str, Any]:
    """Return the metadata of a field whose own fields are written among those of its part. `by` is the part's field that names its kind."""
    return {"inline": True, "by": by}


class Part:
    """A part of a document: a frozen dataclass."""

    @classmethod
    def ordered(cls) -> tuple[Field[Any], ...]:
        """Return the fields, in the order of the JSON."""
        return fields(cls) if is_dataclass(cls) else ()

    def to_json(self) -> Json:
        """Return the part as JSON, with the parts in it."""
        document: Json = {}
        for one in self.ordered():
            value = getattr(self, one.name)
            if one.metadata.get("inline"):
                more = {} if value is None else value.to_json()
            else:
                is_there = value is not None or one.default is not None or one.metadata.get("always")
                more = {key_of(one): _json(value)} if is_there else {}
            assert document.keys().isdisjoint(more), f"{type(self).__name__} has two fields {document.keys() & more.keys()}"
            document |= more
        return document


class OneOf(Part):
    """A part of several kinds, which are its subclasses. Fields that all kinds share come last.

    The field `kind_field` of the JSON names the kind: it equals the kind's `kind_name`; a kind without a name matches all other names.
    Without such a field, the first field of each kind identifies it.
    """

    kind_field: ClassVar[str | None] = None
    kind_name: ClassVar[str | None] = None

    @classmethod
    def ordered(cls) -> tuple[Field[Any], ...]:
        shared = {one.name for base in cls.__mro__[1:] if OneOf in base.__bases__ and is_dataclass(base) for one in fields(base)}
        return tuple(sorted(super().ordered(), key=lambda one: one.name in shared))


@dataclass(frozen=True, kw_only=True)
class Place(Part):
    """The place where a failure in a step is reported: a node, and the user's line.

    `way` distinguishes routes with the same steps, such as those of a union of a stream with itself. With `quiet`, another route of the
    same output has the same step, and reports its failures.
    """

    node: str
    site: str | None
    way: Int | None = None
    quiet: bool | None = None


def key_of(one: Field[Any]) -> str:
    """Return the name of a field in the JSON. A Python keyword has a trailing underscore as the name of a field."""
    return one.name.rstrip("_")


def _json(value: Any) -> Any:
    if isinstance(value, Part):
        return value.to_json()
    if isinstance(value, Site):
        return str(value)
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    return value
