"""Spark's log s of a query: the offsets of each epoch, by source, and the watermark after it.

offsets/7    v2, then a line of JSON about the epoch (watermark, time, settings), then `name:offset` for each source
commits/7    v2, then a line of JSON with the watermark after the epoch
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.durable.atomic import replace
from headrace.durable.sums import unreadable

_CONTROL = "_control"
AGAIN = "#again"
"""The entry of a control source that makes the query take all entries as new."""


def offset_name(source: str) -> str:
    """Return the name of a source in Spark's logs and folders. Characters other than letters, digits and _ are replaced by their codes.

    >>> offset_name("one row"), offset_name("rates#repaired"), offset_name("Größe𝛼")
    ('one_20_row', 'rates_23_repaired', 'Gr_f6__df_e_d835__defc_')
    """
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "".join(f"_{unit:x}_" for unit in _units(c)) for c in source)


def _units(character: str) -> tuple[int, ...]:
    """Return the UTF-16 code units of a character; the kernel replaces each of them."""
    data = character.encode("utf-16-be")
    return tuple(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))


def control_names(sources: Collection[str], timed: Collection[str], clock: str) -> dict[str, str]:
    """Return the names of the control sources of a query with a clock: one of each source with a watermark, or one of the whole query.

    >>> control_names(["a", "b c"], ["b c"], "event"), control_names(["a"], [], "none")
    ({'b c': '_control_b_20_c'}, {'': '_control'})
    """
    whole = {"": _CONTROL} if not timed or clock == "processing" else {}
    return whole | {source: offset_name(f"{_CONTROL}_{source}") for source in sources if source in timed}


def again(times: Mapping[str, int]) -> dict[str, int]:
    """Return times of sources, in microseconds, that a query may have logged before, marked so that they are new to it."""
    return {**times, AGAIN: time.time_ns() // 1000}


@dataclass(frozen=True)
class Offsets:
    """The offsets of an epoch: what Spark stores about the epoch, and the offset of each source as text, by its name there."""

    epoch: Mapping[str, Any]
    sources: Mapping[str, str]

    @classmethod
    def read(cls, query: Path, epoch: int) -> Offsets:
        """Read the offsets of an epoch of a query. Raises CHECKPOINT_UNREADABLE."""
        file = query / "offsets" / str(epoch)
        try:
            version, about, *lines = file.read_text(encoding="utf-8").splitlines()
            if version != "v2":
                raise ValueError(version)
            return cls(json.loads(about), {name: offset for name, _, offset in (line.partition(":") for line in lines)})
        except (OSError, ValueError) as problem:
            raise unreadable(file, f"it is not an offset log of Spark ({type(problem).__name__})") from None

    @property
    def watermark(self) -> int:
        """Return the watermark up to which the epoch handles time, in milliseconds."""
        return int(self.epoch["batchWatermarkMs"])

    @property
    def text(self) -> str:
        about = json.dumps(self.epoch, separators=(",", ":"))
        return "\n".join(("v2", about, *(f"{name}:{offset}" for name, offset in self.sources.items())))

    def limited(self, names: Collection[str]) -> Offsets:
        """Return the offsets of some sources only."""
        return Offsets(self.epoch, {name: offset for name, offset in self.sources.items() if name in names})

    def with_watermark(self, watermark: int) -> Offsets:
        """Return the same offsets under another watermark, in milliseconds."""
        return Offsets({**self.epoch, "batchWatermarkMs": watermark}, self.sources)

    def with_partitions(self, partitions: int) -> Offsets:
        """Return the same offsets for another number of partitions."""
        return Offsets({**self.epoch, "conf": {**self.epoch["conf"], "spark.sql.shuffle.partitions": str(partitions)}}, self.sources)


def next_watermark(query: Path, epoch: int) -> int:
    """Return the watermark after a committed epoch of a query, in milliseconds. Raises CHECKPOINT_UNREADABLE."""
    file = query / "commits" / str(epoch)
    try:
        return int(json.loads(file.read_text(encoding="utf-8").splitlines()[1])["nextBatchWatermarkMs"])
    except (OSError, ValueError, LookupError, TypeError) as problem:
        raise unreadable(file, f"it is not a commit of Spark ({type(problem).__name__})") from None


def write_logs(folder: Path, epoch: int, offsets: Offsets, *, after: int) -> None:
    """Write the logs of a query, as if an epoch was running; `after`: the watermark after the one before it, in milliseconds."""
    for log in ("offsets", "commits"):
        (folder / log).mkdir()
    replace(folder / "offsets" / str(epoch), offsets.text)
    if epoch > 0:
        # Spark reads the last two logs, although it uses nothing of the earlier one.
        replace(folder / "offsets" / str(epoch - 1), offsets.text)
        replace(folder / "commits" / str(epoch - 1), f'v2\n{{"nextBatchWatermarkMs":{after},"stateUniqueIds":{{}}}}')


def joined(parts: Sequence[Offsets]) -> Offsets:
    """Return the offsets of several queries as those of one.

    The settings of the epoch are those of the first query, its time is the latest.

    >>> one, other = Offsets({"batchTimestampMs": 7}, {"a": "1", "b": "2"}), Offsets({"batchTimestampMs": 9}, {"b": "2", "c": "4"})
    >>> joined([one, other])
    Offsets(epoch={'batchTimestampMs': 9}, sources={'a': '1', 'b': '2', 'c': '4'})
    """
    latest = max(part.epoch["batchTimestampMs"] for part in parts)
    sources = {name: offset for part in reversed(parts) for name, offset in part.sources.items()}
    return Offsets({**parts[0].epoch, "batchTimestampMs": latest}, dict(sorted(sources.items())))
