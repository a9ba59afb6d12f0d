"""The positions in its topics where a source begins and ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headrace.connectors.kafka.look import TopicOffsets, Topics
from headrace.errors import ConnectorError
from headrace.ports.options import wrong
from headrace.schema.values import zone

# As in a plan: "earliest", "latest", {"time": "2026-01-01T00:00:00"} or {"offsets": {"orders": {"0": 5}}}.
Place = str | dict[str, Any]

_EARLIEST = -2


def end_of(verb: str, argument: Any, topics: Topics) -> Place | None:
    """The end of a source: "latest", or offsets; None if it has no end."""
    if argument is None or argument == "latest":
        return argument  # type: ignore[no-any-return]  # None or "latest"
    place = place_of(verb, argument, topics) if isinstance(argument, Mapping) else None
    if not isinstance(place, dict) or "offsets" not in place:
        raise wrong(f"{verb}: end cannot be {argument!r}", 'it is "latest", or offsets: {"orders": {0: 100}}')
    return place


def ends(place: Place, topic_offsets: TopicOffsets) -> dict[str, dict[str, int]]:
    """The offsets after the last records to read: the given ones, up to the current ends."""
    end_offsets: dict[str, dict[str, int]] = place["offsets"] if isinstance(place, dict) else {}
    return {
        topic: {str(one): min(end, end_offsets.get(topic, {}).get(str(one), end)) for one, (_, end) in of.items()}
        for topic, of in topic_offsets.partitions.items()
    }


def place_of(verb: str, argument: Any, topics: Topics) -> Place:
    """A position as a user gives it: "earliest", "latest", a time as a datetime or a text, or offsets of the topics' partitions.

    >>> place_of("read.kafka", {0: 5}, Topics(("orders",)))
    {'offsets': {'orders': {'0': 5}}}
    """
    if argument in ("earliest", "latest"):
        return str(argument)
    if isinstance(argument, datetime):
        return {"time": argument.isoformat()}
    if isinstance(argument, str):
        try:
            return {"time": datetime.fromisoformat(argument).isoformat()}
        except ValueError:
            pass
    if isinstance(argument, Mapping) and argument:
        if set(argument) == {"time"} and isinstance(argument["time"], str):
            return dict(argument)
        stored = argument["offsets"] if set(argument) == {"offsets"} else argument
        by_topic = (
            {topics.names[0]: stored} if len(topics.names) == 1 and not any(isinstance(one, Mapping) for one in stored.values()) else stored
        )
        try:
            offsets = {str(topic): {str(int(one)): int(at) for one, at in of.items()} for topic, of in by_topic.items()}
        except (AttributeError, TypeError, ValueError):
            offsets = {}
        if offsets and all(at >= 0 for of in offsets.values() for at in of.values()):
            return {"offsets": offsets}
    raise wrong(
        f"{verb}: start cannot be {argument!r}",
        'it is "earliest", "latest", a time ("2026-01-01 00:00:00"), or offsets: {"orders": {0: 5}}',
    )


def starting(verb: str, place: Place, topic_offsets: TopicOffsets, time_zone: str) -> dict[str, str]:
    """The options for Spark's source. A time without a zone is in the job's zone; partitions without an offset begin with their earliest
    record.
    """
    if isinstance(place, str):
        return {"startingOffsets": place}
    if "time" in place:
        time = datetime.fromisoformat(place["time"])
        moment = time if time.tzinfo is not None else time.replace(tzinfo=zone(time_zone))
        return {"startingTimestamp": str(int(moment.timestamp() * 1000)), "startingOffsetsByTimestampStrategy": "latest"}
    offsets: dict[str, dict[str, int]] = place["offsets"]
    for topic, of in offsets.items():
        for one in of:
            if int(one) not in topic_offsets.partitions.get(topic, {}):
                has = (
                    f"{topic} has {len(topic_offsets.partitions[topic])} partitions"
                    if topic in topic_offsets.partitions
                    else "the source does not read this topic"
                )
                raise wrong(f"{verb}: start has an offset for partition {one} of {topic}, which does not exist", has)
    all_of = {
        topic: {str(one): _checked(verb, topic, one, offsets.get(topic, {}).get(str(one), _EARLIEST), span) for one, span in of.items()}
        for topic, of in topic_offsets.partitions.items()
    }
    return {"startingOffsets": json.dumps(all_of)}


def _checked(verb: str, topic: str, partition: int, offset: int, span: tuple[int, int]) -> int:
    first, end = span
    if offset != _EARLIEST and not first <= offset <= end:
        raise ConnectorError(
            "OFFSETS_GONE",
            f"{verb}: start is offset {offset} of partition {partition} of {topic}, which has {first} to {end}",
            hint='start at an offset in this range, or with "earliest"',
        )
    return offset
