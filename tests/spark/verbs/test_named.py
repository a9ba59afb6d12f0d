"""named: the same under a name of one's own."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import check
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def test_a_name_is_no_change_of_rows(spark: SparkSession) -> None:
    check(spark, {"named": (lambda s: s.sales.filter("id > 1").named("large"), "SELECT * FROM sales WHERE id > 1")})


def test_errors_and_plans_have_the_name() -> None:
    large = streams().sales.filter("id > 1").named("large one")
    assert repr(large) == "<Stream large one: id, shop, amount>"
    assert list(hr.job("j", large.write.memory(name="out")).plan.nodes) == ["sales", "large one", "out"]


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, lambda s: s.sales.filter("id > 1").named("large").drop("id"), "- filter: id > 1\n- named: large\n- drop: id")


def test_a_name_that_is_none() -> None:
    check_error(
        """
        BAD_NAME: '' cannot be a name
          at test_named.py:*: lambda: streams().sales.named(""),
          hint: names begin with a letter or digit and have only letters, digits, spaces, `_`, `-` and `.`
          more: headrace error BAD_NAME
        """,
        lambda: streams().sales.named(""),
    )
