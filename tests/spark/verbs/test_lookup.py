"""lookup: each row with those of its key in a table outside. How tables are asked: tests/spark/lookups."""

from __future__ import annotations

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import check
from tests.spark.verbs.spelling import streams
from tests.unit.errors import check_error

CITIES = hr.lookup.memory([("a", "SE"), ("b", "NO"), ("b", "DK")], "name string, country string", name="cities", constant=True)
BATCH = "(SELECT * FROM VALUES ('a', 'SE'), ('b', 'NO'), ('b', 'DK') AS t(name, country))"


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "left": (
                lambda s: s.sales.lookup(CITIES, on={"shop": "name"}),
                f"SELECT id, shop, amount, name, country FROM sales LEFT JOIN {BATCH} ON shop = name",
            ),
            "inner": (
                lambda s: s.sales.lookup(CITIES, on={"lower(shop)": "name"}, how="inner").drop("name"),
                f"SELECT id, shop, amount, country FROM sales JOIN {BATCH} ON lower(shop) = name",
            ),
            "by a name that both have": (
                lambda s: s.shops.lookup(CITIES, on="name"),
                f"SELECT s.name, size, country FROM shops s LEFT JOIN {BATCH} t ON s.name = t.name",
            ),
        },
    )


def test_no_key() -> None:
    check_error(
        """
        BAD_LOOKUP: lookup: `on` cannot be []
          at test_lookup.py:*: lambda: streams().shops.lookup(CITIES, on=[]),
          hint: write on="customer" if both have it, on={"customer": "id"} if the table calls it id
          more: headrace error BAD_LOOKUP
        """,
        lambda: streams().shops.lookup(CITIES, on=[]),
    )
