"""The 23 queries, one file each: for headrace in `queries`, for Flink in `flink`, and in `oracle` those that DuckDB spells in another way.

They are the published ones (github.com/nexmark/nexmark). A file begins with the query's title; a second line of comment tells where it
differs from the published one. Newer releases of Flink take `dateTime` for a type unless it is quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
TABLES = ("person", "auction", "bid", "side_input")
FILES = "q10"
"""The one that writes files, in folders by its two last columns."""
FOLDERS = ("dt", "hm")
OF_THE_CLOCK = "q12"
"""The one whose windows are of processing time. Its oracle says what does not depend on it: the bids of each bidder."""


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
"""Those whose answer the events alone decide, in as many epochs as there are files. By the clock there are others, without events."""
