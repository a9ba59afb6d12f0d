"""Node: one operator of a plan, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from inspect import isabstract
from typing import Any, ClassVar, TypeVar, dataclass_transform

from headrace.errors import Site


class Role(Enum):
    """The role of a node in a plan: stateless nodes are in routes, stateful ones in levels, lookups between levels."""

    SOURCE = "source"
    STATELESS = "stateless"
    LOOKUP = "lookup"
    STATEFUL = "stateful"
    OUTPUT = "output"
    SINK = "sink"


@dataclass(frozen=True, eq=False)
class Node:
    """An operator with its arguments; inputs are other nodes. Equal only to itself: `Plan.of` merges nodes of equal definition.

    `name` is the user's, or None until a plan names the node; `site` is the line that made it and no part of its meaning.
    """

    op: ClassVar[str] = ""
    role: ClassVar[Role] = Role.STATELESS

    # Named after its definition and inputs, not after its place: unchanged parts of an edited query keep their names and so their state.
    by_content: ClassVar[bool] = False

    name: str | None = field(default=None, kw_only=True)
    site: Site | None = field(default=None, kw_only=True)

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes it reads, in the order of its fields."""
        nodes: list[Node] = []
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Node):
                nodes.append(value)
            elif isinstance(value, tuple):
                nodes.extend(part for part in value if isinstance(part, Node))
        return tuple(nodes)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of its rows; every kind of node defines them."""
        raise NotImplementedError

    @property
    def verb(self) -> str:
        """The verb in a name made by rule."""
        return self.op

    @property
    def called(self) -> str:
        """The display name of a node without a user's name, if there is a better one than its place; else empty."""
        return ""

    @property
    def called_after(self) -> tuple[Node, ...]:
        """The inputs that its display name shows."""
        return self.inputs

    @property
    def passing(self) -> bool:
        """Whether it has no state. No identity is named after it then, so inserting or removing it renames no state."""
        beside = self.role is Role.OUTPUT and self.inputs[0].role is Role.LOOKUP
        return beside or self.role in (Role.STATELESS, Role.LOOKUP)

    @property
    def fits(self) -> bool:
        """Whether its fields fit each other, if they come from JSON and not from a verb."""
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of its outputs, if it has several."""
        return ()

    def describe(self) -> str:
        """Return its line in explain."""
        return self.verb

    def __repr__(self) -> str:
        return f"<{self.op} {self.name or 'unnamed'}>"


REGISTRY: dict[str, type[Node]] = {}
N = TypeVar("N", bound=Node)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(op: str) -> Callable[[type[N]], type[N]]:
    """Make a class of annotated fields a node and register it for the codec under its name in JSON. A class with a missing fact is refused.

    >>> @node("example")
    ... class Example(Node):
    ...     input: Node
    ...     count: int
    >>> REGISTRY.pop("example").op
    'example'
    """

    def register(cls: type[N]) -> type[N]:
        if op in REGISTRY:
            raise TypeError(f"two nodes are called {op}: {REGISTRY[op].__module__} and {cls.__module__}")
        if isabstract(cls):
            unsaid = ", ".join(sorted(getattr(cls, "__abstractmethods__", ())))
            raise TypeError(f"{cls.__module__}.{cls.__name__} does not define: {unsaid}")
        node_class: Any = dataclass(frozen=True, eq=False, repr=False)(cls)
        node_class.op = op
        REGISTRY[op] = node_class
        return node_class  # type: ignore[no-any-return]  # `Any` allows new attributes; it is still the same class

    return register
