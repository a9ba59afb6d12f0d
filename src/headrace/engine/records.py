"""CSV records, written and split the way Spark's reader reads them with the options of a source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from headrace.schema import Struct

BREAKS = "\n\r"
_UNSET = "\0"
_ESCAPES = {"t": "\t", "r": "\r", "b": "\b", "f": "\f", "u0000": "\0"}
_FORMATS = {"date": "dateformat", "timestamp": "timestampformat", "timestamp_ntz": "timestampntzformat"}
_PLAIN_TYPES = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "varchar", "char", *_FORMATS)
_LOCALES = ("en", "en-us")

Value = str | bool | None


class Unwritable(Exception):
    """A row that cannot be written as a record, and why."""


@dataclass(frozen=True)
class Records:
    """The records of a CSV source. `options` are those of Spark's reader, with names in lower case.

    >>> from headrace.schema import parse_schema
    >>> Records({"sep": ";"}, parse_schema("card string, note string")).line(["a", 'say "x;y"'])
    'a;"say \\\\"x;y\\\\""'
    """

    options: Mapping[str, str]
    schema: Struct

    @property
    def header(self) -> bool:
        return self.options.get("header", "false").lower() == "true"

    @cached_property
    def separator(self) -> str:
        text = self.options.get("sep", self.options.get("delimiter", ","))
        return re.sub(r"\\(u0000|.)", lambda one: _ESCAPES.get(one[1], one[1]), text) or ","

    @property
    def names(self) -> str:
        """The header line."""
        return self.separator.join(self._text(name) for name in self.schema.names)

    def line(self, values: Sequence[Value]) -> str:
        """Return the line that the source reads as these values. Raises Unwritable."""
        fields = [self._field(name, value) for name, value in zip(self.schema.names, values, strict=True)]
        line = self.separator.join(fields)
        if not line.strip():
            line = self.separator.join(field or self._null() for field in fields)
        if not line.strip():
            raise Unwritable("all its values are null, and the source skips blank lines")
        if self._comment != _UNSET and line.startswith(self._comment):
            raise Unwritable("the source would read its line as a comment")
        return line

    def split(self, line: str) -> list[str]:
        """Split a line into texts, as Spark reads the names in a header."""
        quote, escape = re.escape(self._quote), re.escape(self._escape)
        quoted = rf"\s*{quote}((?:{escape}{quote}|{escape}{escape}|(?!{quote}).)*){quote}\s*"
        field = re.compile(rf"(?:{quoted}|(.*?))(?:{re.escape(self.separator)}|$)", re.DOTALL)
        texts, at = [], 0
        while True:
            match = field.match(line, at)
            assert match is not None  # the second alternative matches any text
            inside, plain = match.groups()
            texts.append(plain if inside is None else re.sub(rf"{escape}({quote}|{escape})", r"\1", inside))
            if match.end() == len(line) and not (match[0].endswith(self.separator) and at < len(line)):
                return texts
            at = match.end()

    def _field(self, name: str, value: Value) -> str:
        if value is None:
            return ""
        self._refuse_form(name)
        text = value if isinstance(value, str) else str(value).lower()
        if text == self._null_value:
            raise Unwritable("a string is empty, and the source reads that as null" if text == "" else f"the source reads '{text}' as null")
        return self._text(text)

    def _refuse_form(self, name: str) -> None:
        """Refuse a column whose values are written differently in a letter and in a file of the source."""
        type = str(self.schema.get(name)).lower().partition("(")[0].strip()
        if type not in _PLAIN_TYPES:
            raise Unwritable(f"CSV cannot hold the {type} of `{name}` as the letter stores it")
        if (option := _FORMATS.get(type)) in self.options:
            raise Unwritable(f"`{name}` is formatted by {option}, which the letter does not use")
        if type == "decimal" and self.options.get("locale", "en-US").lower() not in _LOCALES:
            raise Unwritable(f"`{name}` is a decimal formatted by locale, which the letter does not use")

    def _text(self, text: str) -> str:
        """Write a text as a field, in quotes if it needs them."""
        if any(sign in text for sign in BREAKS):
            raise Unwritable("a string has a line break, and a record is one line")
        if _UNSET in text:
            raise Unwritable("a string has the character U+0000")
        if text == "" and self._empty_value != "":
            raise Unwritable(f"a string is empty, and the source reads that as '{self._empty_value}'")
        if self._is_plain(text):
            return text
        if self._quote == _UNSET:
            raise Unwritable("a string needs quotes, and the source reads none")
        return f"{self._quote}{self._escaped(text)}{self._quote}"

    def _is_plain(self, text: str) -> bool:
        signs = {self._quote, *self.separator}
        return text != "" and text == text.strip() and min(text[0], text[-1]) > " " and not signs & set(text) and text[0] != self._comment

    def _escaped(self, text: str) -> str:
        quote, escape = self._quote, self._escape
        if escape == _UNSET and quote in text:
            raise Unwritable("a string contains the quote character, and the source reads no escapes")
        if escape in (quote, _UNSET):
            return text.replace(quote, escape + quote)
        own = self.options.get("chartoescapequoteescaping", "")
        if own and any(sign in text for sign in (escape, own)):
            raise Unwritable("a quoted string contains the character of charToEscapeQuoteEscaping")
        return text.replace(escape, escape * 2).replace(quote, escape + quote)

    def _null(self) -> str:
        """Return the text for null where an empty field would make the line blank."""
        if self._null_value.strip():
            return self._text(self._null_value)
        return self._quote * 2 if self._null_value == self._empty_value and self._quote != _UNSET else ""

    @cached_property
    def _quote(self) -> str:
        return self.options.get("quote", '"') or _UNSET

    @cached_property
    def _escape(self) -> str:
        return self.options.get("escape", "\\") or _UNSET

    @cached_property
    def _comment(self) -> str:
        return self.options.get("comment", "") or _UNSET

    @cached_property
    def _null_value(self) -> str:
        return self.options.get("nullvalue", "")

    @cached_property
    def _empty_value(self) -> str:
        return self.options.get("emptyvalue", "")
