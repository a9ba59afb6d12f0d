"""Programs in the JVM against their plain Python models, for random rows, cuts, restarts and numbers of partitions.

All subjects run side by side in one query: each is fed by a struct column of one of two sources, so the watermark is the same for all.
With `HEADRACE_TEST_SCALE=full` (which `make test-all` sets) hypothesis tries many cases; otherwise it tries the first one, which is a
random case too, since a case is made from a seed.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.schema import parse_schema
from headrace.testing import Collected, Harness
from tests.models.cases import DELAY, SUBJECTS, Epochs, Subject, epochs, side_by_side
from tests.models.machine import Row, Times, run, times
from tests.scale import FULL, runs

pytestmark = pytest.mark.usefixtures("spark")

KEYS, ROWS, SPAN = 12, 300, 160

SOURCES = {"events": [one.name for one in SUBJECTS], "others": [one.name for one in SUBJECTS if len(one.schemas) > 1]}
"""Which subjects have rows in which source: main inputs in the first, other inputs in the second."""


def input_of(subject: Subject, source: str) -> str:
    return "event" if source == "events" else next(name for name in subject.schemas if name != "event")


def columns_of(subject: Subject, name: str) -> tuple[str, ...]:
    """All but the event time, which is a column of the source."""
    return tuple(column for column in parse_schema(subject.schemas[name]).names if column != "ts")


def schema_of(source: str) -> str:
    """The time, and a struct for each subject that has rows here; all but one of them are null."""
    structs = []
    for one in SUBJECTS:
        if one.name in SOURCES[source]:
            name = input_of(one, source)
            fields = [f"{field.name}: {field.type.text}" for field in parse_schema(one.schemas[name]).fields if field.name != "ts"]
            structs.append(f"{one.name} struct<{', '.join(fields)}>")
    return ", ".join(["ts timestamp", *structs])


def packed(cut: Mapping[str, Epochs], source: str, number: int) -> list[tuple[str, Row]]:
    """The rows of a source in an epoch."""
    rows: list[tuple[str, Row]] = []
    for one in SUBJECTS:
        if one.name in SOURCES[source]:
            for row in cut[one.name][number][input_of(one, source)]:
                # event time is the last column of every schema
                rows.append(("+", (row[-1], *(row[:-1] if name == one.name else None for name in SOURCES[source]))))
    return rows


def outputs_of(h: Harness, subject: Subject, sources: Mapping[str, hr.Stream], order: str) -> dict[str, Collected]:
    """The outputs of a program over its parts of the sources."""
    streams: dict[str, Any] = {}
    for source, stream in sources.items():
        if subject.name in SOURCES[source]:
            name = input_of(subject, source)
            columns = columns_of(subject, name)
            mine = stream.filter(f"{subject.name} IS NOT NULL").select(
                **{column: f"{subject.name}.{column}" for column in columns}, ts="ts"
            )
            streams[name] = mine.key_by(columns[0]) if subject.keyed else mine
    return collected(h, subject, streams, order)


def collected(h: Harness, subject: Subject, streams: dict[str, Any], order: str = "time") -> dict[str, Collected]:
    main = streams.pop("event").process(subject.program, order=order, **streams).named(f"{subject.name}_{order}")
    outputs = [output for output in subject.outputs if order == "time" or not output.startswith("late")]
    return {output: h.collect(main if output == "main" else main.output(output)) for output in outputs}


def contents(outputs: Mapping[str, Collected]) -> dict[str, Counter[Any]]:
    """Rows with how often each is there; of dead letters, the reason without the place."""

    def hashable(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    counts: dict[str, Counter[Any]] = {}
    for name, output in outputs.items():
        for row in output.rows():
            content = (row[1].partition(" at ")[0],) if name == "dead_letter" else tuple(hashable(value) for value in row)
            counts.setdefault(name, Counter())[content] += 1
    return counts


def shared_times(cut: Mapping[str, Epochs], cuts: int) -> Times:
    """The watermarks of the one query."""
    epoch_times: list[dict[str, list[Any]]] = []
    for number in range(cuts + 1):
        epoch_times.append({source: [row[0] for _, row in packed(cut, source, number)] for source in SOURCES})
    return times(epoch_times, DELAY)


@pytest.mark.parametrize("late", [0.0, 0.2], ids=["on time", "late"])
@runs(1, 10)
@given(seed=st.integers(0, 2**32), partitions=st.sampled_from([1, 2, 7]))
def test_side_by_side(late: float, seed: int, partitions: int) -> None:
    """The result is the model's for all cuts, numbers of partitions, and restarts.

    Rows behind the watermark go to `late`, as in a model that is given the same cuts. Where the order of arrival makes no difference
    within an epoch, a program that takes rows in that order stands beside the other one; there no row is late.
    """
    rng = random.Random(f"{partitions} {late} {seed}")
    cuts = rng.randrange(3, 6) if FULL else 2
    cut = side_by_side(SUBJECTS, rng, keys=KEYS, rows=ROWS, span=SPAN, cuts=cuts, late=late)
    restarts = set(rng.sample(range(cuts + 1), 2)) if FULL else {rng.randrange(cuts + 1)}
    with Harness(partitions=partitions) as h:
        sources = {source: h.source(source, schema_of(source), watermark=("ts", DELAY)) for source in SOURCES}
        outputs = {(one.name, order): outputs_of(h, one, sources, order) for one in SUBJECTS for order in orders(one)}
        for number in range(cuts + 1):
            h.commit({source: packed(cut, source, number) for source in SOURCES})
            if number in restarts:
                h.restart()
        h.finish()
        for one in SUBJECTS:
            for order in orders(one):
                wanted = run(one.model, cut[one.name], shared_times(cut, cuts), order=order)
                assert contents(outputs[one.name, order]) == wanted, (one.name, order)


def orders(subject: Subject) -> list[str]:
    return ["time", "arrival"] if subject.arrival else ["time"]


def test_all_rows_are_accounted_for() -> None:
    """Over a run, the rows of each input are those handled, late and dead; while it runs, some may be held."""
    rng = random.Random("accounts")
    (subject,) = (subject for subject in SUBJECTS if subject.name == "weather")
    cut = epochs(subject, rng, keys=KEYS, rows=ROWS, cuts=2, late=0.2)
    with Harness(partitions=2) as h:
        streams = {name: h.source(name, schema, watermark=("ts", DELAY)) for name, schema in subject.schemas.items()}
        outputs = collected(h, subject, {name: stream.key_by(columns_of(subject, name)[0]) for name, stream in streams.items()})
        for rows in cut:
            h.commit({name: [("+", row) for row in part] for name, part in rows.items()})
            for counted in accounts(h).values():
                assert counted["in"] == sum(counted[metric] for metric in ("handled", "late", "dead", "held"))
        h.finish()
        assert contents(outputs) == run(subject.model, cut, subject.times(cut))
        last = accounts(h)
        for name in subject.makers:
            late = len(outputs["late" if name == "event" else f"late_{name}"].rows())
            assert late > 0
            assert last[name] == {"filtered": 0, "in": ROWS, "handled": ROWS - late, "late": late, "dead": 0, "held": 0}


def accounts(h: Harness) -> dict[str, dict[str, int]]:
    """The counts of each input of the only program."""
    (counts,) = h.metrics()["inputs"].values()
    return dict(counts)


class Clock(hr.Program):
    """Rings every minute after its first row."""

    ring = hr.Timer()

    def on_event(self, e: Any) -> None:
        with hr.when(e.first):
            self.ring.set(e.ts + hr.minutes(1))

    def on_ring(self, at: Any) -> None:
        hr.emit(k=self.key.k, at=at)
        self.ring.set(at + hr.minutes(1))


def test_a_timer_that_sets_itself_rings_up_to_the_last_event() -> None:
    """Also in its millisecond, of which only the watermark consists."""
    start = dt.datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=dt.UTC)
    minute = dt.timedelta(minutes=1)
    with Harness(partitions=2) as h:
        source = h.source("rows", "k string, first boolean, ts timestamp", watermark=("ts", DELAY))
        out = h.collect(source.key_by("k").process(Clock))
        h.commit({"rows": [("+", ("a", True, start)), ("+", ("b", False, start + 3 * minute))]})
        h.finish()
        assert sorted(out.rows()) == [("a", start + n * minute) for n in (1, 2, 3)]
