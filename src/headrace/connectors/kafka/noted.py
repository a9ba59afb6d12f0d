"""The note about its topic that a start of a sink leaves in the checkpoint for the next one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.durable.atomic import replace
from headrace.ports import SinkContext

_LIKE_ANOTHER = re.compile(r"(-\d+|-start|\.)$")
"""The end of a name that, without a full stop after it, could be that of a task of another sink, or of the group of its starts."""


@dataclass(frozen=True)
class Noted:
    """A topic that a sink has opened.

    * `partitions`: how many partitions it had before the first row, among which keys are distributed for good: Kafka distributes them among
      the present ones, so a key would move as soon as the topic gets more. None if an earlier version wrote the note.
    * `seen`: how many it had at the last start.
    """

    topic_id: str
    partitions: int | None = None
    seen: int | None = None

    def among(self, present: int) -> int:
        """Return among how many partitions keys are distributed, given the topic's present number.

        A smaller number is that of another topic of the same name, which brokers without topic ids do not show.

        >>> Noted("one", 4).among(6), Noted("one", 4).among(2), Noted("one").among(6)
        (4, 2, 6)
        """
        if self.partitions is None:
            return present
        return min(self.partitions, present)

    def notice(self, present: int) -> str | None:
        """Return a line for a topic that has got more partitions since the last start, or None.

        >>> Noted("one", 4, 6).notice(6)
        >>> Noted("one", 4, 4).notice(6)
        'has 6 partitions now: rows with a key stay in the first 4, where earlier rows of the key are, until a start with fresh=True'
        """
        if self.partitions is None or self.seen is None or present <= max(self.partitions, self.seen):
            return None
        first = f"the first {self.partitions}" if self.partitions > 1 else "the first one"
        why = f"rows with a key stay in {first}, where earlier rows of the key are, until a start with fresh=True"
        return f"has {present} partitions now: {why}"

    def keep(self, context: SinkContext, topic: str, id: str) -> None:
        """Write the note. `id`: the prefix of the sink's transactional ids."""
        file = note_of(context)
        file.parent.mkdir(parents=True, exist_ok=True)
        note = {"topic": topic, "topic_id": self.topic_id, "id": id, "partitions": self.partitions, "seen": self.seen}
        replace(file, json.dumps(note))


def id_of(context: SinkContext, before: str) -> str:
    """Return the id of a sink, that of its tasks without their numbers. `before`: what comes before its name.

    A sink keeps the id with which it began: earlier versions had no full stop after a name that is like that of a task.
    """
    plain = before + context.name
    if _LIKE_ANOTHER.search(context.name) is None:
        return plain
    note = _note(context)
    began_plain = bool(note) and note.get("id", plain) == plain
    return plain if began_plain else f"{plain}."


def note_of(context: SinkContext) -> Path:
    return context.checkpoint / "kafka" / f"{context.name}.json"


def noted(context: SinkContext, topic: str) -> Noted | None:
    """Return the note of the last start; None if there is none, or the last start wrote to another topic."""
    note = _note(context)
    if note.get("topic") != topic or "topic_id" not in note:
        return None
    return Noted(note["topic_id"], note.get("partitions"), note.get("seen"))


def _note(context: SinkContext) -> dict[str, Any]:
    file = note_of(context)
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return content
