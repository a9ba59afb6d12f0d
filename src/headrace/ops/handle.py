"""The base of the verbs of streams: the node of a stream, and the name of a verb in files."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Self, TypeVar

from headrace.errors import PlanError, here
from headrace.ops.no_table import NoTable
from headrace.plan import Node

F = TypeVar("F", bound=Callable[..., Any])


class Handle(NoTable):
    """A stream as its verbs see it: its node, and the qualifier of its columns.

    The file of an operator defines its verbs as methods of a subclass, and `Stream` inherits from all of them.
    """

    __slots__ = ("_alias", "_node")

    def __init_subclass__(cls) -> None:
        """Name verbs for Python as users do, for a TypeError: `Stream.join`, without the class of their file."""
        for name, method in vars(cls).items():
            if isinstance(method, FunctionType) and Handle in cls.__bases__:
                method.__module__, method.__qualname__ = f"{__package__}.stream", f"Stream.{name}"

    def __init__(self, node: Node, alias: str | None = None) -> None:
        self._node = node
        self._alias = alias

    def _then(self, node: Node, alias: str | None = None) -> Self:
        """Return the stream of a downstream node. It gets a qualifier if its columns are still this stream's."""
        return type(self)(node, alias)


def other_stream(stream: Any, verb: str, cure: str) -> Handle:
    """Return the second stream of a verb, or raise if it is none."""
    if not isinstance(stream, Handle):
        raise PlanError("BAD_INPUT", f"{verb} expects a stream, got {stream!r}", hint=cure, site=here())
    return stream


def verb(name: str) -> Callable[[F], F]:
    """Mark the method that a verb of YAML and JSON files calls; its signature defines the verb's keys.

    >>> class ShoutVerb(Handle):
    ...     @verb("shout")
    ...     def shout(self, loud: bool = True) -> Self:
    ...         return self
    >>> verb_name(ShoutVerb.shout), verb_name(ShoutVerb._then)
    ('shout', None)
    """

    def mark(method: F) -> F:
        method.__verb__ = name  # type: ignore[attr-defined]  # functions have attributes
        return method

    return mark


def verb_name(method: Any) -> str | None:
    """Return the verb of files that calls a method, or None."""
    name = getattr(method, "__verb__", None)
    return name if isinstance(name, str) else None
