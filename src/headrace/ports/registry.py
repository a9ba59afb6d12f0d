"""Connectors by name, found by entry point. A built-in one has exactly the rights of a third party's."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from headrace.errors import ConnectorError, here
from headrace.packages import Packages
from headrace.ports.sink import Sink
from headrace.ports.source import Source

GROUP = "headrace.connectors"


@cache
def connectors() -> dict[str, EntryPoint]:
    """The connectors of all installed packages, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def source_class(name: str) -> type[Source]:
    """The class that reads from a connector."""
    found = getattr(_module(name), "Source", None)
    if found is None:
        readable = ", ".join(names_with("Source"))
        raise ConnectorError("UNKNOWN_CONNECTOR", f"{name} can only be written", hint=f"hr.read has: {readable}", site=here())
    return found  # type: ignore[no-any-return]  # an entry point says what it is by its name alone


def sink_class(name: str) -> type[Sink]:
    """The class that writes to a connector."""
    found = getattr(_module(name), "Sink", None)
    if found is None:
        writable = ", ".join(names_with("Sink"))
        raise ConnectorError("UNKNOWN_CONNECTOR", f"{name} can only be read", hint=f".write has: {writable}", site=here())
    return found  # type: ignore[no-any-return]  # an entry point says what it is by its name alone


@cache
def _module(name: str) -> ModuleType:
    entry = connectors().get(name)
    if entry is None:
        near = get_close_matches(name, connectors(), 1)
        hint = f"did you mean `{near[0]}`? " if near else ""
        has = ", ".join(connectors()) or 'none: install headrace itself, "pip install -e ." in a copy of its repository'
        raise ConnectorError("UNKNOWN_CONNECTOR", f"there is no connector `{name}`", hint=f"{hint}Installed are: {has}", site=here())
    try:
        module: ModuleType = entry.load()
    except ImportError as cause:
        raise ConnectorError(
            "CONNECTOR_BROKEN",
            f"the connector `{name}` cannot be loaded from {entry.value}: {cause}",
            hint="install what it needs; its package's documentation says what",
            site=here(),
            cause=cause,
        ) from cause
    return module


def names_with(kind: str) -> tuple[str, ...]:
    """The connectors that have a `Source` or a `Sink`; one that cannot be loaded is left out."""
    found = []
    for name in connectors():
        try:
            if hasattr(_module(name), kind):
                found.append(name)
        except ConnectorError:
            continue
    return tuple(found)


def packages() -> dict[str, Packages]:
    """What the connectors may need beside Spark, by the names that `headrace packages add` takes; one that cannot be loaded is left out."""
    found: dict[str, Packages] = {}
    for name in connectors():
        try:
            needed: tuple[Packages, ...] = getattr(_module(name), "PACKAGES", ())
        except ConnectorError:
            continue
        found |= {one.name or name: one for one in needed}
    return found
