"""Other paths of a job's sources and sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.errors import HeadraceError
from headrace.plan import DisplayNames, Plan
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


def _alive(new: Plan, old: Plan, moved: set[str]) -> Plan:
    """Return the plan with the connectors' own objects from the plan it was made from, where no path was changed."""
    objects = {node: getattr(old.nodes[str(node.name)], "live", None) for node in new.nodes.values() if node.name not in moved}
    kept = {node: live for node, live in objects.items() if live is not None}
    return new.changed({node: replace(node, live=live) for node, live in kept.items()})  # type: ignore[call-arg]  # these have the field
