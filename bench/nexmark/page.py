"""Writes the queries and their plans into docs/compare/nexmark.md. `python -m bench.readme` writes the page's numbers.

python -m bench.nexmark.page
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import headrace as hr
from bench.nexmark import ours
from bench.nexmark.events import Events
from bench.nexmark.queries import QUERIES, Query
from bench.nexmark.tables import KINDS, streams

PAGE = Path(__file__).parents[2] / "docs" / "compare" / "nexmark.md"
SINK = "out"
_BLOCK = re.compile(r"^<!-- ([\w ]+) -->\n(.*?)^<!-- end -->\n", re.M | re.S)
_SITE = re.compile(r" {4}\[[^\]]*:\d+\]$", re.M)


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), texts() | plans()), encoding="utf-8")


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """Return the page with these texts between the marks `<!-- NAME -->` and `<!-- end -->`. Other blocks are unchanged."""
    if missing := set(blocks) - {block[1] for block in _BLOCK.finditer(page)}:
        raise ValueError(f"the page has no place for {', '.join(sorted(missing))}")
    return _BLOCK.sub(lambda block: f"<!-- {block[1]} -->\n{blocks.get(block[1], block[2])}<!-- end -->\n", page)


def texts() -> dict[str, str]:
    """Return the SQL of each query."""
    return {f"{name} text": f"```sql\n{query.text}\n```\n" for name, query in QUERIES.items()}


def plans() -> dict[str, str]:
    """Return the output of `explain` for each query. Starts the session."""
    return {f"{name} plan": plan(query) for name, query in QUERIES.items()}


def plan(query: Query) -> str:
    """Return the operators of a query from its tables on, without their columns and the lines of this code."""
    stream = ours.view(query, streams(Events(Path("nexmark"), 0, 1)))
    explained = hr.job(query.name, stream.write.memory(name=SINK)).explain(verbose=True)
    _, operators, *notes = _SITE.sub("", str(explained)).split("\n\n")
    shown = [
        "\n".join(line for line in operator.splitlines() if not line.startswith("    schema: "))
        for operator in re.split(r"\n(?! )", operators)
        if not (name := operator.partition(" = ")[0]).startswith("events") and name not in (*KINDS, SINK)
    ]
    return "\n".join(["```text", *shown, *(f"\n{note}" for note in notes), "```\n"])


if __name__ == "__main__":
    main()
