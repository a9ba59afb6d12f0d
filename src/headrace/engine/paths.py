"""Other paths of a job's sources and sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.errors import HeadraceError
from headrace.ops import Sink, sinks_of
from headrace.plan import DisplayNames, Plan
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
    """Return the plan with each sink where the sink of that name in another version writes, if it writes its rows in the same form."""
    theirs = {str(sink.name): sink for sink in sinks_of(other.nodes.values())}
    moved = {
        sink: replace(sink, options=there.options, live=None)
        for sink in sinks_of(plan.nodes.values())
        if (there := theirs.get(str(sink.name))) is not None and sink.options != there.options and _form(sink) == _form(there)
    }
    return plan.changed(moved)


def _form(sink: Sink) -> tuple[Any, ...]:
    """Return how a sink writes rows, without their columns."""
    connected = sink.connect()
    return sink.mode, connected.key, form_of(connected, sink.mode, Struct(()))


def _alive(new: Plan, old: Plan, moved: set[str]) -> Plan:
    """Return the plan with the connectors' own objects from the plan it was made from, where no path was changed."""
    objects = {node: getattr(old.nodes[str(node.name)], "live", None) for node in new.nodes.values() if node.name not in moved}
    kept = {node: live for node, live in objects.items() if live is not None}
    return new.changed({node: replace(node, live=live) for node, live in kept.items()})  # type: ignore[call-arg]  # these have the field
