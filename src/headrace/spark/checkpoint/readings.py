"""Sources that make other rows of what lies there than the version of the checkpoint did: their options say how it is read."""

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
    """Each node to which rows of such a source come, but for programs on the way, -> in words, how its source is read now.

    `before`: the plan of the checkpoint.
    """
    known = {node["name"]: node for node in before["nodes"]}
    said: dict[Node, str | None] = {
        source: other_reading(source, known.get(str(source.name))) for source in sources_of(plan.nodes.values())
    }
    behind: dict[str, str] = {}
    for name, node in plan.nodes.items():
        for one in node.inputs:
            if one in said:
                how = said[one]
            else:
                how = behind.get(str(one.name)) if passed_or_output(one) else None
            if how is not None:
                behind.setdefault(name, how)
    return behind


def other_reading(source: Source, before: Mapping[str, Any] | None) -> str | None:
    """How a source is read otherwise than the one of a stored plan, in words; None where it is not, or where nobody knows."""
    if before is None or before["op"] != "source" or before["connector"] != source.connector:
        return None
    with suppress(HeadraceError, KeyError):  # options of an earlier version, which this one does not take any more
        schema = parse_schema(before["schema"])
        was = restored(ports.source_class(source.connector), f"read.{source.connector}", before["options"], schema).read_as()
        now = source.connect().read_as()
        other = [name for name in sorted({*was, *now}) if was.get(name) != now.get(name)]
        return f"{source.name} is read with another {' and another '.join(other)}" if other else None
    return None
