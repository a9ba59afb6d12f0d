"""Writes docs/reference/refused.md from the refusals of the tests."""

from __future__ import annotations

import re
from pathlib import Path

from tests.spark.lift.functions import Refusal, refusals

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "refused.md"

_HEAD = """\
# Refused queries

Look up here why a [query](../guides/queries.md) is refused ([BAD_QUERY](../errors/BAD_QUERY.md)), and what to write instead.
headrace refuses a query when it is built, never while it runs. The error has the line and column and a hint:

```py
hr.sql("{query}", t=rows)
```

```text
BAD_QUERY: {message}
  hint: {hint}
```

* Queries that are not listed are kept up to date, or Spark refuses them: unknown columns, wrong types and syntax errors are reported
  with Spark's own message and the line and column.
* Verbs such as `with_columns` accept nondeterministic functions over an append-only stream; the sink is then
  [at least once](../concepts/exactly-once.md).
* Spark also refuses {by_spark}.
  They are part of other Spark modules or need a Spark setting.
"""

_EXAMPLE = "uuid"
"""The function whose refusal the page shows in full."""

_TITLES = {"constructs": "SQL", "DataFrames": "DataFrames", "functions": "Functions"}
"""The headings of the page, by the sections of the refusals."""

_TABLE = """
## {title}

| refused | example | write instead |
|---|---|---|
"""


def text() -> str:
    """Return the page: a table for each section, a row for each subject, with its first example."""
    shown: set[str] = set()
    by_spark: list[str] = []
    tables = ""
    for section, title in _TITLES.items():
        tables += _TABLE.format(title=title)
        for refusal in refusals()[section]:
            subject = _subject(refusal)
            if refusal.message.startswith("Spark refuses"):
                by_spark.append(f"`{refusal.name}`")
            elif subject not in shown:
                shown.add(subject)
                tables += f"| {_words(subject)} | {_code(refusal)} | {_words(refusal.hint)} |\n"
    *names, last = dict.fromkeys(by_spark)
    example = next(refusal for refusal in refusals()["functions"] if refusal.name == _EXAMPLE)
    head = _HEAD.format(query=example.query, message=example.message, hint=example.hint, by_spark=f"{', '.join(names)} and {last}")
    return head + tables


def _subject(refusal: Refusal) -> str:
    """Return the subject of the message."""
    return re.sub(r" at line \d+, column \d+: .*", "", refusal.message).partition(" cannot be kept up to date")[0].removesuffix(",")


def _code(refusal: Refusal) -> str:
    return f"`{_cell(refusal.text.replace(chr(92) + 'n', ' '))}`"


def _words(text: str) -> str:
    """Return a cell that is not code, with Markdown's special characters escaped."""
    return _cell(text).replace("<", "&lt;").replace("*", "\\*")


def _cell(text: str) -> str:
    return re.sub(r" +", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
