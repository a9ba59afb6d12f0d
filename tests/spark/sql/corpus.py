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
    directives: dict[str, str] = {}
    sql: list[str] = []
    last = ""
    for line in part.strip().splitlines():
        match = _DIRECTIVE.match(line)
        if match and not sql:
            last = match[1]
            directives[last] = match[2]
        elif line.startswith("--   ") and not sql:
            directives[last] += "\n" + line[5:]
        elif not line.startswith("--"):
            sql.append(line)
    text = "\n".join(sql).strip().removesuffix(";")
    oracle = directives.pop("oracle", None)
    if "ties" in directives:
        before, limit, after = text.rpartition("\nLIMIT")
        oracle = f"{before}, {directives.pop('ties')}{limit}{after}"
    query = Query(directives.pop("name"), text, oracle, float(directives.pop("tolerance", TOLERANCE)), directives.pop("refused", None))
    if directives:
        raise ValueError(f"{query.name}: {', '.join(directives)} is not known")
    return query


def corpus() -> list[Query]:
    """All queries, by file and place in it."""
    return [query for file in sorted(FOLDER.glob("*.sql")) for query in read(file.read_text(encoding="utf-8"))]
