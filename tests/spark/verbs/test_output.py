"""output: another output of a source, an operator or a program."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.verbs.answers import Streams
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def failing(s: Streams) -> hr.Stream:
    return s.sales.group_by("shop").agg(n="sum(10 / amount)").output("dead_letter")


def test_rows_that_fail_come_and_go(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        rows = h.source("t", "k string, n int", changes=True)
        groups = rows.group_by("k").agg(s="sum(10 / n)")
        out, dead = h.collect(groups), h.collect(groups.output("dead_letter").select("raw"))
        h.commit({"t": [("+", ("a", 0)), ("+", ("a", 5)), ("+", (None, None))]})
        assert (out.rows(), dead.rows()) == ([(None, None), ("a", 2.0)], [('{"k":"a","n":0}',)])
        h.commit({"t": [("-", ("a", 0))]})
        assert dead.rows() == []


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, failing, "- group_by: {keys: shop, agg: {n: sum(10 / amount)}}\n- output: dead_letter")


def test_an_unknown_output() -> None:
    check_error(
        """
        UNKNOWN_OUTPUT: sales has no output `late`
          at test_output.py:*: lambda: streams().sales.output("late"),
          hint: it has: dead_letter
          more: headrace error UNKNOWN_OUTPUT
        """,
        lambda: streams().sales.output("late"),
    )
