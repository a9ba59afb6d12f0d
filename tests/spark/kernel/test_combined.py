"""Equal rows that become one before they are sent: their net, and when that is given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.jvm.session import jvm
from tests.scale import FULL
from tests.spark.kernel.conftest import Trials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIALS = 600 if FULL else 20


def test_random_rows(trials: Trials) -> None:
    trials("headrace.wire.CombinedTrial", "random", 1, TRIALS)


@pytest.mark.full
def test_where_rows_differ_it_is_given_up(trials: Trials) -> None:
    trials("headrace.wire.CombinedTrial", "pays")


def shuffled(spark: SparkSession, stream: hr.Stream) -> tuple[list[Any], int]:
    """What a stream holds at the end, and how many rows that wrote for a shuffle."""
    store, java = spark._jsc.sc().statusStore(), jvm(spark).java.util
    none = spark._sc._gateway.new_array(jvm(spark).double, 0)

    def stages() -> dict[int, int]:
        infos = store.stageList(java.ArrayList(), False, False, none, java.ArrayList())
        return {infos.apply(i).stageId(): infos.apply(i).shuffleWriteRecords() for i in range(infos.size())}

    before = stages()
    rows = sorted(hr.collect(stream).rows())
    spark._jsc.sc().listenerBus().waitUntilEmpty()
    return rows, sum(records for stage, records in stages().items() if stage not in before)


class Each(hr.Program):
    """Each row as it is."""

    def on_event(self, e: Any) -> None:
        hr.emit(e)


def test_rows_are_combined_on_their_way_to_queries_and_not_to_programs(spark: SparkSession) -> None:
    pairs = [(i % 7, i % 2) for i in range(5_000)]
    rows = hr.read.memory(pairs, "k int, v int", name="rows")
    counted = rows.group_by("k", "v").agg(n="count(*)", s="sum(v)")
    wanted = sorted((k, v, pairs.count((k, v)), v * pairs.count((k, v))) for k, v in set(pairs))
    held, written = shuffled(spark, counted)
    assert held == wanted and 14 <= written < 500
    held, written = shuffled(spark, rows.key_by("k").process(Each, order="arrival"))
    assert held == sorted(pairs) and written >= 5_000
