"""What becomes of a query as it is read: conditions pushed down, columns pruned, joins put in order. That the meaning stays is for others to test."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from tests.spark.lift.lifting import lift, short

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = {
    "sales": "id int, shop string, amount int, note string",
    "shops": "name string, country string, size int",
    "days": "day int, week int",
    "calls": "at timestamp, caller string",
    "hours": "opens timestamp, agent string",
}

PAIRS = {
    "conditions of one side are tested in front of a join": (
        "SELECT id FROM sales JOIN shops ON shop = name WHERE amount > 2 AND country = 'SE' AND amount > size",
        """
        project id
          join inner shop = name if amount > size
            project id, shop, amount
              filter amount > 2
                table sales
            project name, size
              filter country = 'SE'
                table shops
        """,
    ),
    "one that can fail stays behind it": (
        "SELECT id FROM sales JOIN shops ON shop = name WHERE 100 / amount > 2 AND country = 'SE'",
        """
        project id
          filter 100.0D / CAST(amount AS DOUBLE) > 2.0D
            join inner shop = name
              project id, shop, amount
                table sales
              project name
                filter country = 'SE'
                  table shops
        """,
    ),
    "how far apart times of both sides are is for the join, in front of what can fail as well": (
        """SELECT caller FROM calls, hours
        WHERE caller = agent AND at BETWEEN opens AND opens + INTERVAL 1 HOUR AND 1 / length(agent) > 2 AND at < opens + INTERVAL 2 HOURS""",
        """
        project caller
          filter 1.0D / CAST(length(agent) AS DOUBLE) > 2.0D AND at < opens + INTERVAL '02' HOUR
            join inner caller = agent if at BETWEEN opens AND opens + INTERVAL '01' HOUR
              table calls
              table hours
        """,
    ),
    "a left join whose partner is asked for is an inner one": (
        "SELECT id FROM sales LEFT JOIN shops ON shop = name WHERE country = 'SE' AND amount > 2",
        """
        project id
          join inner shop = name
            project id, shop
              filter amount > 2
                table sales
            project name
              filter country = 'SE'
                table shops
        """,
    ),
    "a left join keeps rows without a partner": (
        "SELECT id FROM sales LEFT JOIN shops ON shop = name AND country = 'SE' WHERE amount > 2 AND size IS NULL",
        """
        project id
          filter size IS NULL
            join left shop = name
              project id, shop
                filter amount > 2
                  table sales
              project name, size
                filter country = 'SE'
                  table shops
        """,
    ),
    "nobody keeps columns that are not read": (
        "SELECT country, sum(amount) AS spent FROM sales JOIN shops ON shop = name GROUP BY country",
        """
        aggregate by country: sum(amount) as spent
          join inner shop = name
            project shop, amount
              table sales
            project name, country
              table shops
        """,
    ),
    "each join has a key": (
        "SELECT id, week FROM sales, days, shops WHERE shop = name AND size = day",
        """
        project id, week
          join inner size = day
            project id, size
              join inner shop = name
                project id, shop
                  table sales
                project name, size
                  table shops
            table days
        """,
    ),
    "what the parts of an OR have in common is a key": (
        "SELECT id FROM sales, shops WHERE (shop = name AND amount = 1) OR (shop = name AND size = 2)",
        """
        project id
          join inner shop = name if amount = 1 OR size = 2
            project id, shop, amount
              table sales
            project name, size
              table shops
        """,
    ),
    "conditions on groups are tested in front of them": (
        "SELECT * FROM (SELECT shop, count(*) AS n FROM sales GROUP BY shop) WHERE shop = 'a' AND n > 1",
        """
        filter n > 1L
          aggregate by shop: count(1) as n
            filter shop = 'a'
              table sales
        """,
    ),
    "and in the branches of a union": (
        "SELECT * FROM (SELECT id FROM sales UNION ALL SELECT size FROM shops) WHERE id > 1",
        """
        union
          project id
            filter id > 1
              table sales
          project size
            filter size > 1
              table shops
        """,
    ),
    "conditions on partitions, and not those on ranks": (
        "SELECT * FROM (SELECT id, shop, rank() OVER (PARTITION BY shop ORDER BY id) AS r FROM sales) WHERE shop = 'a' AND r < 3",
        """
        filter r < 3
          window r: rank(id) OVER (PARTITION BY shop ORDER BY id ASC NULLS FIRST)
            project id, shop
              filter shop = 'a'
                table sales
        """,
    ),
    "of a subquery that is asked for rows only its key is kept": (
        "SELECT id FROM sales WHERE EXISTS (SELECT * FROM shops WHERE name = shop AND size > 1)",
        """
        project id
          join semi shop = name
            project id, shop
              table sales
            project name
              filter size > 1
                table shops
        """,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_becomes_of_a_query(spark: SparkSession, name: str) -> None:
    query, wanted = PAIRS[name]
    answer = lift(spark, query, TABLES)
    assert "tree" in answer, answer
    assert short(answer["tree"]) == textwrap.dedent(wanted).strip()
