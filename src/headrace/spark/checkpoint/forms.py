"""The form in which a sink's rows are stored, and whether rows of this version of the job can join them.

The record keeps what `Sink.written_as` returned when rows were last written. A checkpoint of a version that did not keep it has the
options of its last plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from headrace import ports
from headrace.errors import HeadraceError
from headrace.ops.changes import CHANGE
from headrace.ops.sink import restored_sink
from headrace.schema import Array, Map, Struct, Type, parse_type

Form = Mapping[str, Any]
COLUMNS = "columns"
PLACES = "places"
"""The names of columns in their stored order, if readers depend on it."""
_GONE = "gone"


def form_of(sink: ports.Sink, mode: str, schema: Struct) -> Form:
    """Return the form of the rows that a sink of this version writes."""
    if not sink.traits.lasting:
        return {}
    # Changes may be written as added rows with a column for the kind of change.
    as_changes = mode == "append" and schema.get(CHANGE) is not None
    return {"connector": sink.connector, **sink.written_as("changes" if as_changes else mode, schema)}


def stored_form(node: Mapping[str, Any] | None) -> Form:
    """Return the form of the rows that a sink of a stored plan has written, as far as the plan shows it."""
    with suppress(HeadraceError, KeyError):  # its connector may not be installed here
        if node is not None:
            form = form_of(restored_sink(node["connector"], node["options"]), node["mode"], Struct(()))
            return {name: value for name, value in form.items() if (name, value) != ("mode", "append")}
    return {}


def joined(before: Form, now: Form) -> Form:
    """Return the form of stored rows after rows of this version have joined those before."""
    gone = {name: kind for name, kind in _ever(before).items() if _known(now.get(COLUMNS, {}), name) is None}
    places = {PLACES: max(before[PLACES], now[PLACES], key=len)} if PLACES in before and PLACES in now else {}
    return {**now, **places, **({_GONE: gone} if gone else {})}


def misfit(before: Form, now: Form) -> str | None:
    """Describe how new rows do not fit the stored ones: how those were written, and how the new ones would be. None if they fit."""
    for option, was in before.items():
        is_now = now.get(option, was)
        if option not in (COLUMNS, PLACES, _GONE) and was != is_now:
            return f"with {_shown(option, was)}, and new rows would be written with {_shown(option, is_now)}"
    was, is_now = (one.get(PLACES, []) for one in (before, now))
    if any(one.lower() != other.lower() for one, other in zip(was, is_now, strict=False)):
        return f"without column names as {', '.join(was)}, and new rows would be written as {', '.join(is_now)}"
    for name, kind in now.get(COLUMNS, {}).items():
        known = _known(_ever(before), name)
        if known and kind and _clash(parse_type(known), parse_type(kind)):
            return f"with {name} as {known}, and new rows would have it as {kind}"
    return None


def other_columns(before: Form, now: Form) -> Iterator[tuple[str, str]]:
    """Yield the columns of the new rows and of the stored ones, if they differ."""
    was, is_now = (list(one.get(COLUMNS, {})) for one in (before, now))
    if was and is_now and sorted(map(str.lower, was)) != sorted(map(str.lower, is_now)):
        yield ", ".join(is_now), ", ".join(was)


def _ever(before: Form) -> dict[str, str]:
    return {**before.get(_GONE, {}), **before.get(COLUMNS, {})}


def _known(columns: Mapping[str, str], name: str) -> str | None:
    return next((kind for one, kind in columns.items() if one.lower() == name.lower()), None)


def _clash(one: Type, other: Type) -> bool:
    """Return whether files with these two types cannot be read as one. A struct may gain and lose fields."""
    match one, other:
        case Struct(fields), Struct():
            return any(_clash(field.type, kind) for field in fields if (kind := other.get(field.name)) is not None)
        case Array(element), Array(element=theirs):
            return _clash(element, theirs)
        case Map(key, value), Map(key=their_key, value=their_value):
            return _clash(key, their_key) or _clash(value, their_value)
    return one != other


def _shown(option: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{option} {', '.join(f'{name}={item!r}' for name, item in value.items()) or 'of no kind'}"
    if isinstance(value, list):
        return f"{option} {', '.join(value)}" if value else f"no {option}"
    return f"{option} {value}"
