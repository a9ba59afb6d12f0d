"""What the verbs of streams have in common: the node behind a stream, and the name of a verb in files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from headrace.errors import PlanError, here
from headrace.plan import Node
from headrace.words import Verbs

F = TypeVar("F", bound=Callable[..., Any])


class Handle(Verbs):
    """A stream as its verbs see it: its node, and the qualifier of its columns.

    An operator's file has its verbs as methods of a subclass, of which `Stream` is made.
    """

    __slots__ = ("_alias", "_node")

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
