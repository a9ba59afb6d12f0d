"""The types of values in YAML, derived from the annotations of the functions that take the values."""

from __future__ import annotations

import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, Union

from headrace.errors import Site
from headrace.expr import Column, of_text
from headrace.ops.stream import Stream
from headrace.ops.tables import Table as Outside
from headrace.spec.value import Items, Scalar, Table, Value, items, table, text, wanted

Json = dict[str, Any]


@dataclass(frozen=True)
class Reference:
    """The name of a source or view, resolved when the job is built."""

    name: str
    site: Site


@dataclass(frozen=True)
class Kind:
    """A type: the function that reads a value, called with a name for errors, and the JSON schema."""

    read: Callable[[Value, str], Any]
    schema: Json


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function, by its names in YAML and in Python. `kind` is None if only Python has such values."""

    name: str
    python: str
    kind: Kind | None
    needed: bool


def parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters of a function that take one value each, by their names in YAML."""
    known = {}
    for one in _signature(function).parameters.values():
        if one.name != "self" and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            name = _SPELLED.get(one.name, one.name.rstrip("_"))
            kind = TEXT if one.name in _AS_TEXT else kind_of(one.annotation)
            known[name] = Parameter(name, one.name, kind, one.default is one.empty)
    return known


def values(function: Callable[..., Any]) -> Parameter | None:
    """Return the parameter for any number of values, or None. In YAML it is a list; a mapping names the values where keywords do."""
    all = [*_signature(function).parameters.values()]
    several = next((one for one in all if one.kind is one.VAR_POSITIONAL), None)
    if several is None:
        return None
    named = any(one.kind is one.VAR_KEYWORD for one in all)
    kind = STREAMS if _options(several.annotation) & _STREAMS else COLUMNS if named else ONE_OR_MORE
    return Parameter(several.name, several.name, kind, needed=True)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:  # a name that only type checkers see
        return inspect.signature(function)


# `first.join(second)` is `join: {with: second}` after `from: first`.
_SPELLED = {"other": "with"}

# Parameters that are texts in YAML, although Python also takes an object: a schema, an output of a program.
_AS_TEXT = ("schema", "output_")


def arguments(entries: Table, what: str, known: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the arguments in a mapping by their names in Python; empty optional ones are left out."""
    values = {}
    for name, parameter in known.items():
        value = entries.values.get(name)
        if value is None or (isinstance(value, Scalar) and value.empty and not parameter.needed):
            continue
        if parameter.kind is None:
            raise wanted(f"`{name}` of {what}", "a Python function", value, "write the job in Python")
        values[parameter.python] = parameter.kind.read(value, f"`{name}` of {what}")
    return values


def kind_of(hint: Any) -> Kind | None:
    """Return the kind of an annotation; None if only Python has such values."""
    options = _options(hint)
    origins = {typing.get_origin(option) or option for option in options}
    if origins & _STREAMS:
        return STREAM
    if collections.abc.Callable in origins:
        return None
    if collections.abc.Mapping in origins:
        return NAMES_OR_COLUMNS if str in options else NAMES if options == {Mapping[str, str]} else MAP
    lists = [option for option in options if (typing.get_origin(option) or option) in _LISTS]
    if lists:
        of = {one for option in lists for part in typing.get_args(option) for one in _options(part)}
        if not of & {str, Column}:
            return LIST
        if str in options:
            return TEXTS
        return COLUMNS if Column in of and collections.abc.Iterable in origins else LIST_OF_TEXTS
    return next((kind for plain, kind in _PLAIN.items() if plain in options), ANY)


def _options(hint: Any) -> set[Any]:
    """Return the types of a union, or the one type."""
    return set(typing.get_args(hint)) if typing.get_origin(hint) in (Union, types.UnionType) else {hint}


def _flag(value: Value, what: str) -> bool:
    if not isinstance(value, Scalar) or value.text not in ("true", "false"):
        raise wanted(what, "true or false", value)
    return value.text == "true"


def _whole(value: Value, what: str) -> int:
    if not isinstance(value, Scalar) or not _INT.fullmatch(value.text):
        raise wanted(what, "a whole number", value)
    return int(value.text)


def _number(value: Value, what: str) -> float:
    if not isinstance(value, Scalar) or not (_INT.fullmatch(value.text) or _FLOAT.fullmatch(value.text)):
        raise wanted(what, "a number", value)
    return float(value.text)


def _list_of_texts(value: Value, what: str) -> list[str]:
    return [text(item, f"each item of {what}") for item in items(value, what)]


def _texts(value: Value, what: str) -> str | list[str]:
    return text(value, what) if isinstance(value, Scalar) else _list_of_texts(value, what)


def _map(value: Value, what: str) -> dict[str, Any]:
    return {key: anything(item, f"`{key}` of {what}") for key, item in table(value, what).values.items()}


def _stream(value: Value, what: str) -> Reference:
    if not isinstance(value, Scalar) or value.empty:
        raise wanted(what, "the name of a source or view", value)
    return Reference(value.text, value.site)


def _streams(value: Value, what: str) -> list[Reference]:
    return [_stream(item, f"each item of {what}") for item in (value.items if isinstance(value, Items) else (value,))]


def _columns(value: Value, what: str) -> list[Column | str]:
    """Read columns, in order: a text, a mapping of names to texts, or a list of these."""
    expressions: list[Column | str] = []
    for item in value.items if isinstance(value, Items) else (value,):
        if isinstance(item, Table):
            expressions += [of_text(text(one, f"`{name}` of {what}")).alias(name) for name, one in item.values.items()]
        else:
            expressions.append(text(item, f"each column of {what}"))
    return expressions


def anything(value: Value, what: str) -> Any:
    """Read a value by its form: a list, a mapping, true, false, null, a number without leading zeros, else a text."""
    if isinstance(value, Items):
        return [anything(item, what) for item in value.items]
    if isinstance(value, Table):
        return _map(value, what)
    if value.quoted:
        return value.text
    if value.empty or value.text in ("true", "false"):
        return {"true": True, "false": False}.get(value.text)
    if _INT.fullmatch(value.text):
        return int(value.text)
    return float(value.text) if _FLOAT.fullmatch(value.text) else value.text


_INT = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)")
_STREAMS = {Self, Stream, Outside}
"""The annotations of parameters that take a stream or an external table; verbs use `Self`."""
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)

# For editors: a number or truth value is a valid text, and a variable may replace a number or truth value.
_WORD: Json = {"type": ["string", "number", "boolean"]}
_VARIABLE: Json = {"type": "string", "pattern": "\\$\\{"}


def or_variable(**rules: Any) -> Json:
    """Return the schema of a value by these rules, or of a variable in its place."""
    return {"anyOf": [rules, _VARIABLE]}


def _list(of: Json) -> Json:
    return {"type": "array", "items": of}


def _one_or_more(*of: Json) -> Json:
    return {"anyOf": [*of, _list({"anyOf": list(of)} if len(of) > 1 else of[0])]}


TEXT = Kind(text, _WORD)
FLAG = Kind(_flag, or_variable(type="boolean"))
WHOLE = Kind(_whole, or_variable(type="integer"))
NUMBER = Kind(_number, or_variable(type="number"))
TEXTS = Kind(_texts, _one_or_more(_WORD))
LIST_OF_TEXTS = Kind(_list_of_texts, _list(_WORD))
MAP = Kind(_map, {"type": "object"})
LIST = Kind(lambda value, what: [anything(item, what) for item in items(value, what)], {"type": "array"})
ANY = Kind(anything, {})
STREAM = Kind(_stream, {"type": "string"})
STREAMS = Kind(_streams, _one_or_more({"type": "string"}))
COLUMNS = Kind(_columns, _one_or_more(_WORD, {"type": "object", "additionalProperties": _WORD}))
ONE_OR_MORE = Kind(
    lambda value, what: _list_of_texts(value, what) if isinstance(value, Items) else [text(value, what)], _one_or_more(_WORD)
)
NAMES = Kind(
    lambda value, what: {key: text(item, f"`{key}` of {what}") for key, item in table(value, what).values.items()},
    {"type": "object", "additionalProperties": _WORD},
)

NAMES_OR_COLUMNS = Kind(
    lambda value, what: NAMES.read(value, what) if isinstance(value, Table) else _texts(value, what),
    {"anyOf": [TEXTS.schema, NAMES.schema]},
)

_PLAIN: Mapping[Any, Kind] = {str: TEXT, bool: FLAG, int: WHOLE, float: NUMBER}
