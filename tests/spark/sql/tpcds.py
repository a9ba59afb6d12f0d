"""TPC-DS by DuckDB's extension: its data, small, and its 99 queries in Spark's spelling.

At a hundredth of the smallest official size a third of the queries find nothing with the values that the specification validates them
by. Those have other values here (`SMALL`), so that each has an answer that can change.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.spark.sql.changing import Change, Epoch
from tests.spark.sql.corpus import Query
from tests.spark.sql.tables import Row

SCALE = 0.01

FACTS = ("store_sales", "store_returns", "catalog_sales", "catalog_returns", "web_sales", "web_returns", "inventory")
CUT = {
    "date_dim": "d_year BETWEEN 1997 AND 2004",
    "time_dim": "t_time_sk IN (SELECT ss_sold_time_sk FROM store_sales UNION SELECT ws_sold_time_sk FROM web_sales "
    "UNION SELECT cs_sold_time_sk FROM catalog_sales)",
}
"""Rows of the calendar and the clock that nothing refers to are left out."""
KEPT = ("date_dim",)
"""Tables in whose rows nothing is changed: subqueries rely on a day having one row."""

_SECOND = (r"= 2001\b(?!\+)", "IN (1999, 2000, 2001)"), (r"= 2001\+1", "IN (2001, 2002, 2003)")
SMALL: Mapping[int, tuple[tuple[str, str], ...]] = {
    3: ((r"i_manufact_id = 128", "i_manufact_id < 500"),),
    4: _SECOND,
    8: ((r"(?s)IN \('24128'.*?'35576'\)", "IS NOT NULL"), (r"count\(\*\) > 10", "count(*) > 0"), (r", 1, 2\)", ", 1, 1)")),
    10: ((r"(?s)ca_county IN \([^)]*\)", "ca_county < 'M'"), (r"d_moy BETWEEN 1 AND 1\+3", "d_moy > 1")),
    11: _SECOND,
    19: (("i_manager_id=8", "i_manager_id < 60"),),
    23: ((r"count\(\*\) >4", "count(*) > 1"), (r"50/100\.0", "20/100.0"), ("d_moy = 2", "d_moy > 2")),
    24: (
        ("s_market_id=8", "s_market_id > 0"),
        ("s_zip = ca_zip", "substring(s_zip, 1, 1) = substring(ca_zip, 1, 1)"),
        ("i_color = 'peach'", "i_color < 'q'"),
    ),
    25: (("d_moy = 4", "d_moy > 0"), ("BETWEEN 4 AND 10", "BETWEEN 1 AND 12"), (r"d_year = 2001", "d_year > 1998")),
    30: (("d_year = 2002", "d_year > 2000"), ("ca_state = 'GA'", "ca_state < 'P'")),
    31: ((r"d_year = 2000", "d_year > 1998"),),
    37: ((r"68 AND 68 \+ 30", "1 AND 90"), (r"(?s)i_manufact_id IN \([^)]*\)", "i_manufact_id < 700")),
    39: ((r"END > 1\)", "END > 0.5)"),),
    41: (
        (r"738 AND 738\+40", "1 AND 900"),
        (r"(?s)i_color = '\w+'\s+OR i_color = '\w+'", "i_color > 'a'"),
        (r"(?s)i_units = '[\w/]+'\s+OR i_units = '[\w/]+'", "i_units > 'A'"),
    ),
    44: (("ss_store_sk = 4", "ss_store_sk = 1"), (r"0\.9\*", "1.5*"), ("ss_addr_sk IS NULL", "ss_addr_sk IS NOT NULL")),
    49: (("> 10000", "> 100"), ("d_moy = 12", "d_moy > 6")),
    54: (
        ("i_class = 'maternity'", "i_class > 'a'"),
        ("ca_county = s_county", "ca_county <> s_county"),
        ("ca_state = s_state", "ca_state <> s_state"),
    ),
    58: ((r"d_week_seq =\s", "d_week_seq >= "), (r"0\.9 \*", "0.1 *"), (r"1\.1 \*", "9 *")),
    64: ((r"(?s)i_color IN \([^)]*\)", "i_color > 'a'"), (r"64 AND 64 \+ 10", "0 AND 90"), (r"64 \+ 1 AND 64 \+ 15", "1 AND 95")),
    65: ((r"0\.1 \*", "0.9 *"),),
    73: ((r"BETWEEN 1 AND 2\b", "BETWEEN 1 AND 20"), ("BETWEEN 1 AND 5", "BETWEEN 1 AND 50")),
    74: (
        (r"year_ = 2001\b(?!\+)", "year_ IN (2000, 2001)"),
        (r"IN \(2001,\s*2001\+1\)", "IN (2000, 2001, 2002, 2003)"),
        (r"year_ = 2001\+1", "year_ IN (2002, 2003)"),
    ),
    82: ((r"62 AND 62\+30", "1 AND 90"), (r"(?s)i_manufact_id IN \([^)]*\)", "i_manufact_id < 700")),
    83: (("d_week_seq IN", "d_week_seq NOT IN"),),
    85: (
        ("d_year = 2000", "d_year > 1998"),
        (r"cd1.cd_marital_status = '\w'", "cd1.cd_marital_status > 'A'"),
        (r"cd1.cd_education_status = '[\w ]+'", "cd1.cd_education_status > 'A'"),
        ("ca_state IN", "ca_state NOT IN"),
        (r"ws_net_profit BETWEEN \d+ AND \d+", "ws_net_profit BETWEEN -5000 AND 5000"),
        (r"ws_sales_price BETWEEN [\d.]+ AND [\d.]+", "ws_sales_price BETWEEN 0.00 AND 300.00"),
        (r"cd1.cd_(\w+)_status = cd2.cd_", r"cd1.cd_\1_status >= cd2.cd_"),
    ),
    91: (
        ("d_year = 1998", "d_year > 1998"),
        ("d_moy = 11", "d_moy > 1"),
        ("hd_buy_potential LIKE 'Unknown%'", "hd_buy_potential LIKE '%0%'"),
        ("ca_gmt_offset = -7", "ca_gmt_offset < 0"),
        ("'Unknown'", "'College'"),
    ),
    93: (("'reason 28'", "'Package was damaged'"),),
}


@dataclass(frozen=True)
class Benchmark:
    """Schemas and rows by table, and the queries by number."""

    schemas: Mapping[str, str]
    rows: Mapping[str, list[Row]]
    queries: Mapping[int, Query]


@cache
def benchmark() -> Benchmark:
    connection = _connection()
    names = [name for (name,) in connection.execute("SHOW TABLES").fetchall()]
    schemas = {name: _ddl(connection.execute(f"DESCRIBE {name}").fetchall()) for name in names}
    rows = {name: connection.execute(f"SELECT * FROM {name} WHERE {CUT.get(name, 'true')} ORDER BY ALL").fetchall() for name in names}
    texts = dict(connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())
    queries = {number: _query(connection, number, text) for number, text in texts.items()}
    connection.close()
    return Benchmark(schemas, rows, queries)


def _connection() -> Any:
    """DuckDB with the extension that PyPI has for just this version."""
    import duckdb
    import duckdb_extension_tpcds

    (file,) = Path(*duckdb_extension_tpcds.__path__).glob("extensions/*/*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{file}'")
    connection.execute(f"CALL dsdgen(sf={SCALE})")
    return connection


def _ddl(described: list[tuple[Any, ...]]) -> str:
    types = {"VARCHAR": "string", "INTEGER": "int"}
    return ", ".join(f"{name} {types.get(kind, kind).lower()}" for name, kind, *_ in described)


def _query(connection: Any, number: int, text: str) -> Query:
    for pattern, other in SMALL.get(number, ()):
        text, times = re.subn(pattern, other, text)
        if not times:
            raise ValueError(f"query {number} has no {pattern}")
    text = text.strip().removesuffix(";").strip()
    columns = len(connection.execute(text).description)
    # names between double quotes are texts for Spark
    spark = re.sub(r'"([^"]*)"', r"`\1`", text)
    limit = re.search(r"\nLIMIT \d+$", spark, re.IGNORECASE)
    return Query(f"q{number:02}", spark, f"{_ordered(spark[: limit.start()], columns)}{limit[0]}" if limit else None)


def _ordered(text: str, columns: int) -> str:
    """The query with all its columns at the end of its order: what completes ties."""
    last = text.lower().rfind("order by")
    outermost = last >= 0 and text.count("(", last) == text.count(")", last)
    positions = ", ".join(map(str, range(1, columns + 1)))
    return f"{text}, {positions}" if outermost else f"{text}\nORDER BY {positions}"


def epochs(benchmark: Benchmark, names: list[str], seed: int) -> list[Epoch]:
    """Most rows; the rest and changes all over; deletions, of rows that others refer to as well; and their return."""
    chance = random.Random(seed)
    live: dict[str, list[Row]] = {name: list(benchmark.rows[name]) for name in names}
    for rows in live.values():
        chance.shuffle(rows)
    late = {name: rows[int(len(rows) * 0.6) :] for name, rows in live.items() if name in FACTS}
    first = {name: rows[: len(rows) - len(late.get(name, []))] for name, rows in live.items()}
    history: list[dict[str, list[Change]]] = [{name: [("+", row) for row in rows] for name, rows in first.items()}]
    second: dict[str, list[Change]] = {name: [("+", row) for row in rows] for name, rows in late.items()}
    for name, rows in live.items():
        if name not in KEPT:
            for place in chance.sample(range(len(first[name])), -(-len(first[name]) * 3 // 100)):
                before = rows[place]
                rows[place] = _changed(before, chance.choice(rows), chance)
                second.setdefault(name, []).extend([("-", before), ("+", rows[place])])
    history.append(second)
    gone = {name: chance.sample(rows, len(rows) * (10 if name in FACTS else 2) // 100) for name, rows in live.items()}
    history.append({name: [("-", row) for row in rows] for name, rows in gone.items() if rows})
    history.append({name: [("+", row) for row in rows[: len(rows) // 2 + 1]] for name, rows in gone.items() if rows})
    return list(history)


def _changed(row: Row, other: Row, chance: random.Random) -> Row:
    place = chance.randrange(len(row))
    return (*row[:place], other[place], *row[place + 1 :])
