"""The columns of a row by the parts of a Kafka record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors.kafka.formats import TYPES
from headrace.errors import HeadraceError, here
from headrace.ports.options import choice, wrong
from headrace.schema import Struct

VERB = "write.kafka"
VALUES = ("json", "csv", "raw", "debezium", *TYPES)
KEYS = ("json", "raw", *TYPES)
CHANGE = "_change"

# The types of columns that can be a raw key or value, or a header.
_PLAIN = ("string", "binary")


@dataclass(frozen=True)
class Layout:
    """Columns by their use in a record; parts that a record does not have are empty."""

    value: str = "json"
    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    key_format: str | None = None
    headers: Mapping[str, str] | None = None
    timestamp: str | None = None
    partition_by: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        value: Any,
        columns: Any,
        key: Any,
        key_format: Any,
        headers: Any,
        timestamp: Any,
        partition_by: Any,
    ) -> Layout:
        """The layout that the user gave."""
        return cls(
            choice(VERB, "value", value, VALUES),
            names("columns", columns),
            names("key", key),
            None if key_format is None else choice(VERB, "key_format", key_format, KEYS),
            _headers(headers),
            None if timestamp is None else _name("timestamp", timestamp),
            names("partition_by", partition_by),
        )

    def check(self, columns: tuple[str, ...]) -> None:
        """Raise if columns are missing or do not suit their part."""
        columns_by_option = {
            "columns": self.columns,
            "key": self.key,
            "headers": tuple((self.headers or {}).values()),
            "timestamp": (self.timestamp,) if self.timestamp else (),
            "partition_by": self.partition_by,
        }
        for option, named in columns_by_option.items():
            for name in named:
                if name not in columns:
                    raise wrong(f"{VERB}: {option} names `{name}`, which is not a column", f"the stream has: {', '.join(columns)}")
        if self.value == "raw" and len(self._values(columns)) != 1:
            raise wrong(
                f'{VERB}: value="raw" writes one column, but there are {", ".join(self._values(columns))}',
                'name the one whose bytes are the value: columns="body"',
            )
        if self.key_format in TYPES and not self.key:
            raise wrong(f"{VERB}: key_format={self.key_format!r} needs a key", 'name its columns: key="id"')
        if self.key_format == "raw" and len(self.key) != 1:
            raise wrong(
                f'{VERB}: key_format="raw" needs exactly one key column', 'name one column, or write the key as JSON: key_format="json"'
            )

    def parts(self, schema: Struct) -> dict[str, tuple[str, Struct]]:
        """The parts of a record with a schema in a registry, "key" and "value": the format and the columns of each."""
        types = {field.name: field for field in schema.fields}
        parts = {"value": (self.value, self._values(schema.names)), "key": (self.key_format or "", self.key)}
        return {part: (format, Struct(tuple(types[name] for name in of))) for part, (format, of) in parts.items() if format in TYPES}

    def document(self, schema: Struct, mode: str, encodings: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """For the writer in the tasks, now that the types and the registered schemas are known."""
        types = {field.name: str(field.type) for field in schema.fields}
        names = tuple(name for name in types if not (self.value == "debezium" and name == CHANGE))
        value = self._values(names)
        plain = [("headers", name) for name in (self.headers or {}).values()]
        plain += [("columns", value[0])] if self.value == "raw" else []
        plain += [("key", self.key[0])] if self.key_format == "raw" else []
        for option, name in plain:
            if not _is_plain(types[name]):
                raise _type(option, name, types[name], "string or binary", f"CAST({name} AS string)")
        if self.timestamp and types[self.timestamp] != "timestamp":
            raise _type("timestamp", self.timestamp, types[self.timestamp], "timestamp", f"CAST({self.timestamp} AS timestamp)")
        return {
            "format": self.value,
            "value": list(value),
            "key": list(self.key),
            "plain_key": len(self.key) == 1 and self.key_format in (None, "raw") and _is_plain(types[self.key[0]]),
            "headers": dict(self.headers or {}),
            "timestamp": self.timestamp,
            "partition_by": list(self.partition_by),
            "change": CHANGE if self.value == "debezium" and CHANGE in types else None,
            "weight": None if mode == "append" else "_weight",
            **({"encodings": dict(encodings)} if encodings else {}),
        }

    def _values(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        if self.columns:
            return self.columns
        if self.value == "raw":
            apart = {*self.key, *(self.headers or {}).values(), self.timestamp, *self.partition_by}
            return ("value",) if "value" in columns else tuple(name for name in columns if name not in apart)
        return columns


def names(option: str, argument: Any) -> tuple[str, ...]:
    """One column, or several."""
    if argument is None:
        return ()
    if isinstance(argument, str):
        return (_name(option, argument),)
    if not isinstance(argument, Sequence) or not argument:
        raise wrong(f"{VERB}: {option} cannot be {argument!r}", f'name columns: {option}="id", or {option}=["shop", "day"]')
    columns = tuple(_name(option, name) for name in argument)
    if len(set(columns)) < len(columns):
        raise wrong(f"{VERB}: {option} names a column twice", f"it names {', '.join(columns)}")
    return columns


def _name(option: str, argument: Any) -> str:
    if not isinstance(argument, str) or not argument:
        raise wrong(f"{VERB}: {option} cannot be {argument!r}", f'it is the name of a column: {option}="id"')
    return argument


def _headers(argument: Any) -> dict[str, str]:
    if argument is None:
        return {}
    if not isinstance(argument, Mapping) or not all(isinstance(one, str) and one for pair in argument.items() for one in pair):
        raise wrong(f"{VERB}: headers cannot be {argument!r}", 'it is a dict from headers to columns: {"trace": "trace_id"}')
    return dict(sorted(argument.items()))


def _is_plain(type: str) -> bool:
    return type.lower().startswith(_PLAIN)


def _type(option: str, name: str, has: str, wants: str, cure: str) -> HeadraceError:
    return HeadraceError(
        "WRONG_TYPE",
        f"{VERB}: {option} needs a column of type {wants}, but {name} is {has}",
        hint=f'cast it: .with_columns({name}="{cure}")',
        site=here(),
    )
