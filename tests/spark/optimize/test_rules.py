"""Each rule: what it makes of a plan, what it leaves alone, and that results are the same with it and without it."""

from __future__ import annotations

import random
import textwrap

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace import optimize as rules
from headrace.ops import Partition, Top
from headrace.optimize.filters import filters_before_state
from headrace.optimize.first import first_rows
from headrace.testing import Harness
from headrace.testing.collected import Collected
from tests.spark.optimize.rules import CASES, TABLES, Case, lines, plan_of
from tests.spark.queries.changing import Table


def sources() -> tuple[hr.Stream, hr.Stream]:
    sales, shops = (hr.read.memory([], schema, name=name) for name, schema in TABLES.items())
    return sales, shops


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES.values()} == set(rules.RULES)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_rule_makes_of_a_plan(spark: SparkSession, case: Case) -> None:
    plan = plan_of(case.rewritten(*sources())[:1])
    assert lines(plan) == textwrap.dedent(case.before).strip()
    assert lines(case.rule(plan)) == textwrap.dedent(case.after).strip()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rule_is_done_once(spark: SparkSession, case: Case) -> None:
    for stream in case.rewritten(*sources()):
        plan = plan_of([stream])
        better = case.rule(plan)
        assert better is not plan, lines(plan)
        assert case.rule(better) is better
        assert better.sinks == plan.sinks


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_rule_leaves_alone(spark: SparkSession, case: Case) -> None:
    for stream in case.left(*sources()):
        plan = plan_of([stream])
        assert case.rule(plan) is plan, lines(plan)


@pytest.mark.parametrize(
    ("bounded", "numbers", "is_numbered"),
    [("a", "a", False), ("b", "b", False), ("c", "bc", False), ("a", "abc", False), ("c", "ac", True)],
)
def test_first_rows_alone_need_no_numbers(spark: SparkSession, bounded: str, numbers: str, is_numbered: bool) -> None:
    sales, _ = sources()
    functions = {"a": "row_number", "b": "rank", "c": "dense_rank"}
    columns = ", ".join(f"{functions[name]}() OVER (PARTITION BY shop ORDER BY amount) AS {name}" for name in numbers)
    plan = first_rows(plan_of([hr.sql(f"SELECT * FROM (SELECT id, {columns} FROM sales) WHERE {bounded} = 1", sales=sales)]))
    assert any(isinstance(node, Partition) for node in plan.nodes.values()) is is_numbered


@pytest.mark.parametrize("function", ["row_number", "rank", "dense_rank"])
def test_first_rows_tie_as_the_function_that_is_asked_for(spark: SparkSession, function: str) -> None:
    sales, _ = sources()
    query = "SELECT *, row_number() OVER w AS a, rank() OVER w AS b, dense_rank() OVER w AS c FROM sales WINDOW w AS (ORDER BY amount)"
    column = {"row_number": "a", "rank": "b", "dense_rank": "c"}[function]
    plan = first_rows(plan_of([hr.sql(query, sales=sales).filter(f"{column} < 4")]))
    [top] = [node for node in plan.nodes.values() if isinstance(node, Top)]
    assert (top.count, top.ties) == (3, function)


def test_a_field_is_not_the_number_of_its_name(spark: SparkSession) -> None:
    rows = hr.read.memory([], "shop string, amount int, s struct<n: int>", name="rows")
    numbered = rows.with_columns(n=hr.f.row_number().over(per="shop", by="amount"))
    by_field, by_number = (plan_of([numbered.filter(text)]) for text in ("s.n <= 1", "( 1 >= `N` ) -- the first"))
    assert first_rows(by_field) is by_field
    assert first_rows(by_number) is not by_number


def test_what_several_read_is_left_alone(spark: SparkSession) -> None:
    """A filter in front of an operator that others read too would make it two."""
    sales, shops = sources()
    both = sales.join(shops, on="shop = name")
    plan = plan_of([both.filter("amount > 2"), both])
    assert filters_before_state(plan) is plan


def test_a_row_without_a_key_is_a_dead_letter_whatever_is_asked_for_behind(spark: SparkSession) -> None:
    sales, _ = sources()
    plan = plan_of([sales.upserts("shop").filter("shop = 'a'")])
    assert filters_before_state(plan) is plan


class Random(Table):
    """Rows of the tables of the cases: few values, so that much meets; nulls everywhere."""

    def __init__(self, name: str) -> None:
        def pick(rng: random.Random, *values: object) -> object:
            return rng.choice((*values, None))

        def sale(rng: random.Random) -> tuple[object, ...]:
            return rng.randrange(20), pick(rng, "a", "b", "c"), pick(rng, 0, 1, 2, 3, 5), pick(rng, "x", "y")

        def shop(rng: random.Random) -> tuple[object, ...]:
            return pick(rng, "a", "b", "c"), pick(rng, "SE", "NO"), pick(rng, 1, 3)

        super().__init__(TABLES[name], {"sales": sale, "shops": shop}[name])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_both_sides_give_the_same(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    def begun(h: Harness) -> list[Collected]:
        streams = [h.source(name, schema, changes=True) for name, schema in TABLES.items()]
        return [h.collect(stream) for stream in (*case.rewritten(*streams), *case.left(*streams))]

    rng = random.Random(11)
    tables = {name: Random(name) for name in TABLES}
    with Harness() as plain, Harness() as ruled:
        ours, theirs = begun(plain), begun(ruled)
        for epoch in range(4):
            changes = {name: table.change(rng, 8) for name, table in tables.items()}
            monkeypatch.setattr(rules, "RULES", ())
            plain.commit(changes)
            monkeypatch.setattr(rules, "RULES", (case.rule,))
            ruled.commit(changes)
            if epoch == 1:
                ruled.restart()
            assert [out.rows() for out in ours] == [out.rows() for out in theirs]
        assert ours[0].changes()
