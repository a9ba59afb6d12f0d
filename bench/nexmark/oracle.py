"""DuckDB's answers over the same files, and how a result differs from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.nexmark.events import Events
from bench.nexmark.queries import OF_THE_CLOCK, Query
from bench.nexmark.tables import in_duckdb

SHOWN = 3


class Oracle:
    def __init__(self, events: Events) -> None:
        import duckdb

        self._database = duckdb.connect()
        for statement in in_duckdb(events):
            self._database.execute(statement)

    def rows(self, query: Query) -> int:
        """Return the number of rows in the answer."""
        ((count,),) = self._database.execute(f"SELECT count(*) FROM ({query.oracle})").fetchall()
        return int(count)

    def answer(self, query: Query) -> list[tuple[Any, ...]]:
        return self._database.execute(query.oracle).fetchall()

    def difference(self, query: Query, files: Sequence[Path]) -> str:
        """Describe how the rows of these files differ from the answer; empty if they do not.

        Parquet files have changes with the column `_change`; CSV files have rows in folders by their last columns.
        """
        columns = self._database.execute(f"DESCRIBE {query.oracle}").fetchall()
        names = ", ".join(f'"{name}"' for name, *_ in columns)
        # both engines round once, but in different directions
        typed = ", ".join(f'round("{name}", 4)' if type == "DOUBLE" else f'"{name}"' for name, type, *_ in columns)
        cast = ", ".join(f'CAST("{name}" AS {type}) AS "{name}"' for name, type, *_ in columns)
        listed = [str(file) for file in files]
        if files and files[0].suffix == ".csv":
            source, sign = f"read_csv({listed}, hive_partitioning = true, all_varchar = true)", "1"
        else:
            source, sign = f"read_parquet({listed})", "CASE _change WHEN 'insert' THEN 1 WHEN 'delete' THEN -1 END"
        if query.name == OF_THE_CLOCK:
            source, sign = f"(SELECT bidder, sum({sign} * bid_count) AS bid_count FROM {source} GROUP BY bidder)", "1"
        if not files:
            source, sign = f"(SELECT {names} FROM ({query.oracle}) LIMIT 0)", "1"
        self._database.execute(
            f"""CREATE OR REPLACE TEMP TABLE found AS
            SELECT {typed}, sum(_sign) AS _rows FROM (SELECT {cast}, {sign} AS _sign FROM {source}) GROUP BY ALL HAVING _rows <> 0"""
        )
        self._database.execute(
            f"CREATE OR REPLACE TEMP TABLE expected AS SELECT {typed}, count(*) AS _rows FROM ({query.oracle}) GROUP BY ALL"
        )
        parts = []
        for what, one, other in (("missing", "expected", "found"), ("too many", "found", "expected")):
            rows = self._database.execute(f"FROM {one} EXCEPT FROM {other}").fetchall()
            if rows:
                parts.append(f"{len(rows)} rows are {what}: {rows[:SHOWN]}")
        return "; ".join(parts)
