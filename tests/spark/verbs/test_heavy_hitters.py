"""heavy_hitters: the most frequent values of columns, by a bounded number of counters."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.ops.heavy_hitters import HeavyHitters
from headrace.plan import Plan
from headrace.testing import Harness
from tests.spark.verbs.answers import SALES
from tests.spark.verbs.spelling import check_yaml
from tests.unit.errors import check_error

Row = tuple[Any, ...]


class SpaceSaving:
    """The algorithm, after its paper: an epoch's values in ascending order, each with all its rows."""

    def __init__(self, counters: int) -> None:
        self.counters = counters
        self.counts: dict[Row, tuple[int, int]] = {}

    def add(self, rows: list[Row]) -> None:
        for value, n in sorted(Counter(rows).items(), key=lambda item: _place(item[0])):
            if value in self.counts or len(self.counts) < self.counters:
                had, over = self.counts.get(value, (0, 0))
            else:
                rarest = max(self.counts, key=self._rank)
                had = over = self.counts.pop(rarest)[0]
            self.counts[value] = (had + n, over)

    def first(self, k: int) -> list[Row]:
        return [(*value, *self.counts[value]) for value in sorted(self.counts, key=self._rank)[:k]]

    def _rank(self, value: Row) -> tuple[Any, ...]:
        return -self.counts[value][0], _place(value)


def _place(value: Row) -> list[tuple[bool, Any]]:
    return [(part is not None, part) for part in value]


def skewed(rng: random.Random, distinct: int) -> Row:
    value = int(distinct * rng.random() ** 3)
    return rng.choice([None, "a", "b"]) if value % 7 == 0 else f"k{value % 5}", None if value == 3 else value


def test_the_trace_of_the_docstring(spark: SparkSession) -> None:
    with Harness() as h:
        charges = h.source("charges", "card string, amount int")
        out = h.collect(charges.heavy_hitters(1, by="card", error=0.5))
        h.commit({"charges": [("+", ("a", 1)), ("+", ("a", 5)), ("+", ("b", 2))]})
        h.commit({"charges": [("+", ("c", 1)), ("+", ("c", 2))]})
        h.commit({"charges": []})
        assert out.changes() == [(1, "+", ("a", 2, 0)), (2, "-", ("a", 2, 0)), (2, "+", ("c", 3, 1))]


# Few counters in one page, and many in several.
@pytest.mark.parametrize(("distinct", "k", "error", "n"), [(40, 3, 0.1, 60), (40, 8, 1, 60), (3000, 50, 0.005, 1500)])
def test_against_the_algorithm_and_its_bounds(spark: SparkSession, distinct: int, k: int, error: float, n: int) -> None:
    rng = random.Random(k)
    true: Counter[Row] = Counter()
    counters = max(k, round(1 / error))
    model = SpaceSaving(counters)
    with Harness(partitions=2) as h:
        source = h.source("rows", "k string, v int, other int")
        out = h.collect(source.heavy_hitters(k, by=["k", "v"], error=error))
        all = h.collect(source.heavy_hitters(10_000, by=["k", "v"], error=error))
        for epoch in range(6):
            rows = [skewed(rng, distinct) for _ in range(rng.randrange(n))]
            h.commit({"rows": [("+", (*row, rng.randrange(9))) for row in rows]})
            true.update(rows)
            model.add(rows)
            hitters = out.rows()
            assert sorted(hitters, key=_place) == sorted(model.first(k), key=_place)
            for *value, count, overestimate in hitters:
                assert count - overestimate <= true[tuple(value)] <= count
                assert overestimate <= sum(true.values()) / counters
            # as many counters as values: the counts are exact
            assert Counter(all.rows()) == Counter((*value, count, 0) for value, count in true.items())
            if epoch in (1, 3):
                h.restart()
        assert len(true) > counters


def test_values_that_are_equal_are_one(spark: SparkSession) -> None:
    with Harness() as h:
        rows = h.source("rows", "x double, name string collate utf8_lcase")
        out = h.collect(rows.heavy_hitters(5, by=["x", "name"], error=0.1))
        h.commit({"rows": [("+", (0.0, "Ann")), ("+", (-0.0, "ann")), ("+", (float("nan"), "bo"))]})
        h.commit({"rows": [("+", (-0.0, "ANN")), ("+", (float("nan"), "bo"))]})
        assert sorted((name.lower(), count, over) for _, name, count, over in out.rows()) == [("ann", 3, 0), ("bo", 2, 0)]


def test_more_verbs_follow(spark: SparkSession) -> None:
    """Its rows come and go as those of any query."""
    with Harness() as h:
        rows = h.source("rows", "k string, v int")
        frequent = rows.heavy_hitters(2, by=hr.f.upper("k").alias("k"), error=0.1)
        out = h.collect(frequent.group_by().agg(n="sum(count)"))
        by_key = h.collect(frequent.upserts("k").changes())
        h.commit({"rows": [("+", ("a", 1)), ("+", ("A", 1)), ("+", ("b", 1)), ("+", ("c", 1))]})
        h.commit({"rows": [("+", ("c", 1))]})
        assert out.rows() == [(4,)]
        assert sorted(row for epoch, _, row in by_key.changes() if epoch == 2) == [("B", 1, 0, "delete"), ("C", 2, 0, "insert")]


def test_its_state_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.read.memory([("a",), ("a",), ("b",), (None,)], "k string", name="rows")
    frequent = rows.heavy_hitters(1, by="k", error=0.5).named("frequent")
    hr.job("j", frequent.write.memory()).run(checkpoint=tmp_path / "c", progress=False)
    assert hr.state(tmp_path / "c").query("SELECT k, count, overestimate FROM frequent ORDER BY k").rows() == [("a", 2, 0), ("b", 2, 1)]
    assert "bounded: 2 counters with their values, in one group, of one task" in str(frequent.explain(verbose=True))


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, lambda s: s.sales.heavy_hitters(3, by="shop", error=0.01), "- heavy_hitters: {k: 3, by: shop, error: 0.01}")


def added() -> hr.Stream:
    return hr.read.memory([], SALES, name="sales")


def test_rows_that_are_taken_away_are_refused() -> None:
    sums = added().group_by("shop").agg(n="sum(amount)")
    check_error(
        """
        CHANGES_NOT_YET: heavy_hitters takes only insertions, and aggregate(sales) has retractions
          at test_heavy_hitters.py:*: lambda: sums.heavy_hitters(3, by="n", error=0.01),
          hint: count all values: .group_by(...).agg(count="count(*)").top(...); or count each change as a row: .changes()
          more: headrace error CHANGES_NOT_YET
        """,
        lambda: sums.heavy_hitters(3, by="n", error=0.01),
    )


def test_a_plan_in_which_rows_are_taken_away_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    read = hr.read.files(str(tmp_path), format="json", schema="shop string, amount int", name="sales")
    sums = read.group_by("shop").agg(n="sum(amount)")
    plan = Plan.of("hitters", [hr.Stream(HeavyHitters(sums._node, 1, 2)).write.memory(name="out")._use()])
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan.to_json()), encoding="utf-8")
    with pytest.raises(HeadraceError, match="CHANGES_NOT_YET"):
        hr.load(file).explain()


@pytest.mark.parametrize("k", [0, True, 1.5, "3", 1_000_001])
def test_a_number_of_values_that_is_none(k: Any) -> None:
    check_error(
        f"""
        BAD_INPUT: heavy_hitters: k cannot be {k!r}
          at test_heavy_hitters.py:*: lambda: added().heavy_hitters(k, by="shop", error=0.01),
          hint: a whole number from 1 to 1000000: .heavy_hitters(10, by="card", error=0.001)
          more: headrace error BAD_INPUT
        """,
        lambda: added().heavy_hitters(k, by="shop", error=0.01),
    )


@pytest.mark.parametrize("error", [0, 1.5, 1e-9, float("nan"), True, "0.1"])
def test_an_error_that_is_none(error: Any) -> None:
    check_error(
        f"""
        BAD_INPUT: heavy_hitters: error cannot be {error!r}
          at test_heavy_hitters.py:*: lambda: added().heavy_hitters(3, by="shop", error=error),
          hint: a part of the rows, from 0.000001 to 1: .heavy_hitters(10, by="card", error=0.001)
          more: headrace error BAD_INPUT
        """,
        lambda: added().heavy_hitters(3, by="shop", error=error),
    )


def test_no_columns() -> None:
    check_error(
        """
        BAD_INPUT: heavy_hitters: by names no column
          at test_heavy_hitters.py:*: lambda: added().heavy_hitters(3, by=[], error=0.01),
          hint: name the columns whose values are counted: .heavy_hitters(10, by="card", error=0.001)
          more: headrace error BAD_INPUT
        """,
        lambda: added().heavy_hitters(3, by=[], error=0.01),
    )


def test_a_column_called_count() -> None:
    counts = hr.read.memory([], "count int", name="counts")
    check_error(
        """
        DUPLICATE_COLUMN: the result of heavy_hitters would have two columns `count`
          at test_heavy_hitters.py:*: lambda: counts.heavy_hitters(3, by="count", error=0.01),
          hint: give one of them another name
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: counts.heavy_hitters(3, by="count", error=0.01),
    )


def test_a_column_without_an_order(spark: SparkSession) -> None:
    rows = hr.read.memory([], "v variant", name="rows")
    check_error(
        """
        WRONG_TYPE: heavy_hitters(rows): a key cannot be of type VARIANT
          at test_heavy_hitters.py:*: lambda: rows.heavy_hitters(3, by="v", error=0.01).schema,
          hint: key by one of its values
          more: headrace error WRONG_TYPE
        """,
        lambda: rows.heavy_hitters(3, by="v", error=0.01).schema,
    )
