"""explode: a row for each item of an array or map."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def goods(s: Streams) -> hr.Stream:
    return s.baskets.explode("goods", as_="good", outer=True)


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "empty and null arrays have no row": (lambda s: s.baskets.explode("goods"), "SELECT id, explode(goods) FROM baskets"),
            "outer": (goods, "SELECT *, explode_outer(goods) FROM baskets"),
            "an expression": (
                lambda s: s.baskets.explode(hr.expr("sequence(1, id)"), as_="n").select("n"),
                "SELECT explode(sequence(1, id)) FROM baskets",
            ),
            "a map": (
                lambda s: s.sales.explode("map('a', amount, 'b', id)", as_=("k", "v")).select("k", "v"),
                "SELECT explode(map('a', amount, 'b', id)) FROM sales",
            ),
        },
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, goods, "- explode: {column: goods, as: good, outer: true}", start="baskets")


def test_three_names() -> None:
    check_error(
        """
        BAD_COLUMN: explode(as_=('a', 'b', 'c')) is not a name
          at test_explode.py:*: lambda: streams().baskets.explode("goods", as_=("a", "b", "c")),  # type: ignore[arg-type]
          hint: as_="item", or as_=("key", "value") for a map
          more: headrace error BAD_COLUMN
        """,
        lambda: streams().baskets.explode("goods", as_=("a", "b", "c")),  # type: ignore[arg-type]
    )


def test_a_name_that_is_there() -> None:
    check_error(
        """
        DUPLICATE_COLUMN: the result of explode would have two columns `id` and `ID`, and Spark compares column names without case
          at test_explode.py:*: lambda: streams().baskets.explode("goods", as_="ID"),
          hint: give one of them another name
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: streams().baskets.explode("goods", as_="ID"),
    )
