"""FOR SYSTEM_TIME AS OF in queries, read before Spark parses them, because Spark's parser allows only constants there."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.syntax.tokens import tokens as tokens_of

_CLAUSE = ("FOR", "SYSTEM_TIME", "AS", "OF")
_NOW = ("PROCTIME", "CURRENT_TIMESTAMP", "NOW")


@dataclass(frozen=True)
class SystemTime:
    """The clause after a table: the end of the table's name, and the time, a column or the current time, with its start."""

    table_end: int
    time: str
    time_start: int


def system_times(query: str) -> tuple[str, tuple[SystemTime, ...]]:
    """Return a query with blanks in place of these clauses, so that other words keep their places, and the clauses.

    A clause whose time is neither a column nor a function for the current time is left to Spark.

    >>> system_times("SELECT * FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts ON o.k = r.k")
    ('SELECT * FROM o JOIN r                            ON o.k = r.k', (SystemTime(table_end=21, time='o.ts', time_start=45),))
    """
    if "system_time" not in query.lower():
        return query, ()
    from sqlglot import TokenType

    tokens = tokens_of(query)
    words = [token.text.upper() for token in tokens]
    names = (TokenType.VAR, TokenType.IDENTIFIER)
    clauses = []
    for i in range(1, len(tokens) - len(_CLAUSE)):
        if tuple(words[i : i + 4]) != _CLAUSE or (tokens[i + 4].token_type not in names and words[i + 4] not in _NOW):
            continue
        last = i + 4
        if words[last] in _NOW and words[last + 1 : last + 3] == ["(", ")"]:
            last += 2
        while last + 2 < len(tokens) and words[last + 1] == "." and tokens[last + 2].token_type in names:
            last += 2
        if last + 1 < len(tokens) and words[last + 1] in ("(", "+", "-", "."):
            continue
        start, end = tokens[i + 4].start, tokens[last].end + 1
        clauses.append(SystemTime(tokens[i - 1].end, query[start:end], start))
        blank = "".join(char if char in "\r\n" else " " for char in query[tokens[i].start : end])
        query = query[: tokens[i].start] + blank + query[end:]
    return query, tuple(clauses)
