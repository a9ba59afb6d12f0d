"""sample: a part of the rows, by their hash."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error

Row = tuple[Any, ...]


def half(s: Streams) -> hr.Stream:
    return s.sales.sample(0.5, seed=7)


def test_answers(spark: SparkSession) -> None:
    hashed = "shiftrightunsigned(xxhash64(7L, id, shop, amount), 11)"
    check(
        spark,
        {
            "half": (half, f"SELECT * FROM sales WHERE {hashed} < {2**52}L"),
            "all": (lambda s: s.sales.sample(1), "SELECT * FROM sales"),
            "none": (lambda s: s.sales.sample(0.0), "SELECT * FROM sales WHERE false"),
            "of nested columns": (
                lambda s: s.baskets.sample(0.5, seed=7),
                f"SELECT * FROM baskets WHERE shiftrightunsigned(xxhash64(7L, id, goods), 11) < {2**52}L",
            ),
        },
        restart=True,
    )


def test_a_row_that_is_taken_away_shares_the_fate_of_its_equals(spark: SparkSession) -> None:
    """Against Python's count of the rows that are there: of each all are kept or none, in each epoch and after a restart."""
    rng = random.Random(5)
    there: Counter[Row] = Counter()
    fate: dict[Row, bool] = {}
    with Harness() as h:
        rows = h.source("rows", "k string, v int", changes=True)
        out, more, other = (h.collect(rows.sample(*how)) for how in ((0.4, 1), (0.7, 1), (0.4, 2)))
        for epoch in range(5):
            gone = [row for row in sorted(there.elements(), key=repr) if rng.random() < 0.3]
            come = [(rng.choice([None, *"abcdef"]), rng.choice([None, *range(20)])) for _ in range(80)]
            there.subtract(gone)
            there.update(come)
            h.commit({"rows": [*(("-", row) for row in gone), *(("+", row) for row in come)]})
            kept = Counter(out.rows())
            for row in +there:
                assert fate.setdefault(row, row in kept) == (row in kept)
            assert kept == Counter({row: n for row, n in there.items() if n > 0 and fate[row]})
            # a larger part of the same seed has the rows of the smaller one
            assert kept <= Counter(more.rows())
            if epoch == 2:
                h.restart()
        assert kept != Counter(other.rows())
        assert 0.2 < sum(fate.values()) / len(fate) < 0.6


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, half, "- sample: {fraction: 0.5, seed: 7}")
    check_yaml(tmp_path, lambda s: s.sales.sample(0.1), "- sample: 0.1")


@pytest.mark.parametrize("fraction", [-0.1, 1.5, float("nan"), True, "0.1"])
def test_fractions_that_are_none(fraction: Any) -> None:
    check_error(
        f"""
        BAD_INPUT: sample: `fraction` cannot be {fraction!r}
          at test_sample.py:*: lambda: streams().sales.sample(fraction),
          hint: a number from 0 to 1: .sample(0.1) keeps about one row in ten
          more: headrace error BAD_INPUT
        """,
        lambda: streams().sales.sample(fraction),
    )


def test_a_seed_that_is_none() -> None:
    check_error(
        """
        BAD_INPUT: sample: `seed` cannot be 1.5
          at test_sample.py:*: lambda: streams().sales.sample(0.1, seed=1.5),  # type: ignore[arg-type]
          hint: a whole number of 64 bits: .sample(0.1, seed=7)
          more: headrace error BAD_INPUT
        """,
        lambda: streams().sales.sample(0.1, seed=1.5),  # type: ignore[arg-type]
    )


def test_a_column_without_a_hash(spark: SparkSession) -> None:
    rows = hr.read.memory([], "k string, m map<string, int>", name="rows")
    check_error(
        """
        WRONG_TYPE: rows.sample: Spark cannot hash a map or a variant, as in `m`
          at test_sample.py:*: lambda: rows.sample(0.1).schema,
          hint: drop such columns: .drop("m")
          more: headrace error WRONG_TYPE
        """,
        lambda: rows.sample(0.1).schema,
    )
