"""Parses Spark's DDL into types, without a JVM and without sqlglot, which lacks some of Spark's types."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, NoReturn

from headrace.errors import SchemaError, here
from headrace.schema.types import Array, Atomic, Field, Map, Struct, Type
from headrace.spelling import nearest

_ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "character": "char",
}
_PLAIN = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "timestamp_ltz", "void", "variant"),
)
_SIZED = ("decimal", "char", "varchar", "time")
_UNITS = ("year", "month", "day", "hour", "minute", "second")
_KNOWN = (*_PLAIN, *_SIZED, *_ALIASES, "array", "map", "struct", "interval")
_MEANT = {
    **dict.fromkeys(("str", "text", "object", "uuid", "json"), "string"),
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    **dict.fromkeys(("datetime", "datetime64", "timestamptz", "timestamptype"), "timestamp"),
    "bytes": "binary",
    "blob": "binary",
    "bytea": "binary",
    "number": "decimal",
    "list": "array",
    "dict": "map",
}
"""Names of types in Python, pandas and databases that Spark does not have."""
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(\w+)|([<>(),:]))")


def meant_type(name: str) -> str | None:
    """Returns the type that a name in lower case is meant to be, which Spark does not have.

    >>> meant_type("number"), meant_type("timestamb"), meant_type("x")
    ('decimal', 'timestamp', None)
    """
    return _MEANT.get(name) or nearest(name, _KNOWN)


class _Wrong(Exception):
    """A mistake in a text, raised before the error that quotes the text."""


def parse_schema(ddl: str) -> Struct:
    """Returns the schema that a DDL text describes.

    >>> parse_schema("card STRING, amount DECIMAL(10, 2) NOT NULL, tags ARRAY<STRING>").ddl
    'card string, amount decimal(10,2) not null, tags array<string>'
    """
    return _parsed(ddl, schema=True)  # type: ignore[return-value]


def parse_type(ddl: str) -> Type:
    """Returns the type that a DDL text describes.

    >>> parse_type("MAP<STRING, LONG>").text
    'map<string, bigint>'
    """
    return _parsed(ddl, schema=False)


def schema_of(value: Any) -> Struct:
    """Returns the schema that a user gave as DDL text, as a pyspark StructType, or as a `Struct`.

    >>> schema_of("card VARCHAR(16), amount INT").ddl
    'card string, amount int'
    """
    if isinstance(value, Struct):
        return as_read(value)
    if isinstance(value, str):
        return as_read(parse_schema(value))
    if hasattr(value, "jsonValue"):
        parsed = _of_json(value.jsonValue())
        if isinstance(parsed, Struct):
            return as_read(parsed)
    raise SchemaError(
        "BAD_TYPE",
        f"a schema cannot be a {type(value).__name__}",
        hint='pass a string, "card string, amount decimal(10,2)", or a pyspark StructType',
        site=here(),
    )


def as_read(schema: Struct, *, chars: bool = False) -> Struct:
    """Returns a schema with the types of rows: a `varchar(n)` is a string of any length, since Spark checks lengths only when it writes.

    With `chars` a `char(n)` becomes a string too. Without it `char(n)` is refused, because Spark pads such a column with blanks when it
    reads a table, and also pads the values it is compared with.
    """
    return Struct(tuple(replace(field, type=_as_read(field.type, field.name, chars)) for field in schema.fields))


def _as_read(kind: Type, column: str, chars: bool) -> Type:
    match kind:
        case Array(element):
            return Array(_as_read(element, column, chars))
        case Map(key, value):
            return Map(_as_read(key, column, chars), _as_read(value, column, chars))
        case Struct(fields):
            return Struct(tuple(replace(one, type=_as_read(one.type, f"{column}.{one.name}", chars)) for one in fields))
        case Atomic(name) if name.startswith("varchar(") or (chars and name.startswith("char(")):
            return Atomic("string")
        case Atomic(name) if name.startswith("char("):
            raise SchemaError(
                "BAD_TYPE",
                f"the column `{column}` cannot be {name}: headrace does not pad strings",
                hint=f"declare it as string, and pad where needed: rpad({column}, {name[5:-1]}, ' ')",
                site=here(),
            )
    return kind


def type_text(value: Any) -> str:
    """Returns the text of a type that a user gave as DDL text or as a pyspark type."""
    if isinstance(value, str):
        return parse_type(value).text
    if isinstance(value, Type):
        return value.text
    if hasattr(value, "jsonValue"):
        return _of_json(value.jsonValue()).text
    raise SchemaError(
        "BAD_TYPE", f"a type cannot be a {type(value).__name__}", hint='pass a string, "decimal(10,2)", or a pyspark type', site=here()
    )


def _parsed(ddl: str, *, schema: bool) -> Type:
    try:
        return _parse(ddl, schema)
    except _Wrong as wrong:
        noun = "schema" if schema else "type"
        example = '"card string, amount decimal(10,2), ts timestamp"' if schema else '"decimal(10,2)" or "array<string>"'
        error = SchemaError("BAD_TYPE", f"the {noun} `{ddl}` cannot be read: {wrong}", hint=f"a {noun} looks like {example}", site=here())
    raise error


@lru_cache(maxsize=1024)
def _parse(ddl: str, schema: bool) -> Type:
    reader = _Reader(ddl)
    parsed: Type = Struct(reader.fields(end="")) if schema else reader.type()
    if reader.peek:
        reader.stop(f"unexpected `{reader.peek}`")
    if isinstance(parsed, Struct) and schema and not parsed.fields:
        raise _Wrong("it has no columns")
    return parsed


class _Reader:
    """A text as tokens, and the position of the next one."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                raise _Wrong(f"unexpected `{text[at:].strip()[:1]}`")
            self.tokens.append(token[0].strip())
            at = token.end()
        self.at = 0

    @property
    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek
        self.at += 1
        return token

    def take(self, word: str) -> bool:
        if self.peek.lower() != word:
            return False
        self.at += 1
        return True

    def need(self, word: str) -> None:
        if not self.take(word):
            self.stop(f"`{word}` is missing before `{self.peek}`" if self.peek else f"`{word}` is missing at the end")

    def stop(self, message: str) -> NoReturn:
        raise _Wrong(message)

    def fields(self, end: str) -> tuple[Field, ...]:
        """Reads named types up to `end`, which is not consumed."""
        fields: list[Field] = []
        while self.peek != end:
            if fields:
                self.need(",")
            fields.append(self.field())
        names: set[str] = set()
        for field in fields:
            if end != ">" and field.name.lower() in names:  # fields of a struct may share a name
                self.stop(f"the name `{field.name}` appears twice")
            names.add(field.name.lower())
        return tuple(fields)

    def field(self) -> Field:
        name = self.next()
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        elif not re.match(r"\w", name):
            self.stop("a name is missing" + (f" before `{name}`" if name else " at the end"))
        self.take(":")
        if self.peek in ("", ","):
            self.stop(f"the type of `{name}` is missing")
        kind = self.type()
        nullable = True
        while self.peek.lower() in ("not", "comment"):
            if self.take("not"):
                self.need("null")
                nullable = False
            else:
                self.at += 2
        return Field(name, kind, nullable)

    def type(self) -> Type:
        word = self.next()
        name = _ALIASES.get(word.lower(), word.lower())
        if name == "array":
            self.need("<")
            element = self.type()
            self.need(">")
            return Array(element)
        if name == "map":
            self.need("<")
            key = self.type()
            self.need(",")
            value = self.type()
            self.need(">")
            return Map(key, value)
        if name == "struct":
            self.need("<")
            fields = self.fields(end=">")
            self.need(">")
            return Struct(fields)
        if name == "interval":
            return self.interval()
        if name in _SIZED:
            return Atomic(self.sized(name))
        if name not in _PLAIN:
            near = meant_type(name)
            self.stop(f"no type `{word}`" + (f", did you mean `{near}`?" if near else ""))
        if name == "string" and self.take("collate"):
            return Atomic(f"string collate {self.next()}")
        return Atomic(name)

    def sized(self, name: str) -> str:
        sizes = []
        if self.take("("):
            while not self.take(")"):
                token = self.next()
                if not token:
                    self.stop("`)` is missing at the end")
                if not token.isdigit():
                    self.stop(f"{name} takes numbers in parentheses")
                sizes.append(token)
                self.take(",")
        if name == "decimal":
            precision, scale = int(sizes[0]) if sizes else 10, int(sizes[1]) if len(sizes) > 1 else 0
            if not (1 <= precision <= 38 and scale <= precision and len(sizes) <= 2):
                self.stop("decimal(precision, scale) needs a precision from 1 to 38, and a scale up to the precision")
            return f"decimal({precision},{scale})"
        if name == "time":
            return f"time({sizes[0] if sizes else 6})"
        if len(sizes) != 1:
            one = "one length" if sizes else "a length"
            self.stop(f"{name} needs {one}, such as {name}(10); did you mean `string`?")
        return f"{name}({sizes[0]})"

    def interval(self) -> Type:
        first = self.next().lower()
        if first not in _UNITS:
            self.stop("write `interval day to second` or `interval year to month`")
        if not self.take("to"):
            return Atomic(f"interval {first}")
        last = self.next().lower()
        if last not in _UNITS or (first in ("year", "month")) != (last in ("year", "month")) or _UNITS.index(last) <= _UNITS.index(first):
            self.stop("write `interval day to second` or `interval year to month`")
        return Atomic(f"interval {first} to {last}")


def _of_json(value: Any) -> Type:
    """Returns the type of the JSON form of pyspark's types."""
    if isinstance(value, str):
        return parse_type(value)
    match value.get("type"):
        case "struct":
            return Struct(tuple(Field(item["name"], _of_json(item["type"]), item.get("nullable", True)) for item in value["fields"]))
        case "array":
            return Array(_of_json(value["elementType"]))
        case "map":
            return Map(_of_json(value["keyType"]), _of_json(value["valueType"]))
        case "udt":
            return _of_json(value["sqlType"])
    raise SchemaError("BAD_TYPE", f"the type {value} cannot be used", hint="pass the schema as a string", site=here())
