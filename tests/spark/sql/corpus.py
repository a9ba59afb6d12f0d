"""The queries of the corpus: files of SQL by theme, in which a comment above each query names it.

    -- name: limit_without_order
    -- oracle: SELECT id FROM sales
    --   ORDER BY id LIMIT 5
    SELECT id FROM sales LIMIT 5;

`oracle` is the query that batch runs instead where SQL leaves the answer open (DESIGN 10). `ties` completes the last ORDER BY before
LIMIT for batch. `refused` is how a query is refused that cannot be kept up to date (yet). `tolerance` is how far numbers of floating point may differ, relatively, where Spark's own way of computing them loses
more digits than usual.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"
TOLERANCE = 1e-12

_DIRECTIVE = re.compile(r"^-- (\w+): (.*)$")


@dataclass(frozen=True)
class Query:
    """A query, and what batch runs to know its answer."""

    name: str
    text: str
    oracle: str | None = None
    tolerance: float = TOLERANCE
    refused: str | None = None

    @property
    def batch(self) -> str:
        return self.text if self.oracle is None else self.oracle

    def tables(self, known: list[str]) -> list[str]:
        """Those of the known tables that its text mentions."""
        words = {word.lower() for word in re.findall(r"\w+", self.text)}
        return [name for name in known if name.lower() in words]


def read(text: str) -> list[Query]:
    """The queries of one file.

    >>> read("-- a theme\\n\\n-- name: one\\n-- ties: b\\nSELECT a, b\\nFROM t\\nORDER BY a\\nLIMIT 1;\\n")[0].batch
    'SELECT a, b\\nFROM t\\nORDER BY a, b\\nLIMIT 1'
    """
    parts = re.split(r"^(?=-- name: )", text, flags=re.MULTILINE)
    return [_query(part) for part in parts[1:]]


def _query(part: str) -> Query:
    said: dict[str, str] = {}
    sql: list[str] = []
    last = ""
    for line in part.strip().splitlines():
        found = _DIRECTIVE.match(line)
        if found and not sql:
            last = found[1]
            said[last] = found[2]
        elif line.startswith("--   ") and not sql:
            said[last] += "\n" + line[5:]
        elif not line.startswith("--"):
            sql.append(line)
    text = "\n".join(sql).strip().removesuffix(";")
    oracle = said.pop("oracle", None)
    if "ties" in said:
        before, limit, after = text.rpartition("\nLIMIT")
        oracle = f"{before}, {said.pop('ties')}{limit}{after}"
    made = Query(said.pop("name"), text, oracle, float(said.pop("tolerance", TOLERANCE)), said.pop("refused", None))
    if said:
        raise ValueError(f"{made.name}: {', '.join(said)} is not known")
    return made


def corpus() -> list[Query]:
    """All queries, by file and place in it."""
    return [query for file in sorted(FOLDER.glob("*.sql")) for query in read(file.read_text(encoding="utf-8"))]
