"""Sources that make other rows of the same data than in the checkpoint's version, because options decide how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from headrace import ports
from headrace.errors import HeadraceError
from headrace.ops import Source, sources_of
from headrace.plan import Node, Plan
from headrace.ports.options import restored
from headrace.schema import parse_schema
from headrace.spark.compile.origin import passed_or_output


def reread(plan: Plan, before: Mapping[str, Any]) -> dict[str, str]:
    """Return for each node that rows of such a source reach, except through programs, how the source is now read.

    `before`: the plan of the checkpoint.
    """
    known = {node["name"]: node for node in before["nodes"]}
    changes: dict[Node, str | None] = {
        source: other_reading(source, known.get(str(source.name))) for source in sources_of(plan.nodes.values())
    }
    behind: dict[str, str] = {}
    for name, node in plan.nodes.items():
        for one in node.inputs:
            if one in changes:
                how = changes[one]
            else:
                how = behind.get(str(one.name)) if passed_or_output(one) else None
            if how is not None:
                behind.setdefault(name, how)
    return behind


def other_reading(source: Source, before: Mapping[str, Any] | None) -> str | None:
    """Describe how a source is read differently from that of a stored plan; None if it is not, or if that is unknown."""
    stored = _stored(source, before)
    if stored is None:
        return None
    was, now = stored.read_as(), source.connect().read_as()
    other = [name for name in sorted({*was, *now}) if was.get(name) != now.get(name)]
    return f"{source.name} is read with a different {' and a different '.join(other)}" if other else None


def lost_position(source: Source, before: Mapping[str, Any] | None) -> str | None:
    """Explain why the position of a stored plan's source means nothing for this one; None if it is valid."""
    stored = _stored(source, before)
    if stored is None:
        return None
    was, now = stored.position_by(), source.connect().position_by()
    other = next((name for name in sorted(was.keys() & now.keys()) if was[name] != now[name]), None)
    if other is None:
        return None
    position = f"the position of {source.name} was recorded {_spelled(other, was[other])}"
    return f"{position}, and is not valid {_spelled(other, now[other])}"


def reads_elsewhere(source: Source, before: Mapping[str, Any] | None) -> str | None:
    """Describe where a source reads now and where it read before; None if that is the same."""
    stored = _stored(source, before)
    was, now = (None, None) if stored is None else (stored.reads_from(), source.connect().reads_from())
    return None if was == now else f"{source.name} now reads {now} instead of {was}"


def renamed(source: Source, gone: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the name of a source of a stored plan, among those that are gone, that has read what a source reads."""
    here = source.connect().reads_from()
    stored = {name: known for name, node in gone.items() if (known := _stored(source, node)) is not None}
    return None if here is None else next((name for name, known in stored.items() if known.reads_from() == here), None)


def _stored(source: Source, before: Mapping[str, Any] | None) -> ports.Source | None:
    """Return the source of a stored plan, if it has the same connector."""
    if before is None or before["op"] != "source" or before["connector"] != source.connector:
        return None
    with suppress(HeadraceError, KeyError):  # options of an earlier version that this one does not accept
        schema = parse_schema(before["schema"])
        return restored(ports.source_class(source.connector), f"read.{source.connector}", before["options"], schema)
    return None


def _spelled(name: str, value: Any) -> str:
    return f"without {name}=" if value is None else f"with {name}={value!r}"
