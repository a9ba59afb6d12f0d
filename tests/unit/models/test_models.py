"""The models themselves: what they give does not depend on cuts, and their rules are those of DESIGN 9."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.cases import DELAY, START, SUBJECTS, Subject, epochs
from tests.models.delays import DelayModel
from tests.models.fraud import FraudModel
from tests.models.machine import Model, Row, Times, run, times
from tests.models.weather import WeatherModel

MINUTE = dt.timedelta(minutes=1)
NONE = dt.timedelta()


def ran(model: type[Model], epochs: Sequence[Mapping[str, Sequence[Row]]], delay: dt.timedelta = NONE) -> dict[str, Counter[Row]]:
    """A model in a query of its own."""
    return run(model, epochs, watermarks(model, epochs, delay))


def watermarks(model: type[Model], epochs: Sequence[Mapping[str, Sequence[Row]]], delay: dt.timedelta) -> Times:
    return times([{name: [row[at] for row in epoch.get(name, ())] for name, (_, at) in model.inputs.items()} for epoch in epochs], delay)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), cuts=st.integers(0, 8))
def test_the_result_does_not_depend_on_cuts(subject: Subject, seed: int, cuts: int) -> None:
    rng = random.Random(seed)
    cut = epochs(subject, rng, keys=4, rows=60, cuts=cuts)
    whole = {name: [row for epoch in cut for row in epoch[name]] for name in subject.makers}
    outputs = run(subject.model, cut, subject.times(cut))
    assert outputs == run(subject.model, [whole], subject.times([whole]))
    assert not any(output.startswith("late") for output in outputs)
    if subject.arrival:
        assert outputs == run(subject.model, cut, subject.times(cut), order="arrival")


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_the_cases_reach_every_output(subject: Subject) -> None:
    counts: Counter[str] = Counter()
    for seed in range(20):
        cut = epochs(subject, random.Random(seed), keys=4, rows=60, cuts=5, late=0.2)
        for output, rows in run(subject.model, cut, subject.times(cut)).items():
            counts[output] += rows.total()
    assert set(counts) == set(subject.outputs)
    assert min(counts.values()) > 20, counts


def test_a_timer_fires_between_rows_of_one_epoch() -> None:
    rows = [("a", Decimal("0.50"), START), ("a", Decimal(600), START + 2 * MINUTE)]
    assert ran(FraudModel, [{"event": rows}]) == {}
    rows = [("a", Decimal("0.50"), START), ("a", Decimal(600), START + MINUTE)]  # at equal times the row comes first
    assert ran(FraudModel, [{"event": rows}]) == {"main": Counter([("a", Decimal(600), START + MINUTE)])}


def test_at_equal_times_the_main_input_comes_first() -> None:
    outputs = ran(WeatherModel, [{"event": [("a", 1, START)], "weather": [("a", 1.5, 3, START)]}])
    assert outputs == {"main": Counter([("a", 1, START, 1.5, 3, "waited")])}


def test_a_row_at_the_watermark_is_late() -> None:
    first, second = ("a", Decimal(2), START), ("a", Decimal(3), START)
    assert ran(FraudModel, [{"event": [first]}, {"event": [second]}]) == {"late": Counter([second])}


def test_a_source_without_rows_holds_the_watermark() -> None:
    flights = {"event": [("a", 1, START)]}
    earlier = {"event": [("a", 2, START - MINUTE)]}
    assert watermarks(WeatherModel, [flights, earlier], NONE).marks == [None, None, None]


def test_in_the_flush_a_timer_set_by_a_timer_ends_with_the_last_event() -> None:
    rows = [("a", 1, 0, 0, START), ("b", 1, 0, 0, START + 26 * MINUTE)]
    outputs = ran(DelayModel, [{"event": rows}], DELAY)
    assert outputs == {
        "vanished": Counter(
            [
                ("a", 1, START + 15 * MINUTE),
                ("a", 2, START + 20 * MINUTE),
                ("a", 3, START + 25 * MINUTE),  # the next one would be behind the last event
                ("b", 1, START + 41 * MINUTE),  # set by a row: always
            ]
        )
    }
