"""Where the rows of a plan come from and go to."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.ops.sink import Sink
from headrace.ops.source import Source
from headrace.plan import Node


def sources_of(nodes: Iterable[Node]) -> tuple[Source, ...]:
    """The sources among some nodes."""
    return tuple(node for node in nodes if isinstance(node, Source))


def sinks_of(nodes: Iterable[Node]) -> tuple[Sink, ...]:
    """The sinks among some nodes."""
    return tuple(node for node in nodes if isinstance(node, Sink))
