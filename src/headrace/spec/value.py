"""The values of a YAML file, with their places.

A scalar is kept as text, and its reader decides the type. So `on`, `no` and `010` are never misread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import PlanError, Site
from headrace.spelling import suggestion


@dataclass(frozen=True)
class Scalar:
    """A text with its variables replaced. `inside` returns the place in the file of a line and column of the text."""

    text: str
    quoted: bool
    site: Site
    inside: Callable[[int, int], Site]

    @property
    def empty(self) -> bool:
        """Whether the value is missing, `~` or `null`."""
        return not self.quoted and self.text in ("", "~", "null")

    def __str__(self) -> str:
        return "nothing" if self.empty else f"`{self.text}`" if len(self.text) <= 60 else f"`{self.text[:57]}...`"


@dataclass(frozen=True)
class Items:
    """A list."""

    items: tuple[Value, ...]
    site: Site

    def __str__(self) -> str:
        return "a list"


@dataclass(frozen=True)
class Table:
    """A mapping; `keys` has the places of its keys."""

    values: Mapping[str, Value]
    keys: Mapping[str, Site]
    site: Site

    def __str__(self) -> str:
        return "a mapping"


Value = Scalar | Items | Table


def wanted(what: str, kind: str, value: Value, hint: str | None = None) -> PlanError:
    """Return the error for a value of another type."""
    return PlanError("YAML_TYPE", f"{what} must be {kind}, not {value}", hint=hint, site=value.site)


def table(value: Value, what: str) -> Table:
    """Return a value that is a mapping; an empty value is an empty mapping."""
    if isinstance(value, Scalar) and value.empty:
        return Table({}, {}, value.site)
    if not isinstance(value, Table):
        raise wanted(what, "a mapping", value)
    return value


def items(value: Value, what: str) -> tuple[Value, ...]:
    """Return the values of a list; an empty value is an empty list."""
    if isinstance(value, Scalar) and value.empty:
        return ()
    if not isinstance(value, Items):
        raise wanted(what, "a list", value)
    return value.items


def text(value: Value, what: str) -> str:
    """Return a scalar as text, quoted or not."""
    if not isinstance(value, Scalar) or value.empty:
        raise wanted(what, "a string", value)
    return value.text


def fields(entries: Table, what: str, known: Mapping[str, bool], site: Site | None = None) -> None:
    """Refuse unknown keys, and a missing key that `known` maps to True; the error for a missing key is at `site`."""
    for key, place in entries.keys.items():
        if key not in known:
            raise unknown(f"{what} has no `{key}`", key, known, place)
    missing = [key for key, needed in known.items() if needed and key not in entries.values]
    if missing:
        raise PlanError("YAML_KEY", f"{what} needs `{missing[0]}`", hint=f"it takes: {', '.join(known)}", site=site or entries.site)


def unknown(message: str, name: str, known: Any, site: Site, code: str = "YAML_KEY", has: str = "it takes") -> PlanError:
    """Return the error for an unknown name, with the nearest known one."""
    return PlanError(code, message, hint=suggestion(name, known, f"{has}: {', '.join(known) or 'nothing'}"), site=site)
