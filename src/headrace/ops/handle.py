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

    An operator's file has its verbs as methods of a subclass, of which `Stream` is made.
    """

    __slots__ = ("_alias", "_node")

    def __init_subclass__(cls) -> None:
        """Verbs are called as users call them where Python names them, as in a TypeError: `Stream.join`, not by the class of their file."""
        for name, method in vars(cls).items():
            if isinstance(method, FunctionType) and Handle in cls.__bases__:
                method.__module__, method.__qualname__ = f"{__package__}.stream", f"Stream.{name}"

    def __init__(self, node: Node, alias: str | None = None) -> None:
        self._node = node
        self._alias = alias

    def _then(self, node: Node, alias: str | None = None) -> Self:
        """The stream of a node that comes after this one's. It has a qualifier where its columns are still this stream's."""
        return type(self)(node, alias)


def other_stream(stream: Any, verb: str, cure: str) -> Handle:
    """A stream that a verb is given beside its own."""
    if not isinstance(stream, Handle):
        raise PlanError("BAD_INPUT", f"{verb} was given {stream!r}, which is no stream", hint=cure, site=here())
    return stream


def verb(name: str) -> Callable[[F], F]:
    """Marks the method that a verb of YAML and JSON files calls; its signature says what stands there.

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
    """The verb of files that calls a method."""
    name = getattr(method, "__verb__", None)
    return name if isinstance(name, str) else None
