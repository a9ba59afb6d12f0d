"""Writes docs/connectors/problems.md from the tests that cause problems with a real server (`tests/servers/problems.py`)."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "connectors" / "problems.md"
TESTS = ROOT / "tests" / "servers"

_HEAD = """\
# Problems and errors

Find what a job reports when input, credentials, servers or disks fail, and what happens to the rows.

Each row of these tables comes from a test with a real server (Kafka, PostgreSQL, MariaDB, Redis), a stand-in for a schema registry, or a
full disk. The test causes the problem, compares the text of the error or dead letter, fixes the cause and starts the job again. Then a
reader independent of headrace checks that each row exists once. In the messages, `out` is the sink of the test, `orders` and `away` are its
sources, and `t` and `bad-…` its tables and topics.

* An error has a `hint` with the fix, and its code has a page. Java stack traces go to `errors.log` in the checkpoint.
* A dead letter is one row. That of a Kafka record has its topic, partition, offset and text, or its bytes for binary formats.
  [`headrace letters`](../guides/contracts.md#repair) shows dead letters, and feeds repaired rows back to their source.
"""


_ADVICE = re.compile(r"(?<=refused)\. Check that the hostname and port are correct.*")
"""What PostgreSQL's driver adds to each refused connection."""


class Case(NamedTuple):
    where: str
    what: str
    says: str
    then: str


def cases() -> list[Case]:
    """Return all cases in the tests, file by file."""
    return [case for file in sorted(TESTS.glob("test_*.py")) for case in _in(ast.parse(file.read_text(encoding="utf-8")))]


def _in(tree: ast.Module) -> Iterator[Case]:
    names: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=elements)], value=ast.Tuple(elts=values)):
                names |= {
                    name.id: value.value
                    for name, value in zip(elements, values, strict=True)
                    if isinstance(name, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str)
                }
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                names[name] = text
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "problem"
    ]
    for call in sorted(calls, key=lambda node: node.lineno):
        where, what, says, then = (_text(part, names) for part in call.args)
        yield Case(where, what, textwrap.dedent(says).strip(), then)


def _text(node: ast.expr, names: dict[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, names) + _text(right, names)
    raise ValueError(f"a case is made of texts, and of names of texts: line {node.lineno}")


def text() -> str:
    """Return the generated page."""
    problems = cases()
    parts = [_HEAD]
    for where in sorted({case.where for case in problems}):
        parts.append(f"\n## {where}\n\n| problem | error or dead letter | effect |\n|---|---|---|\n")
        rows: dict[tuple[str, str], list[str]] = {}
        for case in problems:
            if case.where == where:
                rows.setdefault((_reported(case.says), _cell(case.then)), []).append(_cell(case.what))
        parts.extend(f"| {'; '.join(whats)} | {says} | {then} |\n" for (says, then), whats in rows.items())
    return "".join(parts)


def _reported(says: str) -> str:
    if not says:
        return "none"
    first = says.splitlines()[0]
    match = re.match(r"([A-Z_]+): (.*)", first)
    if match and len(says.splitlines()) > 1:
        return f"[{match[1]}](../errors/{match[1]}.md): `{_ADVICE.sub('', _cell(match[2]))}`"
    return f"dead letter: `{_cell(first)}`"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
