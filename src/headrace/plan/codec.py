"""Nodes to JSON and back: one codec for all of them, driven by the types of their fields."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from headrace.errors import HeadraceError, PlanError, Site
from headrace.masking import masked, masked_problem
from headrace.plan.node import REGISTRY, Node

FORMAT = 1
_DEEPEST = 200


def encode(node: Node, names: Mapping[Node, str]) -> dict[str, Any]:
    """Return a node as JSON, its inputs by name."""
    document: dict[str, Any] = {"name": names[node], "op": node.op}
    for item in _stored(type(node)):
        if item.name != "name" and not (item.metadata.get("later") and getattr(node, item.name) == item.default):
            document[item.name] = _plain(getattr(node, item.name), names)
    return document


def decode(data: Mapping[str, Any], nodes: Mapping[str, Node]) -> Node:
    """Return the node that a JSON object describes; its inputs are looked up by name."""
    name, op = data["name"], data.get("op")
    cls = REGISTRY.get(op) if isinstance(op, str) else None
    if cls is None:
        raise PlanError(
            "PLAN_UNKNOWN_OPERATOR",
            f"this version of headrace does not know the operator `{word(op)}` (node `{name}`)",
            hint="install the newer headrace that wrote the plan; if the plan was edited by hand, correct the name",
        )
    hints = _hints(cls)
    known = {item.name: item for item in _stored(cls)}
    unknown = sorted(set(data) - set(known) - {"op"})
    if unknown:
        raise PlanError(
            "PLAN_UNKNOWN_FIELD",
            f"this version of headrace does not know the field `{word(unknown[0])}` of `{op}` (node `{name}`)",
            hint="install the newer headrace that wrote the plan; if the plan was edited by hand, correct the name",
        )
    values: dict[str, Any] = {}
    for key, item in known.items():
        if key in data:
            with _reading(f"`{key}` of node `{name}` is {_expected(data[key], hints[key])}"):
                values[key] = _value(data[key], hints[key], nodes)
            _check_range(name, item, values[key])
        elif item.default is MISSING and item.default_factory is MISSING:
            raise broken(f"node `{name}` has no `{key}`")
    node = cls(**values)
    with _reading(f"node `{name}` does not fit its inputs"):
        columns = node.columns
        if not node.fits:
            raise ValueError("not as a verb writes it")
    if len(set(columns)) < len(columns):
        raise broken(f"node `{name}` has two columns with the same name")
    return node


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Report any failure that hostile JSON causes as an error in that JSON."""
    try:
        yield
    except HeadraceError:
        raise
    except Exception as cause:
        raise broken(what) from masked_problem(cause)


def _check_range(name: str, item: Field[Any], value: Any) -> None:
    """Check the metadata of a field: its allowed words (`of`) or its least number (`least`)."""
    words, least = item.metadata.get("of"), item.metadata.get("least")
    if words is not None and value not in words:
        raise broken(f"`{item.name}` of node `{name}` is {short(value)}, not one of: {', '.join(words)}")
    if least is not None and value is not None and value < least:
        raise broken(f"`{item.name}` of node `{name}` is {short(value)}, not at least {least}")


def broken(what: str) -> PlanError:
    """Return the error for JSON that is no plan."""
    hint = "create the plan again: headrace plan FILE, or Job.plan.to_json()"
    return PlanError("PLAN_BROKEN", f"the plan is invalid: {what}", hint=hint)


def typed(data: Any, kind: Any) -> Any:
    """Convert a JSON value to a type such as `int`, `str | None` or `tuple[str, ...]`; TypeError if it is of another type.

    >>> typed(["a", "b"], tuple[str, ...])
    ('a', 'b')
    """
    return _value(data, kind, {})


def refuse_unwritten(data: Any) -> None:
    """Raise for JSON that no written plan has: strings that are no Unicode, or nesting too deep for Python's stack."""
    depth, inside = 0, [data]
    while inside:
        depth += 1
        if depth > _DEEPEST:
            raise broken(f"it is nested deeper than {_DEEPEST} levels")
        parts = (part for one in inside for part in (one.values() if isinstance(one, Mapping) else one))
        inside = [part for part in parts if isinstance(part, Mapping | list)]
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise broken("a string in it is not valid Unicode") from None


def without_sites(value: Any) -> Any:
    """Return JSON without the places in the user's code, which are no part of a plan's meaning."""
    if isinstance(value, dict):
        # Options have the user's own keys, so a `site` among them is an option.
        return {key: item if key == "options" else without_sites(item) for key, item in value.items() if key not in ("site", "sites")}
    if isinstance(value, list):
        return [without_sites(item) for item in value]
    return value


def _stored(cls: type[Node]) -> list[Field[Any]]:
    """Return the fields that are part of a plan; others, `metadata={"stored": False}`, hold objects of this process.

    Fields that a kind of node got later, `metadata={"later": True}`, are written only if they differ from their default. A plan without
    them keeps its JSON, and so its fingerprint and the names derived from it.
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


def short(data: Any) -> str:
    """Return a JSON value, shortened for an error."""
    # masked before it is cut: one half of a password is not recognized as one
    text = masked(repr(data))
    return text if len(text) <= 60 else text[:57] + "..."


def word(data: Any) -> str:
    """Return a name for an error that quotes it itself."""
    return short(data).strip("'\"")


def _expected(data: Any, kind: Any) -> str:
    """Return the words for a field's value and what it should be."""
    if isinstance(kind, type) and issubclass(kind, Node):
        return f"`{word(data)}`, but the plan has no earlier node of this name"
    return f"{short(data)}, not {_named(kind)}"


_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def _named(kind: Any) -> str:
    """Return the words for a type in JSON."""
    origin, items = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _named(next(option for option in items if option is not type(None)))
    if origin is tuple:
        of = items[0] if items[1:] == (Ellipsis,) else None
        nodes = isinstance(of, type) and issubclass(of, Node)
        return "a list of earlier nodes" if nodes else "a list of strings" if of is str else "a list"
    if isinstance(origin or kind, type) and issubclass(origin or kind, Mapping):
        return "an object"
    return _NAMES.get(kind, f"a {kind.__name__}" if isinstance(kind, type) else str(kind))
