"""Aggregates of Spark as cells: what they give after each row, over epochs, and after rows that fail."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import headrace as hr
from tests.spark.kernel.trial import epoch, row, traced, trial
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Everything(hr.Program):
    """Functions of every make: told by expressions, by a row of numbers, by an object; with filters and several in one."""

    total = hr.Aggregate("sum(x)", "x int")
    mean = hr.Aggregate("round(sum(x) / count(*), 3)", "x int")
    large = hr.Aggregate("count(*) FILTER (WHERE x > 10)", "x int")
    some = hr.Aggregate("bool_or(x > 10)", "x int")
    latest = hr.Aggregate("max_by(w, n)", "w string, n int")
    all = hr.Aggregate("collect_list(x)", "x int")
    middle = hr.Aggregate("percentile(x, 0.5)", "x int")
    different = hr.Aggregate("approx_count_distinct(x)", "x int")
    doubled = hr.Aggregate("sum(aggregate(array(x, x), 0, (a, v) -> a + v))", "x int")

    def on_event(self, e):
        with hr.when(e.v == -1):
            for cell in (self.total, self.all, self.middle, self.different):
                cell.clear()
        with hr.otherwise():
            for cell in (self.total, self.mean, self.large, self.some, self.all, self.middle, self.different, self.doubled):
                cell.add(x=e.v)
            self.latest.add(w=hr.f.concat(hr.lit("w"), e.v), n=e.v % 7)
        with hr.when(e.v == 13):
            self.all.clear()
            self.total.clear()
            self.middle.add({"x": 1000})
            hr.reject("thirteen")
        hr.emit(
            total=self.total.get(),
            mean=self.mean.get(),
            large=self.large.get(),
            some=self.some.get(),
            latest=self.latest.get(),
            all=self.all.get(),
            middle=self.middle.get(),
            different=self.different.get(),
            doubled=self.doubled.get(),
            any=self.total.exists(),
        )


OUT = (
    "total bigint, mean double, large bigint, some boolean, latest string, all array<int>, middle double, different bigint,"
    " doubled bigint, any boolean"
)


def wanted(values: list[int]) -> list[Any]:
    since: list[int] = []
    taken: list[int] = []
    rows = []
    for v in values:
        if v == 13:
            continue
        if v == -1:
            since = []
        else:
            since.append(v)
            taken.append(v)
        best = max(n % 7 for n in taken)
        rows.append(
            (
                sum(since) if since else None,
                round(sum(taken) / len(taken), 3),
                len([n for n in taken if n > 10]),
                any(n > 10 for n in taken),
                f"w{[n for n in taken if n % 7 == best][-1]}",
                since.copy(),
                statistics.median(since) if since else None,
                len(set(since)),
                2 * sum(taken),
                bool(since),
            )
        )
    return rows


def test_every_make_of_aggregate(spark: SparkSession) -> None:
    values = [5, 12, 13, 3, 12, -1, 13, 20, 7, 13, 8, 1]
    p = traced(Everything, outputs={"main": OUT}, order="arrival")
    for cuts in (1, 5, 12):
        tried = trial(spark, p, *(epoch(*(row(1, v=v) for v in values[i : i + cuts])) for i in range(0, len(values), cuts)))
        assert [one for part in tried.values() for one in part] == wanted(values)
        assert [reason.partition(" at ")[0] for reason, _ in tried.dead()] == ["thirteen"] * 3


class Long(hr.Program):
    """More rows than are kept for undoing, with a failure now and then."""

    all = hr.Aggregate("collect_list(x)", "x int")

    def on_event(self, e):
        self.all.add(x=e.v)
        with hr.when(e.v % 700 == 699):
            hr.reject("no")
        with hr.when(e.v == 2999):
            hr.emit(n=hr.f.size(self.all.get()), total=hr.f.aggregate(self.all.get(), hr.expr("0L"), hr.expr("(a, x) -> a + x")))


def test_a_long_buffer_is_undone(spark: SparkSession) -> None:
    p = traced(Long, outputs={"main": "n int, total bigint"}, order="arrival")
    tried = trial(spark, p, epoch(*(row(1, v=v) for v in range(2500))), epoch(*(row(1, v=v) for v in range(2500, 3000))))
    kept = [v for v in range(3000) if v % 700 != 699]
    assert tried.values() == [[], [(len(kept), sum(kept))]]


def built(sql: str) -> str:
    """The schema of a program with one aggregate."""

    class P(hr.Program):
        cell = hr.Aggregate(sql, "x int")

        def on_event(self, e):
            self.cell.add(e)
            hr.emit(x=self.cell.get())

    rows = hr.read.memory([(1, 2)], "k int, x int", name="rows")
    return rows.key_by("k").process(P).schema.ddl


def test_its_type_is_known_when_the_plan_is_built(spark: SparkSession) -> None:
    assert built("sum(x) / 2") == "x double"
    assert built("collect_set(x)") == "x array<int>"


def test_a_column_outside_of_a_function(spark: SparkSession) -> None:
    check_error(
        """
        BAD_AGGREGATE: rows.P: a column is outside an aggregate function, in `x + 1`
          at test_aggregates.py:*: cell = hr.Aggregate(sql, "x int")
          hint: write an hr.Aggregate as aggregate functions of its declared columns: sum(x), max_by(name, x), sum(x) / count(*)
          more: headrace error BAD_AGGREGATE
        """,
        lambda: built("x + 1"),
    )


def test_no_function_at_all(spark: SparkSession) -> None:
    check_error(
        """
        BAD_AGGREGATE: rows.P: there is no aggregate function in 1 + 1, in `1 + 1`
          at test_aggregates.py:*: cell = hr.Aggregate(sql, "x int")
          hint: write an hr.Aggregate as aggregate functions of its declared columns: sum(x), max_by(name, x), sum(x) / count(*)
          more: headrace error BAD_AGGREGATE
        """,
        lambda: built("1 + 1"),
    )


def test_distinct(spark: SparkSession) -> None:
    check_error(
        """
        BAD_AGGREGATE: rows.P: DISTINCT in sum(DISTINCT x), in `sum(DISTINCT x)`
          at test_aggregates.py:*: cell = hr.Aggregate(sql, "x int")
          hint: keep the values seen in a map: seen = hr.Map(type, 'boolean'), and test seen.has(...)
          more: headrace error BAD_AGGREGATE
        """,
        lambda: built("sum(DISTINCT x)"),
    )


def test_other_values_each_time(spark: SparkSession) -> None:
    check_error(
        """
        BAD_AGGREGATE: rows.P: Non-deterministic expression "sum((x * rand()))" should not appear in the arguments of an aggregate function, in `sum(x * rand())`
          at test_aggregates.py:*: cell = hr.Aggregate(sql, "x int")
          hint: write an hr.Aggregate as aggregate functions of its declared columns: sum(x), max_by(name, x), sum(x) / count(*)
          more: headrace error BAD_AGGREGATE
        """,
        lambda: built("sum(x * rand())"),
    )
