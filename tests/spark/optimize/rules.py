"""For each rule, streams that it makes cheaper, and some that look alike and that it has to leave alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import headrace as hr
from headrace.optimize import Rule
from headrace.optimize.filters import filters_before_state
from headrace.optimize.first import first_rows
from headrace.optimize.literals import literal_tables
from headrace.optimize.narrow import narrow_inputs
from headrace.optimize.net import net_once
from headrace.plan import Plan

TABLES = {"sales": "id int, shop string, amount int, note string", "shops": "name string, country string, size int"}


@dataclass(frozen=True)
class Case:
    """`rewritten` gives streams over the tables; `before` and `after` are the plans of the first as lines; `left` stays as it is."""

    rule: Rule
    rewritten: Callable[[Any, Any], list[hr.Stream]]
    before: str
    after: str
    left: Callable[[Any, Any], list[hr.Stream]]


def lines(plan: Plan) -> str:
    """The plan as one indented tree for each sink, without the names of nodes and the rows of tables."""
    texts: list[str] = []
    stack: list[tuple[Any, int]] = [(before, 0) for name in reversed(plan.sinks) for before in plan.nodes[name].inputs]
    while stack:
        node, depth = stack.pop()
        description = re.sub(r"array\(named_struct.*\)\)", "array(ROWS))", node.describe())
        texts.append("  " * depth + (str(node.name) if node.op == "source" else description))
        stack += [(before, depth + 1) for before in reversed(node.inputs)]
    return "\n".join(texts)


def plan_of(streams: list[hr.Stream]) -> Plan:
    return Plan.of("job", [stream.write.memory(name=f"out {i}")._use() for i, stream in enumerate(streams)])


def joined(sales: hr.Stream, shops: hr.Stream, how: str) -> hr.Stream:
    return sales.join(shops, on="shop = name", how=how)


def numbered(sales: hr.Stream) -> hr.Stream:
    return hr.sql("SELECT *, row_number() OVER (PARTITION BY shop ORDER BY amount DESC) AS place FROM sales", sales=sales)


def ranked(sales: hr.Stream, function: str) -> hr.Stream:
    return hr.sql(f"SELECT *, {function}() OVER (PARTITION BY shop ORDER BY amount DESC) AS place FROM sales", sales=sales)


LIMITS = "(SELECT * FROM VALUES ('a', 2), ('b', 3), ('b', 4), (NULL, 5) AS t(code, least))"


CASES: Mapping[str, Case] = {
    "filters_before_state": Case(
        filters_before_state,
        lambda sales, shops: [
            joined(sales, shops, "inner").filter("amount > 2", "country = 'SE' OR country IS NULL", "amount > size"),
            joined(sales, shops, "left").filter("shop <> 'c' AND size IS NULL"),
            joined(sales, shops, "semi").filter("amount > 2"),
            sales.group_by("shop").agg(n="count(*)").filter("shop = 'a'"),
            sales.top(2, by="amount desc", per="shop").filter("shop < 'c'").select("shop", "amount"),
            numbered(sales).filter("shop < 'c'"),
            joined(sales.group_by("shop").agg(n="count(*)"), shops, "inner").select("shop", "n", "country").filter("shop >= 'b'"),
            sales.distinct().filter("shop = 'a'"),
        ],
        """
        filter amount > 2 AND country = 'SE' OR country IS NULL AND amount > size
          inner join on shop = name
            sales
            shops
        """,
        """
        filter amount > size
          inner join on shop = name
            filter amount > 2
              sales
            filter country = 'SE' OR country IS NULL
              shops
        """,
        lambda sales, shops: [
            joined(sales, shops, "inner").filter("100 / amount > 2"),
            joined(sales, shops, "left").filter("country = 'SE'"),
            joined(sales, shops, "full").filter("amount > 2"),
            sales.group_by("shop").agg(n="count(*)").filter("n > 1"),
            sales.top(2, by="amount desc").filter("shop = 'a'"),
            sales.filter("amount > 2"),
        ],
    ),
    "first_rows": Case(
        first_rows,
        lambda sales, shops: [
            numbered(sales).filter("place <= 2"),
            numbered(sales).filter("2 > place AND amount > 1").select("id", "place"),
            hr.sql(
                "SELECT id, place FROM (SELECT id, row_number() OVER (ORDER BY amount, shop) AS place FROM sales) WHERE place = 1",
                sales=sales,
            ),
            ranked(sales, "rank").filter("place <= 2"),
            ranked(sales, "dense_rank").filter("place < 3"),
            hr.sql("SELECT id, shop FROM sales QUALIFY rank() OVER (PARTITION BY shop ORDER BY amount DESC NULLS FIRST) = 2", sales=sales),
            sales.with_columns(place=hr.f.dense_rank().over(per="shop", by="amount")).filter("place = 1"),
            *(
                hr.sql(
                    "SELECT * FROM (SELECT *, row_number() OVER w AS a, rank() OVER w AS b, dense_rank() OVER w AS c FROM sales"
                    f" WINDOW w AS (PARTITION BY shop ORDER BY amount)) WHERE {name} <= 2",
                    sales=sales,
                )
                for name in "abc"
            ),
            numbered(sales).filter("place <= 1"),
            numbered(sales).filter("place < 1"),
            ranked(sales, "rank").filter("place <= 1").select("id", "place"),
            hr.sql(
                "SELECT * FROM (SELECT *, row_number() OVER w AS a, rank() OVER w AS b FROM sales"
                " WINDOW w AS (PARTITION BY shop ORDER BY amount)) WHERE b = 1",
                sales=sales,
            ),
        ],
        """
        filter place <= 2
          row_number() OVER (PARTITION BY shop ORDER BY amount DESC NULLS LAST) AS place
            sales
        """,
        """
        filter place <= 2
          row_number() OVER (PARTITION BY shop ORDER BY amount DESC NULLS LAST) AS place
            the first 2 per shop by amount desc nulls last
              sales
        """,
        lambda sales, shops: [
            numbered(sales).filter("place > 2"),
            numbered(sales).filter("place <= 2 OR amount > 2"),
            ranked(sales, "rank").filter("place > 2"),
            ranked(sales, "percent_rank").filter("place <= 1"),
            *(
                hr.sql(
                    f"SELECT * FROM (SELECT *, {function}() OVER w AS place, {other} OVER w AS other FROM sales"
                    " WINDOW w AS (ORDER BY amount)) WHERE place <= 2",
                    sales=sales,
                )
                for function, other in [
                    ("row_number", "sum(amount)"),
                    ("rank", "lead(id)"),
                    ("rank", "count(*)"),
                    ("dense_rank", "cume_dist()"),
                    ("dense_rank", "ntile(2)"),
                ]
            ),
        ],
    ),
    "narrow_inputs": Case(
        narrow_inputs,
        lambda sales, shops: [
            joined(sales, shops, "inner").select("id", "country"),
            sales.group_by("shop").agg(spent="sum(amount)"),
            sales.group_by().agg(n="count(*)"),
            joined(sales, shops, "left").group_by("country").agg(most="max(amount)"),
            joined(sales, shops, "anti").select("id"),
            sales.explode("array(id, amount)", as_="x").select("shop", "x").filter("x > 1"),
            sales.window(hr.hop("timestamp_seconds(amount)", "4 seconds", "2 seconds")).group_by("shop", "window_end").agg(n="count(*)"),
        ],
        """
        select id, country
          inner join on shop = name
            sales
            shops
        """,
        """
        select id, country
          inner join on shop = name
            narrow id, shop
              sales
            narrow name, country
              shops
        """,
        lambda sales, shops: [
            joined(sales, shops, "inner"),
            sales.distinct(),
            sales.top(2, by="amount").select("id"),
            numbered(sales).select("id", "place"),
            joined(sales, shops, "inner").select(all="to_json(struct(*))"),
        ],
    ),
    "net_once": Case(
        net_once,
        lambda sales, shops: [
            sales.group_by("shop").agg(spent="sum(amount)").changes(),
            sales.group_by("shop").agg(n="count(*)").filter("n > 1").changes(),
            sales.group_by("shop")
            .agg(n="count(*)")
            .rename({"n": "number"})
            .upserts("shop")
            .filter("shop > 'a'")
            .select("shop", "number")
            .changes(),
        ],
        """
        changes
          consolidate: the net changes of each epoch
            aggregate by shop: sum(amount) AS spent
              sales
        """,
        """
        changes
          aggregate by shop: sum(amount) AS spent
            sales
        """,
        lambda sales, shops: [
            joined(sales, shops, "inner").changes(),
            sales.group_by("shop").agg(spent="sum(amount)").select("spent").changes(),
            sales.top(2, by="amount").changes(),
            numbered(sales).changes(),
            sales.group_by("shop").agg(n="count(*)").union(sales.group_by("shop").agg(n="max(amount)")).changes(),
        ],
    ),
    "literal_tables": Case(
        literal_tables,
        lambda sales, shops: [
            hr.sql(f"SELECT id, least FROM sales JOIN {LIMITS} ON shop = code AND amount > least", sales=sales),
            hr.sql(f"SELECT code, id FROM {LIMITS} JOIN sales ON shop <=> code", sales=sales),
            hr.sql(f"SELECT id, code FROM sales CROSS JOIN {LIMITS}", sales=sales),
        ],
        """
        select id, least
          inner join on shop = code AND amount > least
            select id, shop, amount
              sales
            values-2780a1de
        """,
        """
        select id, least
          filter (shop) = (code) AND amount > least
            generate inline(array(ROWS)) AS code, least
              select id, shop, amount
                sales
        """,
        lambda sales, shops: [
            hr.sql(f"SELECT id, least FROM sales LEFT JOIN {LIMITS} ON shop = code", sales=sales),
            hr.sql(f"SELECT id FROM sales LEFT ANTI JOIN {LIMITS} ON shop = code", sales=sales),
            joined(sales, shops, "inner"),
        ],
    ),
}
