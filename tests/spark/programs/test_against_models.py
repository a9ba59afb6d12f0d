"""Programs in the JVM against their plain Python models, for random rows, cuts, restarts and numbers of partitions.

With `HEADRACE_TEST_SCALE=full` (which `make test-all` sets) hypothesis tries many cases; otherwise it tries the first one, which is a
random case too, since a case is made from a seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.testing import Collected, Harness
from tests.models.cases import DELAY, SUBJECTS, Epochs, Subject, epochs
from tests.models.machine import run
from tests.scale import FULL, runs

KEYS, ROWS = 40, 1200


def outputs_of(h: Harness, subject: Subject) -> dict[str, Collected]:
    """The outputs of a program over its own sources."""
    streams: dict[str, Any] = {}
    for name, schema in subject.schemas.items():
        source = h.source(f"{subject.name}_{name}", schema, watermark=("ts", DELAY))
        streams[name] = source.key_by(schema.split()[0])
    main = streams.pop("event").process(subject.program, **streams)
    return {output: h.collect(main if output == "main" else main.output(output)) for output in subject.outputs}


def contents(outputs: Mapping[str, Collected]) -> dict[str, Counter[Any]]:
    return {name: Counter(output.rows()) for name, output in outputs.items() if output.rows()}


def committed(h: Harness, cut: Mapping[str, Epochs], number: int) -> None:
    """One epoch of all programs."""
    rows: dict[str, list[tuple[str, Any]]] = {}
    for subject, parts in cut.items():
        for name, part in parts[number].items():
            rows[f"{subject}_{name}"] = [("+", row) for row in part]
    h.commit(rows)


def check(subjects: Sequence[Subject], partitions: int, rng: random.Random, *, cuts: int, restarts: set[int], late: float = 0.0) -> None:
    """Runs the programs side by side in one job and compares each with its model."""
    cut = {subject.name: epochs(subject, rng, keys=KEYS, rows=ROWS, cuts=cuts, late=late) for subject in subjects}
    with Harness(partitions=partitions) as h:
        found = {subject.name: outputs_of(h, subject) for subject in subjects}
        for number in range(cuts + 1):
            committed(h, cut, number)
            if number in restarts:
                h.restart()
        h.finish()
        for subject in subjects:
            assert contents(found[subject.name]) == run(subject.model, cut[subject.name], dict.fromkeys(subject.makers, DELAY)), (
                subject.name
            )


@pytest.mark.parametrize("partitions", [1, 2, 7])
@runs(1, 10)
@given(seed=st.integers(0, 2**32))
def test_on_time(partitions: int, seed: int) -> None:
    """The result is the model's for all cuts, numbers of partitions, and restarts."""
    rng = random.Random(f"{partitions} {seed}")
    cuts = rng.randrange(3, 6) if FULL else 3
    check(SUBJECTS, partitions, rng, cuts=cuts, restarts=set(rng.sample(range(cuts + 1), 2)))


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@runs(1, 10)
@given(seed=st.integers(0, 2**32))
def test_with_late_rows(subject: Subject, seed: int) -> None:
    """Rows behind the watermark go to `late`, as in a model that is given the same cuts."""
    rng = random.Random(f"{subject.name} {seed}")
    check([subject], 2, rng, cuts=3, restarts={rng.randrange(4)}, late=0.2)


def test_all_rows_are_accounted_for() -> None:
    """Over a run, the rows of each input are those handled, late and dead; while it runs, some may be held."""
    rng = random.Random("accounts")
    (subject,) = (subject for subject in SUBJECTS if subject.name == "weather")
    cut = {subject.name: epochs(subject, rng, keys=KEYS, rows=ROWS, cuts=2, late=0.2)}
    with Harness(partitions=2) as h:
        found = outputs_of(h, subject)
        for number in range(3):
            committed(h, cut, number)
            for counted in accounts(h).values():
                assert counted["in"] == sum(counted[metric] for metric in ("handled", "late", "dead", "held"))
        h.finish()
        last = accounts(h)
        for name in subject.makers:
            late = len(found["late" if name == "event" else f"late_{name}"].rows())
            assert late > 0
            assert last[name] == {"filtered": 0, "in": ROWS, "handled": ROWS - late, "late": late, "dead": 0, "held": 0}


def accounts(h: Harness) -> dict[str, dict[str, int]]:
    """The counts of each input of the only program."""
    (counts,) = h.metrics()["inputs"].values()
    return dict(counts)
