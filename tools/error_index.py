"""Writes docs/errors/index.md from the table of error codes."""

from __future__ import annotations

from pathlib import Path

from tests import installed  # noqa: F401  # the connectors of this tree

from headrace.errors import CODES, EXIT_CODES, REASONS
from headrace.ports.registry import load_all

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors" / "index.md"

_HEAD = """\
# Error codes

Find the page of an error or dead letter by its code. `headrace error CODE` prints the page in the terminal.

Every error is a `headrace.HeadraceError`, with the code and the problem, the line of your code, a hint, and the command that prints the
page of the code:

```text
UNKNOWN_COLUMN: no column `amout` in charges
  at fraud.py:4: large = charges.filter("amout > 500")
  hint: did you mean `amount`? It has: card, amount
  more: headrace error UNKNOWN_COLUMN
```

Codes are stable. The column *kind* names the subclass of `HeadraceError` to catch. The column *fault* says where the error must be
fixed; it also sets the exit code of `headrace run`. [Exit codes](../reference/cli.md#exit-codes) lists the other exit codes.

| fault | fix | exit code |
|---|---|---|
{faults}
## Errors

| code | problem | kind | fault |
|---|---|---|---|
"""

_FAULTS = {
    "user": "change the job or the command",
    "input": "correct the input",
    "environment": "correct the machine, the installation or a server",
    "headrace": "report the bug",
}

_REASONS = """
## Dead-letter reasons

The [reason of a dead letter](../guides/outputs.md#dead-letters) begins with one of these:

* a code of the table below
* [NULL_KEY](NULL_KEY.md), [FILE_BROKEN](FILE_BROKEN.md) or [FILE_CHANGED](FILE_CHANGED.md), which are also errors
* an error condition of Spark in brackets, such as `[DIVIDE_BY_ZERO]` ([Spark's list][spark])
* the reason given to `hr.reject`, or a description of the value that cannot be read or written

[spark]: https://spark.apache.org/docs/latest/sql-error-conditions.html

| code | problem |
|---|---|
"""


def text() -> str:
    """Return the generated page."""
    load_all()
    faults = "".join(f"| {fault} | {_FAULTS[fault]} | {code} |\n" for fault, code in EXIT_CODES.items())
    rows = (f"| [{name}]({name}.md) | {code.title} | `{code.kind}` | {code.fault} |\n" for name, code in sorted(CODES.items()))
    reasons = (f"| [{name}]({name}.md) | {title} |\n" for name, title in sorted(REASONS.items()))
    return _HEAD.format(faults=faults) + "".join(rows) + _REASONS + "".join(reasons)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
