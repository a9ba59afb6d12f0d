"""Schemas: the columns and types of every node, found by Spark in one pass over the plan, and every error in its expressions."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from headrace.analysis.faults import Fault, error_of
from headrace.errors import HeadraceError, Site
from headrace.jvm.frames import java_session
from headrace.jvm.session import jvm, session
from headrace.ops.operator import operator
from headrace.plan import DisplayNames, Fact, Plan, fact
from headrace.plan.meaning import MEANING
from headrace.schema import Struct, parse_schema


class ImplicitCast(NamedTuple):
    """A cast of a string that Spark adds to an expression and the user did not write."""

    node: str
    site: Site | None
    message: str


@dataclass(frozen=True)
class Schemas:
    """The result of the check: the schema of each node and of each further output, and the key of each operator.

    * `unsteady`: the expressions of a node that have another value each time they are evaluated, such as `rand()`
    * `timed`: those with the time of the epoch, such as `current_timestamp()`, which is the same when the epoch is run again
    * `total`: the filters whose conditions have a value on every row, whatever it holds
    * `outside`: the functions that a node calls and that are not part of Spark
    * `casts`: strings that an expression compares with another type or computes with
    * `storage`: the parts of an aggregate, each with what its state holds for a group: "constant", "append" (constant while rows are only
      inserted) or "values" (the distinct values). For a program, its cells that are aggregates: "values" also where Spark does not state
      how large they may become
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


@dataclass(frozen=True)
class _Checked:
    """What Spark was asked about each node, and its answer."""

    requests: Mapping[str, Any]
    answer: Mapping[str, Any]


_NOTHING = _Checked({}, {})


def check(plan: Plan, origin: Plan | None = None) -> Schemas:
    """Return the schemas of a plan, or raise all errors in its expressions as one. Starts the session.

    `origin`: the plan that this one was rewritten from, or is a part of. Spark is not asked again about the nodes that both have.

    The result is kept with the plan, unless an expression calls a function from outside Spark: the session may have registered another one
    under its name since.
    """
    schemas: Schemas | None = plan.learnt.get(Schemas)
    if schemas is None:
        checked = _ask(plan, _NOTHING if origin is None else origin.learnt.get(_Checked, _NOTHING))
        schemas = _schemas(plan, checked.answer)
        if not schemas.outside:
            plan.learnt[Schemas] = schemas
            plan.learnt[_Checked] = checked
    return schemas


def _ask(plan: Plan, origin: _Checked) -> _Checked:
    """Ask Spark about the nodes of a plan that its origin does not have."""
    spark = session()
    requests = {name: operator(node).check_request() for name, node in plan.nodes.items()}
    same = _same(plan, requests, origin.requests)
    known = _part(origin.answer, same)
    schemas = known.get("schemas", {})
    others = [node for name, node in plan.nodes.items() if name not in same]
    inputs = dict.fromkeys(operator(one).checked_as for node in others for one in node.inputs)
    nodes = [{"id": id, "known": schemas[id]} for id in inputs if id in schemas]
    nodes += [part for node in others if (part := requests[str(node.name)])]
    request = json.dumps({"settings": {**MEANING, **plan.settings}, "nodes": nodes})
    answer = json.loads(jvm(spark).headrace.check.Check.check(java_session(spark), request))
    if answer["errors"]:
        raise DisplayNames.of(plan).error(_all([_error(plan, error, answer["schemas"]) for error in answer["errors"]]))
    return _Checked(requests, _joined(known, answer))


def _same(plan: Plan, requests: Mapping[str, Any], earlier: Mapping[str, Any]) -> set[str]:
    """Return the nodes whose request, and those of all that they come from, equal the earlier ones."""
    same: set[str] = set()
    for name, node in plan.nodes.items():
        if name in earlier and requests[name] == earlier[name] and all(str(one.name) in same for one in node.inputs):
            same.add(name)
    return same


def _part(answer: Mapping[str, Any], nodes: Container[str]) -> Mapping[str, Any]:
    """Return the part of an answer that is about some nodes."""

    def about(one: Any) -> bool:
        id = one["node"] if isinstance(one, Mapping) else one
        return id.partition("#")[0] in nodes

    return {
        name: {id: one for id, one in part.items() if about(id)} if isinstance(part, Mapping) else [one for one in part if about(one)]
        for name, part in answer.items()
    }


def _joined(known: Mapping[str, Any], answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer together with what was known before."""
    joined: dict[str, Any] = {}
    for name, part in answer.items():
        joined[name] = {**known.get(name, {}), **part} if isinstance(part, Mapping) else [*known.get(name, ()), *part]
    return joined


@fact("schema")
def schema_fact(plan: Plan) -> Mapping[str, Fact]:
    """Return the schema of each node, as DDL."""
    return {name: Fact(schema.ddl, schema.ddl) for name, schema in check(plan).of.items()}


def _schemas(plan: Plan, answer: Mapping[str, Any]) -> Schemas:
    read = {name: parse_schema(ddl) if ddl else Struct(()) for name, ddl in answer["schemas"].items()}
    of = {name: read[operator(node).checked_as] for name, node in plan.nodes.items()}
    outputs = {
        (node, output): schema for (node, mark, output), schema in ((name.partition("#"), schema) for name, schema in read.items()) if mark
    }
    keys = {name: parse_schema(ddl) if ddl else Struct(()) for name, ddl in answer["keys"].items()}
    unsteady: dict[str, tuple[str, ...]] = {}
    timed: dict[str, tuple[str, ...]] = {}
    casts: list[ImplicitCast] = []
    for warning in answer["warnings"]:
        if warning["class"] == "TEXT_COLUMN":
            casts.append(_cast(plan, warning))
            continue
        kind = timed if warning["class"] == "PROCESSING_TIME" else unsteady
        kind[warning["node"]] = (*kind.get(warning["node"], ()), warning["text"])
    outside = {node: tuple(names) for node, names in answer["outside"].items()}
    storage = {node: tuple((sql, kept) for sql, kept in parts) for node, parts in answer["storage"].items()}
    return Schemas(of, outputs, keys, unsteady, timed, frozenset(answer["total"]), outside, tuple(dict.fromkeys(casts)), storage)


def _cast(plan: Plan, warning: Mapping[str, Any]) -> ImplicitCast:
    node = plan.nodes.get(warning["node"])
    message = warning["message"] if node is None else operator(node).as_written(warning["message"])
    return ImplicitCast(warning["node"], Site.parse(warning["site"]) if warning["site"] else None, message)


def _error(plan: Plan, error: Mapping[str, Any], schemas: Mapping[str, str]) -> HeadraceError:
    named = plan.nodes.get(error["node"])
    node = None if named is None else operator(named)
    site = Site.parse(error["site"]) if error["site"] else None
    if node is not None and node.site is not None and (site is None or str(node.site) == str(site)):
        site = node.site
    schema = Struct(())
    if node is not None and node.texts_over is not None:
        ddl = schemas.get(operator(node.texts_over).checked_as)
        schema = parse_schema(ddl) if ddl else schema
    fault = Fault.from_json(error, site, schema, node is not None and node.texts_of_groups)
    if node is not None and node.keyed_inputs and fault.condition == "KEYS_DIFFER" and "column" in fault.parameters:
        fault = replace(fault, message=_keys_by_input(node.keyed_inputs, fault.parameters["column"], fault.parameters["types"].split("; ")))
    if node is not None and node.key_pairs and fault.condition == "KEYS_DIFFER":
        left, right = node.key_pairs[int(fault.parameters["column"].removeprefix("key ")) - 1]
        fault = replace(fault, condition="JOINED_KEYS_DIFFER", parameters={**fault.parameters, "left": left, "right": right})
    problem = error_of(fault)
    if node is not None:
        problem.message, problem.hint = node.as_written(problem.message), problem.hint and node.as_written(problem.hint)
        problem.args = (problem.code, problem.message)
    return problem


def _keys_by_input(inputs: Mapping[str, Mapping[str, str]], column: str, types: list[str]) -> str:
    """Return the words for a key whose type differs between the inputs of a program."""
    main, *others = zip(inputs, types, strict=True)
    place = list(inputs[main[0]]).index(column)
    of_others = (f"`{list(inputs[name].values())[place]}` of the input `{name}` is {type}" for name, type in others)
    return ", ".join((f"the key `{inputs[main[0]][column]}` of the main input is {main[1]}", *of_others))


def _all(errors: list[HeadraceError]) -> HeadraceError:
    first, *rest = errors
    return HeadraceError(first.code, first.message, hint=first.hint, site=first.site, also=rest) if rest else first
