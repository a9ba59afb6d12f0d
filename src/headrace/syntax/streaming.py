"""What streaming SQL says beyond Spark's grammar: windows of time in FROM, and when the result is sent."""

from __future__ import annotations

from collections.abc import Sequence

_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_CLOSE = ["EMIT", "ON", "WINDOW", "CLOSE"]


def streaming(query: str) -> tuple[str, bool]:
    """A query as Spark's parser takes it, and whether EMIT ON WINDOW CLOSE stood at its end.

    What goes leaves blanks behind, so that all else stays in its line and column: the words at the end, a TABLE in front of a name, and
    the TABLE(...) that may stand around a window function. Columns behind PARTITION BY become arguments of their own.

    >>> streaming("SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), '1 hour')) EMIT ON WINDOW CLOSE")
    ("SELECT * FROM       TUMBLE(      t, DESCRIPTOR(ts), '1 hour')                      ", True)
    """
    if not any(word in query.upper() for word in (*_FUNCTIONS, *_CLOSE[:1])):
        return query, False
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = sqlglot.tokenize(query, read="spark")
    except SqlglotError:
        return query, False
    words = [token.text.upper() for token in tokens]
    # A quoted name or a string is longer than its text.
    plain = [token.end - token.start + 1 == len(token.text) for token in tokens]
    last = len(words) - (1 if words[-1:] == [";"] else 0)
    close = words[last - 4 : last] == _CLOSE and all(plain[last - 4 : last])
    gone = [*range(last - 4, last)] if close else []
    commas = []
    for at, word in enumerate(words):
        if word in _FUNCTIONS and plain[at] and words[at + 1 : at + 2] == ["("]:
            gone += _around(words, at) + _tables(words, at + 1)
            if word == "SESSION":
                by = _partitions(words, at + 1)
                commas += by[:1]
                gone += by
    text = list(query)
    for at in gone:
        for place in range(tokens[at].start, tokens[at].end + 1):
            text[place] = " "
    for at in commas:
        text[tokens[at].start] = ","
    return "".join(text), close


def _around(words: Sequence[str], at: int) -> list[int]:
    """TABLE( and ) around a call."""
    if list(words[max(at - 2, 0) : at]) != ["TABLE", "("]:
        return []
    return [at - 2, at - 1, _end(words, at - 1)]


def _tables(words: Sequence[str], opening: int) -> list[int]:
    """The word TABLE in the arguments of a call where no bracket follows."""
    found, depth = [], 0
    for at in range(opening, _end(words, opening)):
        depth += (words[at] in "([") - (words[at] in ")]")
        if depth == 1 and words[at] == "TABLE" and words[at + 1] != "(":
            found.append(at)
    return found


def _partitions(words: Sequence[str], opening: int) -> list[int]:
    """PARTITION BY in the arguments of a call, and the brackets around what follows."""
    depth = 0
    for at in range(opening, _end(words, opening)):
        depth += (words[at] in "([") - (words[at] in ")]")
        if depth == 1 and words[at] == "PARTITION BY":
            end = _end(words, at + 1)
            return [at, at + 1, end] if words[at + 1] == "(" and words[end + 1 : end + 2] in ([","], [")"]) else [at]
    return []


def _end(words: Sequence[str], opening: int) -> int:
    """The place of the bracket that closes this one; the last word, if none does."""
    depth = 0
    for at in range(opening, len(words)):
        depth += (words[at] == "(") - (words[at] == ")")
        if depth == 0:
            return at
    return len(words) - 1
