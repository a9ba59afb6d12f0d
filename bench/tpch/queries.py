"""The 22 queries, with the specification's values for validation.

A file begins with the query's title. `-- ties:` names the columns that complete its order for batch: of rows that are equal in the columns
of ORDER BY, a LIMIT may keep any, and headrace keeps the first by all columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bench.tpch.tables import SCHEMAS

_FOLDER = Path(__file__).parent / "queries"


@dataclass(frozen=True)
class Query:
    name: str
    title: str
    text: str
    batch: str

    @property
    def tables(self) -> list[str]:
        words = set(re.findall(r"\w+", self.text))
        return [name for name in SCHEMAS if name in words]


def read(file: Path) -> Query:
    lines = file.read_text(encoding="utf-8").splitlines()
    comments, sql = [line[3:] for line in lines if line.startswith("-- ")], [line for line in lines if not line.startswith("--")]
    text = "\n".join(sql).strip().removesuffix(";")
    ties = next((line.removeprefix("ties: ") for line in comments if line.startswith("ties: ")), None)
    before, limit, count = text.rpartition("\nLIMIT")
    return Query(file.stem, comments[0], text, text if ties is None else f"{before}, {ties}{limit}{count}")


QUERIES = [read(file) for file in sorted(_FOLDER.glob("q*.sql"))]
