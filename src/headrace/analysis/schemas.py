"""Schemas: the columns and types of every node, found by Spark in one pass over the plan, and every error in its texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.analysis.faults import Fault, error_of
from headrace.analysis.relation import relation, relation_inputs
from headrace.errors import HeadraceError, Site
from headrace.jvm.frames import java_session
from headrace.jvm.session import jvm, session
from headrace.ops import AsOf, OutputOf, Program, Sink, Source, Union
from headrace.ops.source import DEAD_SCHEMA as DEAD
from headrace.plan import DisplayNames, Fact, Node, Plan, Role, fact, steps
from headrace.plan.meaning import MEANING
from headrace.schema import Struct, parse_schema

Json = dict[str, Any]


class ImplicitCast(NamedTuple):
    """A column of text that Spark casts for a node, without a word of the user."""

    node: str
    site: Site | None
    message: str


@dataclass(frozen=True)
class Schemas:
    """What the check found: the schema of each node, of each further output of an operator, and the key of each operator.

    `unsteady` are the texts of a node that give something else when they are evaluated again, such as `rand()`; `timed` those that give
    the time of the epoch, such as `current_timestamp()`, the same when the epoch is run again; `total` the filters whose conditions have a
    value on every row, whatever is in it; `outside` the functions that a node calls and that are not Spark's own; `casts` what a text
    compares or computes though it is a text; `storage` the parts of an aggregate, each with how much is kept of a group for it: "constant",
    "append" (constant while rows are only added) or "values" (those that differ).
    """

    of: Mapping[str, Struct]
    outputs: Mapping[tuple[str, str], Struct]
    keys: Mapping[str, Struct]
    unsteady: Mapping[str, tuple[str, ...]]
    timed: Mapping[str, tuple[str, ...]]
    total: frozenset[str]
    outside: Mapping[str, tuple[str, ...]]
    casts: tuple[ImplicitCast, ...] = ()
    storage: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def output(self, node: str, output: str) -> Struct:
        return self.of[node] if output == "main" else self.outputs[node, output]


def check(plan: Plan) -> Schemas:
    """The schemas of a plan; raises all errors in its texts as one. Starts the session.

    Spark is asked once: the answer stays with the plan. Only where a text calls functions that are not Spark's own it is asked each time,
    as the session may have others by their names since.
    """
    schemas: Schemas | None = plan.learnt.get(Schemas)
    if schemas is None:
        schemas = _ask(plan)
        if not schemas.outside:
            plan.learnt[Schemas] = schemas
    return schemas


def _ask(plan: Plan) -> Schemas:
    spark = session()
    request = json.dumps(
        {"settings": {**MEANING, **plan.settings}, "nodes": [asked for node in plan.nodes.values() if (asked := _asked(node))]}
    )
    answer = json.loads(jvm(spark).headrace.check.Check.check(java_session(spark), request))
    if answer["errors"]:
        raise DisplayNames.of(plan).error(_all([_error(plan, error, answer["schemas"]) for error in answer["errors"]]))
    return _schemas(plan, answer)


@fact("schema")
def schema_fact(plan: Plan) -> Mapping[str, Fact]:
    """The schema of each node, as DDL."""
    return {name: Fact(schema.ddl, schema.ddl) for name, schema in check(plan).of.items()}


def operator(node: Program) -> Json:
    """A program as the check and the kernel read it, without numbers, types and routes."""
    traced = node.traced.to_json()
    # The tracer names a late handler by its input, the kernel by the output where such rows go without it.
    handlers = [{**handler, "on": _late(handler["on"])} if handler["kind"] == "late" else handler for handler in traced["handlers"]]
    return {
        "name": node.name,
        "site": _text(node.site),
        "kind": "program",
        "order": node.order,
        "clock": node.clock,
        "inputs": [
            {"name": name, "side": side, "from": stream.name, "key": [list(item) for item in key], "broadcast": name in node.broadcast}
            for side, (name, stream, key) in enumerate(zip(node.names, node.streams, node.keys, strict=True))
        ],
        "cells": traced["cells"],
        "handlers": handlers,
        "outputs": [{"name": output, "time": node.output_time(output)} for output in node.outputs],
    }


def _late(on: str) -> str:
    return {"event": "late", "late": "late"}.get(on, on if on.startswith("late_") else f"late_{on}")


def _asked(node: Node) -> Json | None:
    """What is asked about a node; nothing about one whose schema is another's."""
    if isinstance(node, Source):
        mark = None if node.watermark is None else node.watermark.column
        return {"id": node.name, "site": _text(node.site), "schema": node.schema, "watermark": mark}
    if isinstance(node, Union):
        return {"id": node.name, "site": _text(node.site), "union": [_feeding(branch) for branch in node.branches]}
    if isinstance(node, Program):
        asked = operator(node)
        for one, stream in zip(asked["inputs"], node.streams, strict=True):
            one["from"] = _feeding(stream)
        return {"id": node.name, "operator": asked}
    if isinstance(node, OutputOf):
        if isinstance(node.input, Program) or node.late is not None:
            return None
        late = node.input.late(node.output) if isinstance(node.input, AsOf) else None
        if late is not None:
            return {"id": node.name, "site": _text(node.site), "input": _feeding(late), "steps": []}
        # all other outputs are dead letters, which have one fixed schema
        return {"id": node.name, "schema": DEAD}
    if node.role in (Role.STATEFUL, Role.LOOKUP):
        inputs = [_feeding(before) for before in relation_inputs(node)]
        return {"id": node.name, "site": _text(node.site), "relation": node.op, "inputs": inputs, **relation(node)}
    if isinstance(node, Sink):
        return None
    return {
        "id": node.name,
        "site": _text(node.site),
        "input": _feeding(node.inputs[0]),
        "steps": [step.to_json(str(node.name)) for step in steps(node)],
    }


def _feeding(node: Node) -> str:
    """The id under which the check knows the rows of a node."""
    if isinstance(node, OutputOf) and node.late is not None:
        return _feeding(node.late)
    if isinstance(node, OutputOf) and isinstance(node.input, Program):
        return str(node.input.name) if node.output == "main" else f"{node.input.name}#{node.output}"
    return str(node.name)


def _schemas(plan: Plan, answer: Mapping[str, Any]) -> Schemas:
    read = {name: parse_schema(ddl) if ddl else Struct(()) for name, ddl in answer["schemas"].items()}
    found: dict[str, Struct] = {}
    for name, node in plan.nodes.items():
        found[name] = read[_feeding(node.input if isinstance(node, Sink) else node)]
    outputs = {
        (node, output): schema for (node, mark, output), schema in ((name.partition("#"), schema) for name, schema in read.items()) if mark
    }
    keys = {name: parse_schema(ddl) if ddl else Struct(()) for name, ddl in answer["keys"].items()}
    unsteady: dict[str, tuple[str, ...]] = {}
    timed: dict[str, tuple[str, ...]] = {}
    casts: list[ImplicitCast] = []
    for warning in answer["warnings"]:
        if warning["class"] == "TEXT_COLUMN":
            casts.append(ImplicitCast(warning["node"], Site.parse(warning["site"]) if warning["site"] else None, warning["message"]))
            continue
        kind = timed if warning["class"] == "PROCESSING_TIME" else unsteady
        kind[warning["node"]] = (*kind.get(warning["node"], ()), warning["text"])
    outside = {node: tuple(names) for node, names in answer["outside"].items()}
    storage = {node: tuple((sql, kept) for sql, kept in parts) for node, parts in answer["storage"].items()}
    return Schemas(found, outputs, keys, unsteady, timed, frozenset(answer["total"]), outside, tuple(dict.fromkeys(casts)), storage)


def _error(plan: Plan, error: Mapping[str, Any], schemas: Mapping[str, str]) -> HeadraceError:
    node = plan.nodes.get(error["node"])
    site = Site.parse(error["site"]) if error["site"] else None
    if node is not None and node.site is not None and (site is None or str(node.site) == str(site)):
        site = node.site
    columns: tuple[str, ...] = ()
    if node is not None and not isinstance(node, Program) and node.inputs:
        ddl = schemas.get(_feeding(node.inputs[0]))
        columns = parse_schema(ddl).names if ddl else ()
    return error_of(Fault.from_json(error, site, columns))


def _all(errors: list[HeadraceError]) -> HeadraceError:
    first, *rest = errors
    return HeadraceError(first.code, first.message, hint=first.hint, site=first.site, also=rest) if rest else first


def _text(site: Site | None) -> str | None:
    return None if site is None else str(site)
