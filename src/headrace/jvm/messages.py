"""Spark's messages, without what only its developers need."""

from __future__ import annotations

import re


def sentence(message: str) -> str:
    """Return a message of Spark's analyser without its class, its SQLSTATE, and the plan or the query that it draws.

    >>> sentence("[UNRESOLVED_COLUMN] There is no `x`. SQLSTATE: 42703; line 1 pos 7;\\n'Project ['x]")
    'There is no `x`'
    >>> sentence("It is not allowed here:\\nAggregate [a]\\n")
    'It is not allowed here'
    """
    message = re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", message.strip())
    # After a colon at the end of a line, Spark draws its plan.
    message = re.split(r":[ \t]*\n|\s*(?:== SQL|== DataFrame|SQLSTATE:)", message)[0]
    return re.sub(r"\s*\n\s*", " ", message).strip().rstrip(".;")


def first_lines(message: str) -> str:
    """Return the first lines of an exception's message, without a Java trace and SQLSTATE.

    >>> first_lines("Job aborted.\\n\\nDriver stacktrace:\\n at org.apache.spark")
    'Job aborted'
    """
    text = re.split(r"\n\s*at |\nDriver stacktrace|\n== |SQLSTATE:|\nCaused by:", message.strip())[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:4]).rstrip(" .;")
