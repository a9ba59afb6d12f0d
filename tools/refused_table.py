"""Writes docs/reference/refused.md from the refusals that the tests know."""

from __future__ import annotations

import re
from pathlib import Path

from tests.spark.lift.functions import Refusal, refusals

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "refused.md"

_HEAD = """\
# What is refused

A query that cannot be kept up to date is refused when it is built, never later: the error says what, at which line and column of the
query, and what to write instead. What is not in this table is kept up to date, or Spark itself refuses it: an unknown column, a wrong
type, a syntax error come in Spark's words, with their place. So do {modules}, which are in modules of Spark or behind its settings.

| refused | for example | write instead |
|---|---|---|
"""


def text() -> str:
    """The page as it should be: one row for each thing refused, with the first example of it."""
    first: dict[str, Refusal] = {}
    by_spark: list[str] = []
    for section in ("constructs", "DataFrames", "functions"):
        for refusal in refusals()[section]:
            if refusal.message.startswith("Spark refuses"):
                by_spark.append(f"`{refusal.name}`")
            else:
                first.setdefault(_what(refusal), refusal)
    *names, last = dict.fromkeys(by_spark)
    rows = (f"| {_cell(what)} | {_code(refusal)} | {_cell(refusal.hint)} |\n" for what, refusal in first.items())
    return _HEAD.format(modules=f"{', '.join(names)} and {last}") + "".join(rows)


def _what(refusal: Refusal) -> str:
    """The subject of the message."""
    return re.sub(r" at line \d+, column \d+: .*", "", refusal.message).partition(" cannot be kept up to date")[0].removesuffix(",")


def _code(refusal: Refusal) -> str:
    return f"`{_cell(refusal.text.replace(chr(92) + 'n', ' '))}`"


def _cell(text: str) -> str:
    return re.sub(r" +", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
