"""The 23 queries, one file each: for headrace in `queries`, for Flink in `flink`, and for DuckDB in `oracle` where its SQL differs.

They are the published ones (github.com/nexmark/nexmark). A file begins with the query's title; a second comment line describes how it
differs from the published one. Newer releases of Flink take `dateTime` for a type unless it is quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
TABLES = ("person", "auction", "bid", "side_input")
FILES = "q10"
"""The query that writes files, in folders by its last two columns."""
FOLDERS = ("dt", "hm")
OF_THE_CLOCK = "q12"
"""The query with windows of processing time. Its oracle has what does not depend on that: the bids of each bidder."""


@dataclass(frozen=True)
class Query:
    name: str
    title: str
    text: str
    flink: str
    oracle: str

    @property
    def tables(self) -> list[str]:
        words = set(re.findall(r"\w+", self.text))
        return [name for name in TABLES if name in words]


def read(name: str) -> Query:
    own = FOLDER / "queries" / f"{name}.sql"
    title, text = _read(own)
    oracle = FOLDER / "oracle" / f"{name}.sql"
    return Query(name, title, text, _read(FOLDER / "flink" / f"{name}.sql")[1], _read(oracle)[1] if oracle.exists() else text)


def _read(file: Path) -> tuple[str, str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    sql = "\n".join(line for line in lines if not line.startswith("--"))
    return lines[0].removeprefix("-- "), sql.strip().removesuffix(";")


QUERIES = {f"q{number}": read(f"q{number}") for number in range(23)}
OF_EVENTS = {name: query for name, query in QUERIES.items() if name != OF_THE_CLOCK}
"""Queries whose answer depends only on the events, in as many epochs as there are files. The clock adds epochs without events."""
