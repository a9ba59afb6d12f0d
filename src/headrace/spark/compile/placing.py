"""How rows reach the task that writes them, for sinks that commit task by task: a replay must bring each row to the same task.

After a level, rows are placed by the keys of its operators, and rows that only pass it by their own bytes: the same on every replay.
Without a level, rows are placed as the sources were split. That may change, unless the sources guarantee that it does not.
"""

from __future__ import annotations

from headrace import ports
from headrace.ops import Sink
from headrace.spark.compile.levels import Query


def is_placed(sink: Sink) -> bool:
    """Return whether the sink commits task by task."""
    return sink.connect().traits.placed


def in_parts(sink: Sink) -> bool:
    """Return whether the sink may hold part of an epoch, which it recognises by how its rows were placed."""
    return may_hold_part(sink.connect())


def may_hold_part(sink: ports.Sink) -> bool:
    return sink.traits.placed or sink.traits.batched


def deals_out(query: Query) -> bool:
    """Return whether rows must be dealt out to tasks before the sinks."""
    return not query.levels and any(map(is_placed, query.sinks)) and not _sources_place(query)


def _sources_place(query: Query) -> bool:
    return all(source.connect().traits.placed for source in query.sources)


def place_key(sink: Sink) -> tuple[str, ...]:
    """Return the columns by which a sink's rows are dealt out; none: by the bytes of each row."""
    return sink.connect().key if is_placed(sink) else ()


def how(sink: Sink, query: Query) -> str | None:
    """Describe the placement for a sink that commits task by task; None for others."""
    if not is_placed(sink):
        return None
    if query.levels:
        return "its rows are in the tasks of the last level"
    if deals_out(query):
        return f"its rows are distributed to the checkpoint's partitions by {', '.join(place_key(sink)) or 'their bytes'}"
    return "its rows stay in the tasks that read them"
