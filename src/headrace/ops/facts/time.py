"""The event time of a stream: the column of the watermark, followed through the verbs."""

from __future__ import annotations

from headrace.ops.facts.contract import contracts
from headrace.plan import Node


def event_time(node: Node) -> str | None:
    """Return the column that is event time in a node's rows, or None.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> event_time(charges.rename({"ts": "at"})._node), event_time(charges.drop("ts")._node)
    ('at', None)
    """
    times: dict[Node, str | None] = {}
    for before in contracts([node]):
        times[before] = before.time_after(times)
    return times[node]
