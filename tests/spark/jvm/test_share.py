"""Work that leaves cores to others."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.jvm.share import checked, sharing
from tests.unit.errors import check_error


def test_the_tasks_of_queries_have_the_share_of_the_thread_that_starts_them(spark: SparkSession, tmp_path: Path) -> None:
    charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
    job = hr.job("copy", charges.write.memory(name="all"))
    with sharing(0.5):
        assert spark.sparkContext.getLocalProperty("headrace.share") == "0.5"
        job.run(checkpoint=tmp_path / "half", progress=False)
        with sharing(0.25):
            assert spark.sparkContext.getLocalProperty("headrace.share") == "0.25"
        assert spark.sparkContext.getLocalProperty("headrace.share") == "0.5"
    assert spark.sparkContext.getLocalProperty("headrace.share") is None
    # a share that no task can read shows that tasks do
    spark.sparkContext.setLocalProperty("headrace.share", "half")
    try:
        with pytest.raises(HeadraceError, match='For input string: "half"'):
            job.run(checkpoint=tmp_path / "none", progress=False)
    finally:
        spark.sparkContext.setLocalProperty("headrace.share", None)  # type: ignore[arg-type]  # null removes it


def test_a_share_that_is_none(tmp_path: Path) -> None:
    check_error(
        """
        BAD_SETTING: `share` is 0
          at test_share.py:*: lambda: hr.export_savepoint(tmp_path / "state", "first", tmp_path / "portable", share=0),
          hint: it is a number above 0, and at most 1: 0.25 for a quarter
          more: headrace error BAD_SETTING
        """,
        lambda: hr.export_savepoint(tmp_path / "state", "first", tmp_path / "portable", share=0),
    )
    assert [checked(share) for share in (None, 0.25, 1)] == [None, 0.25, 1]
    for wrong in (-1, 1.5, float("nan"), True, "0.5"):
        with pytest.raises(HeadraceError, match="BAD_SETTING"):
            checked(wrong)  # type: ignore[arg-type]
