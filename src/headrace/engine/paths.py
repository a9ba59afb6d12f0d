"""Other paths of a job's sources and sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.errors import HeadraceError
from headrace.ops import Sink, sinks_of, sources_of
from headrace.plan import DisplayNames, Node, Plan
from headrace.schema import Struct
from headrace.spark.checkpoint.forms import form_of
from headrace.spelling import suggestion


def with_paths(plan: Plan, paths: Mapping[str, str]) -> Plan:
    """Return the plan with other paths of sources and sinks, by name; raises UNKNOWN_PATH."""
    shown = DisplayNames.of(plan)
    paths = {shown.stored(name): path for name, path in paths.items()}
    data = plan.to_json()
    known = {item["name"]: item for item in data["nodes"] if "path" in item.get("options", {})}
    for name, path in paths.items():
        if name not in known:
            has = ", ".join(map(shown, known)) or "none"
            hint = suggestion(name, known, f"sources and sinks with a path: {has}")
            raise HeadraceError("UNKNOWN_PATH", f"the job {plan.job} has no source or sink `{name}` with a path", hint=hint)
        known[name]["options"] = {**known[name]["options"], "path": path}
    moved = Plan.from_json(data)
    # Objects of this process (rows of memory sources, functions) are not in the JSON, and are kept.
    return _alive(moved, plan, set(paths))


def at_places_of(plan: Plan, other: Plan) -> Plan:
    """Return the plan with each source and sink at the place of that of its name in another version: a sink, if it writes its rows in the
    same form.
    """
    paths = {str(source.name): source.options["path"] for source in sources_of(other.nodes.values()) if "path" in source.options}
    moved: dict[Node, Node] = {
        source: replace(source, options={**source.options, "path": paths[str(source.name)]}, live=None)
        for source in sources_of(plan.nodes.values())
        if "path" in source.options and paths.get(str(source.name), source.options["path"]) != source.options["path"]
    }
    outputs = {str(sink.name): sink for sink in sinks_of(other.nodes.values())}
    for sink in sinks_of(plan.nodes.values()):
        there = outputs.get(str(sink.name))
        if there is not None and sink.options != there.options and _form(sink) == _form(there):
            moved[sink] = _at(sink, there)
    return plan.changed(moved)


def _at(sink: Sink, there: Sink) -> Sink:
    """Return a sink at the place of another one: with those of its options that name the place."""
    here = sink.connect().location
    options = dict(sink.options)
    for name, value in there.options.items():
        changed = replace(sink, options={**sink.options, name: value}, live=None)
        if sink.options.get(name) != value and changed.connect().location != here:
            options[name] = value
    return replace(sink, options=options, live=None)


def _form(sink: Sink) -> tuple[Any, ...]:
    """Return how a sink writes rows, without their columns."""
    connected = sink.connect()
    return sink.mode, connected.key, form_of(connected, sink.mode, Struct(()))


def _alive(new: Plan, old: Plan, moved: set[str]) -> Plan:
    """Return the plan with the connectors' own objects from the plan it was made from, where no path was changed."""
    objects = {node: getattr(old.nodes[str(node.name)], "live", None) for node in new.nodes.values() if node.name not in moved}
    kept = {node: live for node, live in objects.items() if live is not None}
    return new.changed({node: replace(node, live=live) for node, live in kept.items()})  # type: ignore[call-arg]  # these have the field
