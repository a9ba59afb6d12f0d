"""Random rows, cuts and watermarks: the kernel against a plain Python model, and against itself cut otherwise."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spark.kernel.model import Event, Model, Row, operator
from tests.spark.kernel.trial import FLUSH, Json, Tried, epoch, row, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = st.builds(
    Event,
    key=st.sampled_from("ab"),
    side=st.sampled_from(["event", "event", "other"]),
    time=st.integers(1, 24).map(lambda n: n * 500),
    v=st.none() | st.integers(0, 9),
)
CUTS = st.lists(st.tuples(st.lists(EVENTS, max_size=8), st.integers(0, 2500)), min_size=1, max_size=6)
random = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def as_row(e: Event) -> Json:
    return row(e.time * 1000, e.key, e.side, v=e.v)


def run(spark: SparkSession, order: str, cuts: list[tuple[list[Event], int]], flush: int) -> Tried:
    """Each cut is its rows and the watermark (millis) they meet."""
    epochs = [epoch(*map(as_row, rows), watermark=watermark * 1000) for rows, watermark in cuts]
    return trial(spark, operator(order), *epochs, epoch(flush=flush * 1000))


def sums(counts: list[dict[str, int]]) -> dict[str, int]:
    total = Counter[str]()
    for c in counts:
        total.update(c)
    return {k: v for k, v in total.items() if v}


def rising(cuts: list[tuple[list[Event], int]]) -> list[tuple[list[Event], int]]:
    """Steps of the watermark to watermarks, which never go back."""
    watermark, out = 0, []
    for rows, step in cuts:
        watermark += step
        out.append((rows, watermark))
    return out


def per_key(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows of one key come in order; keys come in any."""
    return {key: [r for r in rows if r[0] == key] for key in "ab"}


def by_model(order: str, cuts: list[tuple[list[Event], int]], flush: int) -> tuple[list[dict[str, list[Row]]], dict[str, int]]:
    models = {key: Model(key, order) for key in "ab"}
    epochs = []
    for rows, watermark, end in [*((r, w, None) for r, w in cuts), ([], (FLUSH // 1000) + flush, flush)]:
        seen: list[Row] = []
        for key, model in models.items():
            seen += model.epoch([r for r in rows if r.key == key], watermark, end)
        epochs.append(per_key(seen))
    return epochs, sums([m.counts for m in models.values()])


@random
@given(cuts=CUTS)
def test_in_time_order_with_late_rows(spark: SparkSession, cuts: list[tuple[list[Event], int]]) -> None:
    cuts = rising(cuts)
    flush = max((r.time for rows, _ in cuts for r in rows), default=0)
    tried = run(spark, "time", cuts, flush)
    expected, counts = by_model("time", cuts, flush)
    assert [per_key(e) for e in tried.values()] == expected
    assert sums(tried.counts) == counts


@random
@given(cuts=CUTS)
def test_as_they_arrive(spark: SparkSession, cuts: list[tuple[list[Event], int]]) -> None:
    cuts = rising(cuts)
    flush = max((r.time for rows, _ in cuts for r in rows), default=0)
    tried = run(spark, "arrival", cuts, flush)
    expected, counts = by_model("arrival", cuts, flush)
    assert [per_key(e) for e in tried.values()] == expected
    assert sums(tried.counts) == counts


@random
@given(rows=st.lists(EVENTS, max_size=16), data=st.data())
def test_the_result_does_not_depend_on_the_cuts(spark: SparkSession, rows: list[Event], data: st.DataObject) -> None:
    """Rows that keep the watermark's promise: each cut's watermark is before all rows still to come."""
    flush = max((r.time for r in rows), default=0)
    places = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    parts = [rows[a:b] for a, b in zip([0, *places], [*places, len(rows)], strict=True)]
    cuts, watermark, rest = [], 0, list(rows)
    for part in parts:
        limit = min((r.time for r in rest), default=watermark + 1) - 1
        if limit > watermark:
            watermark = data.draw(st.integers(watermark, limit))
        cuts.append((part, watermark))
        rest = rest[len(part) :]
    cut = run(spark, "time", cuts, flush)
    whole = run(spark, "time", [(rows, 0)], flush)
    assert per_key([*chain(*cut.values())]) == per_key([*chain(*whole.values())])
    assert sums(cut.counts) == sums(whole.counts)
    assert cut.kept() == whole.kept()
