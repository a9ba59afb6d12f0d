"""Nodes as JSON and back: one codec for all of them, driven by the types of their fields."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from headrace.errors import PlanError, Site
from headrace.masking import masked_problem
from headrace.plan.node import REGISTRY, Node

FORMAT = 1


def encode(node: Node, names: Mapping[Node, str]) -> dict[str, Any]:
    """A node as JSON; its inputs by their names."""
    found: dict[str, Any] = {"name": names[node], "op": node.op}
    for item in _stored(type(node)):
        if item.name != "name" and not (item.metadata.get("later") and getattr(node, item.name) == item.default):
            found[item.name] = _plain(getattr(node, item.name), names)
    return found


def decode(data: Mapping[str, Any], nodes: Mapping[str, Node]) -> Node:
    """The node that a JSON object describes; its inputs are looked up by name."""
    name, op = str(data.get("name")), data.get("op")
    cls = REGISTRY.get(str(op))
    if cls is None:
        raise PlanError(
            "PLAN_UNKNOWN_OPERATOR",
            f"this version of headrace knows no operator `{op}` (node `{name}`)",
            hint="the plan was written by a newer headrace: install that one",
        )
    hints = _hints(cls)
    known = {item.name: item for item in _stored(cls)}
    unknown = sorted(set(data) - set(known) - {"op"})
    if unknown:
        raise PlanError(
            "PLAN_UNKNOWN_FIELD",
            f"this version of headrace knows no field `{unknown[0]}` of `{op}` (node `{name}`)",
            hint="the plan was written by a newer headrace: install that one",
        )
    values: dict[str, Any] = {}
    for key, item in known.items():
        if key in data:
            try:
                values[key] = _value(data[key], hints[key], nodes)
            except (TypeError, ValueError, KeyError, AttributeError) as cause:
                raise broken(f"`{key}` of node `{name}` is {_short(data[key])}, not a {_named(hints[key])}", cause) from masked_problem(
                    cause
                )
        elif item.default is MISSING and item.default_factory is MISSING:
            raise broken(f"node `{name}` has no `{key}`")
    node = cls(**values)
    try:
        _ = node.columns
    except (TypeError, ValueError, KeyError, AttributeError) as cause:
        raise broken(f"node `{name}` does not fit its inputs", cause) from masked_problem(cause)
    return node


def broken(what: str, cause: BaseException | None = None) -> PlanError:
    """A text that is no plan."""
    hint = "plans are written by `headrace plan FILE` and Job.plan.to_json()"
    return PlanError("PLAN_BROKEN", f"this is no plan of headrace: {what}", hint=hint, cause=cause)


def without_sites(value: Any) -> Any:
    """JSON without the places in the user's code, which are never part of what a plan means."""
    if isinstance(value, dict):
        # Options are the user's own words, so a `site` among them is an option.
        return {key: item if key == "options" else without_sites(item) for key, item in value.items() if key not in ("site", "sites")}
    if isinstance(value, list):
        return [without_sites(item) for item in value]
    return value


def _stored(cls: type[Node]) -> list[Field[Any]]:
    """The fields that are part of a plan; others, `metadata={"stored": False}`, hold objects of this process.

    Those that a kind of node got later, `metadata={"later": True}`, are written only where they say something: a plan without them keeps
    its form, and so its fingerprint and the names made of it.
    """
    return [item for item in fields(cls) if item.metadata.get("stored", True)]


def _hints(cls: type[Node]) -> dict[str, Any]:
    if cls.op not in _HINTS:
        _HINTS[cls.op] = get_type_hints(cls)
    return _HINTS[cls.op]


_HINTS: dict[str, dict[str, Any]] = {}


def _plain(value: Any, names: Mapping[Node, str]) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Node):
        return names[value]
    if isinstance(value, Site):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(item, names) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item, names) for key, item in value.items()}
    return value.to_json()


def _value(data: Any, kind: Any, nodes: Mapping[str, Node]) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        options = get_args(kind)
        if data is None and type(None) in options:
            return None
        return _value(data, next(option for option in options if option is not type(None)), nodes)
    if origin is tuple:
        return _tuple(data, get_args(kind), nodes)
    if kind is Any or kind is object:
        return data
    if isinstance(origin or kind, type) and issubclass(origin or kind, Mapping):
        if not isinstance(data, dict):
            raise TypeError("not an object")
        return data
    if isinstance(kind, type) and issubclass(kind, Node):
        return nodes[data]
    if kind is Site:
        return Site.parse(data)
    if kind in (str, int, float, bool):
        if type(data) is not kind and not (kind is float and type(data) is int):
            raise TypeError("of another type")
        return data
    return kind.from_json(data)


def _tuple(data: Any, items: tuple[Any, ...], nodes: Mapping[str, Node]) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise TypeError("not a list")
    if len(items) == 2 and items[1] is Ellipsis:
        return tuple(_value(item, items[0], nodes) for item in data)
    if len(items) != len(data):
        raise TypeError("of another length")
    return tuple(_value(item, kind, nodes) for item, kind in zip(data, items, strict=True))


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def _named(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
