"""The events as files of JSON lines, made once and kept in `.headrace/bench`. Making them is not measured.

A line is `{"event_type": 2, "bid": {…}}`, as in the published tables: one stream, and a view of each kind. An epoch is two files, one for
each core. Flink's file source takes files in no order and would treat events of later files as late, so it gets the same lines in two
files, one per core, in the order of the epochs.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.environments import CACHE
from bench.nexmark import chance, generator
from bench.nexmark.chance import Chance, Numbers
from bench.nexmark.generator import AUCTION, BID, OF, PERSON, Generator, kinds

if TYPE_CHECKING:
    import pyarrow as pa

CORES = 2
BLOCK = 100_000
SIDE_ROWS = 10_000
SHARE_LATE, MOST_LATE = 0.1, 60_000
"""With `late`: the share of late events, and their maximum delay in milliseconds."""


@dataclass(frozen=True)
class Events:
    folder: Path
    events: int
    epochs: int

    @property
    def stream(self) -> Path:
        """The files of the epochs, in the order of their names."""
        return self.folder / "events"

    @property
    def side(self) -> Path:
        """The table that bids are joined with: `{"key": 0, "value": "0"}` and so on."""
        return self.folder / "side"

    def for_flink(self) -> Path:
        """Return the folder with the same lines, in one file for each core."""
        folder = self.folder / "flink"
        if not folder.exists():
            fresh = folder.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            for core in range(CORES):
                with (fresh / f"{core}.json").open("wb") as whole:
                    for part in sorted(self.stream.glob(f"*-{core}.json")):
                        with part.open("rb") as lines:
                            shutil.copyfileobj(lines, whole, 1 << 20)
            fresh.rename(folder)
        return folder


def make(events: int, epochs: int, *, seed: int = 1, late: bool = False, cache: Path = CACHE) -> Events:
    code = hashlib.sha256(b"".join(Path(f"{module.__file__}").read_bytes() for module in (chance, generator))).hexdigest()[:8]
    folder = cache / f"nexmark-{events}-{epochs}-{seed}{'-late' if late else ''}-{code}"
    if not folder.exists():
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        dataset = Events(fresh, events, epochs)
        dataset.stream.mkdir(parents=True)
        _write(dataset, Generator(seed), arrivals(events, seed, late))
        dataset.side.mkdir()
        (dataset.side / "side.json").write_text("".join(json.dumps({"key": i, "value": str(i)}) + "\n" for i in range(SIDE_ROWS)))
        fresh.rename(folder)
    return Events(folder, events, epochs)


def arrivals(events: int, seed: int, late: bool) -> Numbers:
    """Return the numbers of the events in their order of arrival; the time of an event is that of its number."""
    numbers = np.arange(events)
    if not late:
        return numbers
    random = Chance(seed)
    delay = np.where(random.unit("late", numbers) < SHARE_LATE, random.below("delay", numbers, MOST_LATE), 0)
    return np.argsort(Generator(seed).time(numbers) + delay, kind="stable")


def _write(events: Events, generator: Generator, order: Numbers) -> None:
    bounds = np.arange(events.epochs + 1) * events.events // events.epochs
    for epoch in range(events.epochs):
        of_epoch = order[bounds[epoch] : bounds[epoch + 1]]
        # groups of fifty events stay together, so that both files have the same share of each kind
        core = of_epoch // OF % CORES
        for number in range(CORES):
            with (events.stream / f"{epoch:04}-{number}.json").open("wb") as file:
                for text in lines(generator, of_epoch[core == number]):
                    file.write(text)


def lines(generator: Generator, numbers: Numbers) -> Iterator[bytes]:
    """Yield the lines of the events with these numbers, in that order."""
    import pyarrow as pa

    for first in range(0, len(numbers), BLOCK):
        block = numbers[first : first + BLOCK]
        kind = kinds(block)
        texts, places = [], []
        for code, name in ((PERSON, "person"), (AUCTION, "auction"), (BID, "bid")):
            place = np.flatnonzero(kind == code)
            if len(place):
                texts.append(_json(code, name, getattr(generator, name)(block[place])))
                places.append(place)
        sorted_lines = pa.concat_arrays(texts).take(np.argsort(np.concatenate(places)))
        _, offsets, text = sorted_lines.buffers()
        (end,) = np.frombuffer(offsets, np.int32)[len(block) : len(block) + 1]
        yield text.to_pybytes()[:end]


def _json(code: int, name: str, columns: dict[str, pa.Array | Numbers]) -> pa.Array:
    """Return a line for each row. No text has a character that JSON would escape."""
    import pyarrow as pa
    from pyarrow import compute, types

    parts: list[pa.Array | str] = []
    before = f'{{"event_type":{code},"{name}":{{'
    for column, values in columns.items():
        array = pa.array(values)
        quote = "" if types.is_integer(array.type) else '"'
        parts += [f'{before}"{column}":{quote}', array.cast(pa.string())]
        before = f"{quote},"
    return compute.binary_join_element_wise(*parts, f"{before[:-1]}}}}}\n", "")
