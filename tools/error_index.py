"""Writes docs/errors/index.md from the table of error codes."""

from __future__ import annotations

from pathlib import Path

from tests import installed  # noqa: F401  # the connectors of this tree

from headrace.errors import CODES, EXIT_CODES, REASONS
from headrace.ports.registry import load_all

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors" / "index.md"

_HEAD = """\
# Error codes

An error's text has its code, what happened, where in your code and a hint. `headrace error CODE` prints its page. Codes never change their
meaning. `fault` says whose turn it is: the *user* changes the job, the *input* does not fit, the *environment* (machine, installation)
lacks something, or it is a fault of *headrace*, which is to be reported. `headrace run` ends with {exits}.

Every error is a `headrace.HeadraceError`; its kind is the class to catch.

| code | what happened | kind | fault |
|---|---|---|---|
"""

_REASONS = """
## Reasons of dead letters

The [reason of a dead letter](../guides/outputs.md#dead-letters) begins with one of these codes, with [NULL_KEY](NULL_KEY.md),
[FILE_BROKEN](FILE_BROKEN.md) or [FILE_CHANGED](FILE_CHANGED.md), with a condition of Spark in brackets
([Spark's list][spark], `[DIVIDE_BY_ZERO]` for instance), or says what
cannot be read. `headrace error CODE` prints these pages, too.

[spark]: https://spark.apache.org/docs/latest/sql-error-conditions.html

| code | why a row is a dead letter |
|---|---|
"""


def text() -> str:
    """The page as it should be."""
    load_all()
    *first, last = (f"{code} for *{fault}*" for fault, code in EXIT_CODES.items())
    rows = (f"| [{name}]({name}.md) | {code.title} | `{code.kind}` | {code.fault} |\n" for name, code in sorted(CODES.items()))
    reasons = (f"| [{name}]({name}.md) | {title} |\n" for name, title in sorted(REASONS.items()))
    return _HEAD.format(exits=f"{', '.join(first)} and {last}") + "".join(rows) + _REASONS + "".join(reasons)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
