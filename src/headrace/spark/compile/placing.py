"""How rows reach the task that writes them, for sinks that commit task by task: a replay has to bring each to the task that had it before.

Behind a level rows lie by the keys of its operators, and those that only pass it by their own bytes: that is the same on every replay.
Without a level rows lie as the sources were split, which may be otherwise next time, unless the sources say that it is not.
"""

from __future__ import annotations

from headrace.ops import Sink
from headrace.spark.compile.levels import Query


def is_placed(sink: Sink) -> bool:
    """Whether the sink commits task by task."""
    return sink.connect().traits.placed


def in_parts(sink: Sink) -> bool:
    """Whether the sink may have an epoch in part, which it knows again by how its rows lay."""
    return is_placed(sink) or sink.connect().traits.batched


def deals_out(query: Query) -> bool:
    """Whether rows have to be dealt out in front of the sinks."""
    return not query.levels and any(map(is_placed, query.sinks)) and not _sources_place(query)


def _sources_place(query: Query) -> bool:
    return all(source.connect().traits.placed for source in query.sources)


def place_key(sink: Sink) -> tuple[str, ...]:
    """The columns by which a sink's rows are dealt out; none: by the bytes of each row."""
    return sink.connect().key if is_placed(sink) else ()


def how(sink: Sink, query: Query) -> str | None:
    """In words, for a sink that commits task by task."""
    if not is_placed(sink):
        return None
    if query.levels:
        return "its rows are in the tasks of the last level"
    if deals_out(query):
        return f"its rows are brought to tasks by {', '.join(place_key(sink)) or 'their bytes'}, as many as the checkpoint has partitions"
    return "its rows stay in the tasks that read them"
