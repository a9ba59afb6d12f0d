"""A query document as lines for people: what comes from where, by which key, through which steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headrace.spark.compile.document import build
from headrace.spark.compile.identity import DEAD_LETTERS, Identity, QueryIdentity, identify
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query
from headrace.syntax import plain_name

_IN_THE_HEAD = {"op", "name", "outputs", "key", "kind", "inputs", "level"}
_LEFT_OUT = {"site", "sites", "schema", "ask", "layout", "broadcast", "table"}
"""Places, and what the plan says already."""


def shown(job: SparkJob) -> str:
    """The documents of a job's queries."""
    identity, _ = identify(Identity(), job.shapes)
    return "\n".join(line for query in job.queries for line in _Document(job, query, identity.query(query.name)).lines())


class _Document:
    """One document. What connectors say of sources, sinks and lookups is left out of it."""

    def __init__(self, job: SparkJob, query: Query, identity: QueryIdentity) -> None:
        live = identity.live()
        self._content = build(query, identity, job.at, {str(one.name): {} for one in query.sources}, {name: {} for name in live}, 2)
        self._names = {entry.op: job.shown(name) for name, entry in live.items()}
        self._shown = job.shown
        operators = (one for level in self._content["levels"] for one in level)
        self._sides = {(one["op"], side["side"]): side["name"] for one in operators for side in one["inputs"] if len(one["inputs"]) > 1}

    def lines(self) -> Iterator[str]:
        clock = self._content["clock"]
        yield f"query {self._content['query']}" + ("" if clock == "none" else f" by {clock} time")
        for source in self._content["sources"]:
            yield f"source {self._shown(source['name'])}{self._turn(source)}"
            yield from self._routes(source["routes"], 1)
        rounds = self._content.get("lookups", [])
        for depth, level in enumerate([[], *self._content["levels"]]):
            for operator in level:
                yield f"level {depth}: {operator['kind']} {self._name(operator)}, key {operator['key'] or '()'}"
                yield from self._inside(operator)
            for lookup in (one for nodes in rounds[depth] for one in nodes) if rounds else ():
                yield f"behind level {depth}: lookup {self._name(lookup)}, key {lookup['key']}"
                yield from self._inside(lookup)
        for sink in self._content["sinks"]:
            if sink["name"] != DEAD_LETTERS:
                yield f"sink {self._name(sink)}: {sink['schema']}"

    def _turn(self, source: Mapping[str, Any]) -> str:
        """Which sources it waits for, and from which time on its rows leave the watermark as it is."""
        waits = ", ".join(self._shown(name) for name in source.get("after") or ())
        before = (source.get("watermark") or {}).get("before_us")
        return (f", after {waits}" if waits else "") + (f", watermark by rows before {before} µs" if before is not None else "")

    def _name(self, one: Mapping[str, Any]) -> str:
        return self._names[one["op"]]

    def _inside(self, operator: Mapping[str, Any]) -> Iterator[str]:
        """Its arguments, and those of its outputs that somebody reads."""
        meets = operator.get("kind") in ("join", "join_asof", None)
        for name, value in operator.items():
            if name == "keys" and meets:
                yield f"  keys: {', '.join(f'{left} = {right}' for left, right in value) or 'none'}"
            elif name not in _IN_THE_HEAD:
                yield from _lines(name, value, 1)
        for output in operator["outputs"]:
            if output["routes"] and [self._names[route["to"]] for route in output["routes"]] != [DEAD_LETTERS]:
                yield f"  output {output['name']}" + (f", event time {output['time']}" if output["time"] else "")
                yield from self._routes(output["routes"], 2)

    def _routes(self, routes: Iterable[Mapping[str, Any]], depth: int) -> Iterator[str]:
        for route in routes:
            yield "  " * depth + f"to {self._names[route['to']]}{self._how(route)}"
            yield from ("  " * (depth + 1) + _step(step) for step in route["steps"])

    def _how(self, route: Mapping[str, Any]) -> str:
        """The side, how rows find their group, and in which order they come."""
        if route["delivery"] == "none":
            return ""
        side = self._sides.get((route["to"], route["side"]))
        by = f" by {_inline(route['key'])}" if route["key"] else ""
        more = [f"{name} {route[name]}" for name in ("time", "order") if route.get(name)] + (["combined"] if route.get("combines") else [])
        return (f" as {side}" if side else "") + ", ".join([f", {route['delivery']}{by}", *more])


def _step(step: Mapping[str, Any]) -> str:
    fields = {name: value for name, value in step.items() if name not in ("node", "site") and not _is_nothing(value)}
    return ", ".join(name if value is True else f"{name} {_inline(value)}" for name, value in fields.items())


def _lines(name: str, value: Any, depth: int) -> Iterator[str]:
    """A name and its value: in one line, or with a line for each part that has parts."""
    if name in _LEFT_OUT or _is_nothing(value):
        return
    if _is_plain(value):
        yield "  " * depth + (name if value is True else f"{name}: {_inline(value)}")
        return
    yield "  " * depth + name
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _lines(key, one, depth + 1)
    else:
        for one in value:
            yield from _item(one, depth + 1)


def _item(one: Any, depth: int) -> Iterator[str]:
    """One of several: its plain parts in a line, the others below."""
    if isinstance(one, list):
        plain, parts = [part for part in one if _is_plain(part)], [part for part in one if not _is_plain(part)]
        yield "  " * depth + f"- {_inline(plain)}"
        for part in parts:
            for each in part if isinstance(part, list) else [part]:
                yield from _item(each, depth + 1)
        return
    yield "  " * depth + "- " + _inline({name: value for name, value in one.items() if _is_plain(value)})
    for name, value in one.items():
        if not _is_plain(value):
            yield from _lines(name, value, depth + 1)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(not isinstance(one, dict) and _is_plain(one) for one in value)
    return not isinstance(value, dict)


def _is_nothing(value: Any) -> bool:
    """What is not worth a word; a 0 is."""
    return value is None or value is False or value in ([], {}, "")


def _inline(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, dict):
        fields = {name: one for name, one in value.items() if name not in _LEFT_OUT and not _is_nothing(one)}
        return ", ".join(name if one is True else f"{name} {_inline(one)}" for name, one in fields.items())
    if isinstance(value, list):
        return ", ".join(map(_part, value))
    return str(value)


def _part(value: Any) -> str:
    """One of several: a name and another text are `text AS name`, and three texts are an ordering."""
    match value:
        case [str(name), str(text)]:
            return name if name == plain_name(text) else f"{text} AS {name}"
        case [str(text), "asc" | "desc" as direction, str(nulls)]:
            return f"{text} {direction} nulls {nulls}"
    return _inline(value)
