"""columns: the names of a stream's columns."""

from __future__ import annotations

from tests.spark.verbs.spelling import streams


def test_they_follow_the_verbs() -> None:
    sales = streams().sales
    assert sales.columns == ("id", "shop", "amount")
    assert sales.drop("shop").with_columns(twice="amount * 2").rename({"id": "of"}).columns == ("of", "amount", "twice")
    assert sales.group_by("shop").agg(n="count(*)").changes().columns == ("shop", "n", "_change")
