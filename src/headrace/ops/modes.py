"""The mode in which a stream is written to a sink, and the hints where it cannot be."""

from __future__ import annotations

import headrace.ports as ports
from headrace.errors import HeadraceError, PlanError, here
from headrace.ops.columns import label
from headrace.ops.facts.keys import known_keys
from headrace.ops.signatures import parameters
from headrace.plan import Node
from headrace.ports.options import wrong

MODES = ("append", "upsert", "changes")


def written(connected: ports.Sink, kind: str, mode: str | None, keyed: bool) -> str | None:
    """Return the mode in which a sink writes a stream, or None if it cannot.

    `kind` is that of the stream, `mode` the one that the user asks for, if any, and `keyed` whether there is a key.
    """
    accepts, with_key = connected.traits.accepts, connected.traits.keyed
    mode = mode or connected.mode
    if keyed or (mode == "upsert" and mode in accepts):
        mode = mode or ("append" if kind == "append" and "append" in with_key else "upsert")
        if not keyed or mode not in with_key:
            return None
        kind = "changes" if mode == "upsert" else kind
    # Rows have another shape as changes, so that mode has to be asked for.
    if mode is not None and as_rows(connected, mode):
        return mode
    mode = mode or kind
    return mode if mode in accepts and (kind, mode) != ("changes", "append") else None


def as_rows(connected: ports.Sink, mode: str) -> bool:
    """Return whether changes are written as rows with the change in a column, since rows can only be inserted into this sink."""
    accepts = connected.traits.accepts
    return mode == "changes" and mode not in accepts and "append" in accepts


def refused(input: Node, connected: ports.Sink, kind: str, mode: str | None) -> HeadraceError:
    """Return the error for a stream that a sink does not write in this mode."""
    keyed = bool(connected.key)
    hint = ", or ".join(_cures(input, connected, kind, mode, keyed)) or f"it accepts: {', '.join(connected.traits.accepts)}"
    if kind == "changes" and mode == "append" and (not keyed or mode in connected.traits.keyed):
        message = f"{label(input)} has retractions, and mode='append' accepts only insertions"
    elif keyed:
        return wrong(f"write.{connected.connector}: key and mode={mode!r} cannot be combined", hint)
    elif mode == "upsert" and _takes_key(connected):
        return wrong(f"write.{connected.connector}: mode='upsert' needs a key", hint)
    elif mode is not None:
        message = f"{connected.connector} cannot be written with mode={mode!r}"
    elif kind == "changes":
        unkeyed = " without a key" if _takes_key(connected) else ""
        message = f"{label(input)} has retractions, and {connected.connector}{unkeyed} can only append"
    else:
        message = f"{connected.connector} does not accept an append-only stream"
    return PlanError("SINK_KIND", message, hint=hint, site=here())


def _cures(input: Node, connected: ports.Sink, kind: str, mode: str | None, keyed: bool) -> list[str]:
    """Return what to write instead: only what the sink has and accepts for such a stream."""
    cures = []
    if mode is not None and written(connected, kind, None, keyed):
        cures.append("leave mode out")
    if keyed:
        return [*cures, "leave key out"] if written(connected, kind, mode, False) else cures
    if _takes_key(connected):
        kept = mode if written(connected, kind, mode, True) else None
        if written(connected, kind, kept, True) == "upsert":
            cures.append(f"replace rows by a key{', without mode' if kept != mode else ''}: {_key(input)}")
    if kind == "changes" and mode != "changes" and written(connected, kind, "changes", False):
        shown = ", each with the word insert or delete in the column _change" if as_rows(connected, "changes") else ""
        cures.append(f'write its changes{shown}: mode="changes"')
    return cures


def _takes_key(connected: ports.Sink) -> bool:
    return any(one.name == "key" for one in parameters(type(connected), "Sink"))


def _key(input: Node) -> str:
    """Return the option with a known unique key of a stream, if there is one."""
    known = min(known_keys(input), key=len, default=frozenset())
    columns = [f'"{name}"' for name in input.columns if name.lower() in known]
    return f"key={columns[0]}" if len(columns) == 1 else f"key=[{', '.join(columns)}]" if columns else 'key="..."'
