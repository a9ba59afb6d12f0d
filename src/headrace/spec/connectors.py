"""The options of sources, lookups and sinks in YAML: those of the connector's constructor, and those that every connector takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from headrace.ops.asking import asking
from headrace.ops.feeding import OPTIONS as FEEDING
from headrace.ops.modes import MODES
from headrace.ports import REFUSED, lookup_class, sink_class, source_class
from headrace.ports.option import without_marks
from headrace.ports.registry import names_with
from headrace.spec import kinds
from headrace.spec.kinds import Json, Kind, Parameter, parameters

_FEEDING: Mapping[str, Kind] = {name: kinds.FLAG if name == "trusted" else kinds.TEXTS if name == "key" else kinds.TEXT for name in FEEDING}

_WORDS: Mapping[str, tuple[str, ...]] = {"mode": MODES, "on_refused": REFUSED}
"""Options of sinks beside those of their connector, and the values of each."""


@cache
def source(connector: str) -> Mapping[str, Parameter]:
    """Return the options of a source, except its watermark."""
    cls = source_class(connector)
    more = _FEEDING if cls.feeds else {}
    return parameters(cls) | {name: Parameter(name, name, kind, needed=False) for name, kind in more.items()}


@cache
def sink(connector: str) -> Mapping[str, Parameter]:
    """Return the options of a sink."""
    cls = sink_class(connector)
    more = ("mode",) if cls.on_refused is None else tuple(_WORDS)
    return parameters(cls) | {name: Parameter(name, name, kinds.TEXT, needed=False) for name in more}


@cache
def lookup(connector: str) -> Mapping[str, Parameter]:
    """Return the options of an external table, with those of how it is queried."""
    constant = Parameter("constant", "constant", kinds.FLAG, needed=False)
    return parameters(lookup_class(connector)) | {"constant": constant} | parameters(asking)


def schemas(kind: str, known: Mapping[str, Json], only: str = "") -> Json:
    """Return the JSON schema of all sources, lookups or sinks. `known` has the keys that each takes; `only` limits it to a package's."""
    ways = []
    for name in names_with(kind):
        find, options_of = _KINDS[kind]
        cls, takes = find(name), options_of(name)
        if not cls.__module__.startswith(only) or any(one.kind is None and one.needed for one in takes.values()):
            continue
        options = {one.name: _schema(cls, one.name, one.kind) for one in takes.values() if one.kind}
        ways.append(
            {
                "if": {"properties": {"connector": {"const": name}}},
                "then": {
                    "properties": {**known, **options},
                    "required": [one.name for one in takes.values() if one.needed],
                    "additionalProperties": False,
                },
            }
        )
    names = [way["if"]["properties"]["connector"]["const"] for way in ways]  # type: ignore[index]
    required = [name for name in ("from", "connector") if name in known]
    return {"type": "object", "properties": {**known, "connector": {"enum": names}}, "required": required, "allOf": ways}


def _schema(cls: type[Any], name: str, kind: Kind) -> Json:
    """Return the schema of an option, with the values and the description that its connector declares."""
    if name in _WORDS:
        return {**kind.schema, "enum": list(_WORDS[name])}
    one = next((one for one in getattr(cls, "declared", {}).values() if one.name == name), None)
    if one is None:
        return kind.schema
    described: Json = {"description": without_marks(one.line)}
    if one.among:
        return {**kinds.or_variable(enum=list(one.among)), **described}
    return {**(kind.schema if one.least is None else kinds.or_variable(type="integer", minimum=one.least)), **described}


_KINDS: Mapping[str, tuple[Callable[[str], type[Any]], Callable[[str], Mapping[str, Parameter]]]] = {
    "Source": (source_class, source),
    "Lookup": (lookup_class, lookup),
    "Sink": (sink_class, sink),
}
