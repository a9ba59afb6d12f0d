"""The topics that a checkpoint has read, by id: a topic that was deleted and created again keeps its name but not its id."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headrace.connectors.kafka.look import TopicOffsets, read_before
from headrace.durable.atomic import replace
from headrace.errors import ConnectorError
from headrace.ports import SourceContext


def same(context: SourceContext, topic_offsets: TopicOffsets, *, skips: bool) -> None:
    """Raise if a topic was created again since it was read. Record the present ids.

    With `skips`, a new topic whose partitions all end before the positions read is allowed: reading reports the gap and starts at its
    beginning. In a longer topic the first records would be skipped silently.
    """
    note = context.checkpoint / "topics" / f"{context.name}.json"
    known: Mapping[str, str] = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    for topic, offsets in read_before(context).items():
        is_other = topic in topic_offsets.ids and known.get(topic, topic_offsets.ids[topic]) != topic_offsets.ids[topic]
        if is_other and not (skips and _shorter(topic_offsets.partitions[topic], offsets)):
            raise ConnectorError(
                "OFFSETS_GONE",
                f"{context.name}: the topic {topic} was deleted and created again since it was read",
                hint="start over with fresh=True, which reads the new topic from `start`",
            )
    note.parent.mkdir(parents=True, exist_ok=True)
    replace(note, json.dumps({**known, **topic_offsets.ids}))


def _shorter(there: Mapping[int, tuple[int, int]], read: Mapping[int, int]) -> bool:
    return all(end < read.get(partition, 0) or not read.get(partition) for partition, (_, end) in there.items())
