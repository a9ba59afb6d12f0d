"""Reads one statement of a script, token by token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from headrace.errors import PlanError
from headrace.syntax.statements import Constraint, Part

# The treatments of a violation, in the words of `stream.expect`.
_VIOLATIONS = {
    ("DEAD", "LETTER"): "dead_letter",
    ("DROP", "ROW"): "drop",
    ("FAIL", "UPDATE"): "fail",
    ("FAIL",): "fail",
    ("KEEP", "ROW"): "keep",
}
# Beginnings of statements that cannot occur inside another statement. After a word of _OPEN or one of _SIGNS they are no statement.
_KINDS = r"(SOURCE|LOOKUP|VIEW|FUNCTION|SINK)\s+[\w`]"
_SECOND = re.compile(
    rf"CREATE\s+(OR\s+REPLACE\s+)?((TEMPORARY|INCREMENTAL)\s+)*{_KINDS}|DROP\s+{_KINDS}|INSERT\s+INTO\s+[\w`]|SET\s+['\w.]+\s*=",
    re.IGNORECASE,
)
_OPEN = frozenset(
    (
        *(
            "SELECT",
            "DISTINCT",
            "ALL",
            "AS",
            "BY",
            "WHERE",
            "HAVING",
            "AND",
            "OR",
            "NOT",
            "ON",
            "WHEN",
            "THEN",
            "ELSE",
            "CASE",
            "IN",
            "LIKE",
        ),
        *("BETWEEN", "FROM", "JOIN", "EXPLAIN", "EXTENDED"),
    )
)
_SIGNS = "(,.=<>+-*/%|&^~!:"
_WATERMARK = "WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS"


def string(token: Any) -> bool:
    """Return whether a token is a string literal."""
    return str(token.token_type.name).endswith("STRING")


class Reader:
    """A statement and the position up to which it has been read. `form` is its syntax, shown in errors."""

    def __init__(self, whole: Part, tokens: Sequence[Any]) -> None:
        self._whole = whole
        self._tokens = tokens
        self._at = 0
        self.form = ""
        self.part = self._between(0, len(tokens))

    def _between(self, first: int, last: int) -> Part:
        """Return the part from one token up to another, exclusive."""
        return Part(self._whole.script, self._whole.file, self._tokens[first].start, self._tokens[last - 1].end + 1)

    def _token(self, ahead: int = 0) -> Any:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def _word(self, token: Any) -> str:
        return "" if token is None or string(token) or token.token_type.name == "IDENTIFIER" else str(token.text).upper()

    @property
    def next(self) -> str:
        """The next word in capitals, or sign; empty before quoted text and at the end."""
        return self._word(self._token())

    def more(self) -> bool:
        """Return whether any token is left."""
        return self._token() is not None

    @property
    def after(self) -> bool:
        """Whether a token follows the next one."""
        return self._token(1) is not None

    @property
    def word(self) -> str:
        """The next token as written."""
        token = self._token()
        return "" if token is None else self._whole.script[token.start : token.end + 1]

    @property
    def start(self) -> int:
        """The place in the script where the next token begins, or where the statement ends."""
        token = self._token()
        return self.part.end if token is None else int(token.start)

    def skip(self) -> None:
        self._at += 1

    def takes(self, *words: str) -> bool:
        """Consume these words if they are next, and return whether they were."""
        if any(self._word(self._token(i)) != word for i, word in enumerate(words)):
            return False
        self._at += len(words)
        return True

    def needs(self, word: str) -> None:
        if not self.takes(word):
            raise self._expected(word)

    def ends(self) -> None:
        """Refuse tokens after the end of the statement."""
        if self._token() is not None:
            raise self.wrong(
                f"unexpected `{self.word}` after the end of the statement", self.form or "put a semicolon between two statements"
            )

    def refuse_second(self) -> None:
        """Refuse a statement that begins inside this one because a semicolon is missing."""
        for at in range(1, len(self._tokens)):
            last, token = self._tokens[at - 1], self._tokens[at]
            ended = string(last) or (str(last.text).upper() not in _OPEN and str(last.text)[-1:] not in _SIGNS)
            if ended and not string(token) and _SECOND.match(self._whole.script, token.start):
                raise self.second(at)

    def second(self, at: int | None = None) -> PlanError:
        """Return the error for a statement that begins at a token, by default the next one, without a semicolon before it."""
        at = self._at if at is None else at
        end = self._tokens[at - 1].end
        return PlanError(
            "BAD_STATEMENT",
            f"no semicolon after this statement, and `{self._word(self._tokens[at]).split()[0]}` begins another",
            hint="put a semicolon between two statements",
            site=Part(self._whole.script, self._whole.file, end, end + 1).site,
        )

    def name(self, what: str) -> str:
        token = self._token()
        if token is None or string(token) or not (token.token_type.name == "IDENTIFIER" or str(token.text).isidentifier()):
            raise self._expected(what)
        self._at += 1
        if self.next == ".":
            raise self.wrong(f"a name has only one part, but a dot follows `{token.text}`", f"write it in back quotes: `{token.text}...`")
        return str(token.text)

    def rest(self) -> Part:
        """Consume all that is left, which must not be empty."""
        if self._token() is None:
            raise self._expected("more")
        first, self._at = self._at, len(self._tokens)
        return self._between(first, len(self._tokens))

    def query(self) -> Part:
        if self.next not in ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "("):
            raise self._expected("a query")
        return self.rest()

    def setting(self) -> str:
        """Read the name of a setting: quoted, or words with dots between them."""
        token = self._token()
        if string(token):
            self._at += 1
            return str(token.text)
        first = self._at
        while self._token() is not None and self.next not in ("=", ",", ")", "("):
            self._at += 1
            if not self.takes("."):
                break
        if self._at == first:
            raise self._expected("the name of a setting")
        return self._between(first, self._at).text

    def value_text(self) -> str:
        """Read a value as text: the content of quotes, or all that is left."""
        token = self._token()
        if token is not None and string(token):
            self._at += 1
            return str(token.text)
        return self.rest().text

    def options(self) -> dict[str, Any]:
        """Read `(name = value, ...)`. In a name with a dot, the part after it is a key in a map."""
        self.needs("(")
        options: dict[str, Any] = {}
        while not self.takes(")"):
            self._option(options)
            if self.next != ")":
                self.needs(",")
        return options

    def _option(self, options: dict[str, Any]) -> None:
        at = self._at
        token = self._token()
        if token is None:
            raise self._expected(")")
        if string(token):
            self._at += 1
            first, *more = str(token.text).split(".", 1)
        else:
            name = self.setting()
            first, *more = name.replace("`", "").split(".", 1)
            first = first.lower()
        self.needs("=")
        into, key = (options.setdefault(first, {}), more[0]) if more else (options, first)
        if not isinstance(into, dict) or key in into:
            self._at = at
            raise self.wrong(f"the option {'.'.join((first, *more))} is given twice", "give it once")
        into[key] = self._value()

    def _value(self) -> Any:
        token = self._token()
        if token is not None and string(token):
            self._at += 1
            return str(token.text)
        if self.takes("("):
            values = []
            while not self.takes(")"):
                values.append(self._value())
                if self.next != ")":
                    self.needs(",")
            return values
        for word, value in (("TRUE", True), ("FALSE", False), ("NULL", None)):
            if self.takes(word):
                return value
        sign = "-" if self.takes("-") else ""
        text = sign + self.word
        for kind in (int, float):
            try:
                number = kind(text)
            except ValueError:
                continue
            self._at += 1
            return number
        raise self._expected("a value (text in quotes, a number, TRUE or FALSE)")

    def columns(self) -> tuple[str | None, tuple[str, str] | None]:
        """Read the columns of a source as DDL, and its watermark."""
        kept: list[str] = []
        watermark = None
        for first, last in self._items():
            if [self._word(token) for token in self._tokens[first : first + 2]] == ["WATERMARK", "FOR"]:
                if watermark is not None:
                    self._at = first
                    raise self.wrong("a source can have only one watermark", _WATERMARK)
                watermark = self._watermark(first, last)
            else:
                kept.append(self._between(first, last).text)
        return ", ".join(kept) or None, watermark

    def parameters(self) -> tuple[str, ...]:
        """Read the parameters of a function and return their types."""
        types = []
        for first, last in self._items():
            ends = (at for at in range(first + 1, last) if self._word(self._tokens[at]) in ("DEFAULT", "COMMENT", "NOT"))
            end = next(ends, last)
            if end <= first + 1:
                self._at = end
                raise self.wrong("a parameter needs a name and a type", self.form)
            types.append(self._between(first + 1, end).text)
        return tuple(types)

    def constraints(self) -> tuple[Constraint, ...]:
        """Read `(CONSTRAINT name EXPECT (condition) ON VIOLATION DROP ROW, ...)`. The default for a violating row is a dead letter."""
        items = self._items("(", ")")
        behind = self._at
        constraints = []
        for first, last in items:
            self._at = first
            self.needs("CONSTRAINT")
            name = self.name("the name of the constraint")
            self.needs("EXPECT")
            start = self._at
            if len(self._items("(", ")")) != 1:
                self._at = start
                raise self.wrong(f"the constraint {name} needs exactly one condition", self.form)
            condition = self._between(start + 1, self._at - 1)
            policy = "dead_letter"
            if self._at < last:
                self.needs("ON")
                self.needs("VIOLATION")
                words = next((words for words in _VIOLATIONS if self.takes(*words)), None)
                if words is None:
                    raise self._expected("DEAD LETTER, DROP ROW, FAIL or KEEP ROW")
                policy = _VIOLATIONS[words]
            if self._at != last:
                raise self._expected("`,` or `)`")
            constraints.append(Constraint(name, condition, policy))
        self._at = behind
        return tuple(constraints)

    def _items(self, opening: str = "(<", closing: str = ")>") -> list[tuple[int, int]]:
        """Read a list in parentheses, and return the first token of each item and the one after its last."""
        self.needs("(")
        items, begun, depth = [], self._at, 0
        while True:
            token = self._token()
            if token is None:
                raise self._expected(")")
            sign = "" if string(token) or token.token_type.name == "IDENTIFIER" else token.text
            closes = sign == ")" and depth == 0
            if closes or (sign == "," and depth == 0):
                if self._at > begun:
                    items.append((begun, self._at))
                elif not (closes and not items):
                    raise self._expected("a column")
                begun = self._at + 1
            depth += sum(sign.count(one) for one in opening) - sum(sign.count(one) for one in closing)
            self._at += 1
            if closes:
                return items

    def _watermark(self, first: int, last: int) -> tuple[str, str]:
        """Read `WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS` and return column and delay."""
        behind, self._at = self._at, first + 2
        column = self.name("the column of the watermark")
        self.needs("AS")
        place = self._at
        if self.name("the column of the watermark").lower() != column.lower():
            self._at = place
            raise self.wrong(f"the watermark for {column} uses another column", _WATERMARK)
        if self._at == last:
            self._at = behind
            return column, "0 seconds"
        if not self.takes("-", "INTERVAL") or self._at >= last:
            raise self.wrong(f"the watermark for {column} must be the column minus an interval", _WATERMARK)
        delay = " ".join(str(token.text) for token in self._tokens[self._at : last])
        self._at = behind
        return column, delay

    def _expected(self, what: str) -> PlanError:
        shown = what if " " in what or what == "more" else f"`{what}`"
        if self._token() is None:
            return self.wrong(f"expected {shown}, but the statement ends", self.form)
        return self.wrong(f"expected {shown}, got `{self.word}`", self.form)

    def wrong(self, message: str, hint: str) -> PlanError:
        """Return an error of this statement, at the next token."""
        token = self._token()
        end = self._whole.end
        place = Part(self._whole.script, self._whole.file, self.part.end - 1 if token is None else token.start, end)
        return PlanError("BAD_STATEMENT", message, hint=hint, site=place.site)
