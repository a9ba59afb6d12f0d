"""Connectors by name, found by entry point. A built-in one has exactly the rights of a third party's."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from headrace.errors import ConnectorError, here
from headrace.masking import masked_problem
from headrace.packages import Packages
from headrace.ports.lookup import Lookup
from headrace.ports.sink import Sink
from headrace.ports.source import Source
from headrace.spelling import suggestion

GROUP = "headrace.connectors"

VERSION = 1
"""The version of these traits. A connector's module says as `PORTS` which one it was made for; what a version had stays in later ones."""

UNSAID = 1
"""The version of a module that does not say: the first, in which it need not."""


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


def lookup_class(name: str) -> type[Lookup]:
    """The class that looks rows up in a connector's tables."""
    found = getattr(_module(name), "Lookup", None)
    if found is None:
        known = ", ".join(names_with("Lookup"))
        raise ConnectorError("UNKNOWN_CONNECTOR", f"rows cannot be looked up in {name}", hint=f"hr.lookup has: {known}", site=here())
    return found  # type: ignore[no-any-return]  # an entry point says what it is by its name alone


@cache
def _module(name: str) -> ModuleType:
    entry = connectors().get(name)
    if entry is None:
        has = ", ".join(connectors()) or 'none: install headrace itself, "pip install -e ." in a copy of its repository'
        raise ConnectorError(
            "UNKNOWN_CONNECTOR",
            f"there is no connector `{name}`",
            hint=suggestion(name, connectors(), f"Installed are: {has}"),
            site=here(),
        )
    try:
        module: ModuleType = entry.load()
    except ImportError as cause:
        raise ConnectorError(
            "CONNECTOR_BROKEN",
            f"the connector `{name}` cannot be loaded from {entry.value}: {cause}",
            hint="install what it needs; its package's documentation says what",
            site=here(),
            cause=cause,
        ) from masked_problem(cause)
    made_for = getattr(module, "PORTS", UNSAID)
    if made_for > VERSION:
        raise ConnectorError(
            "CONNECTOR_BROKEN",
            f"the connector `{name}` of {entry.value} was made for version {made_for} of headrace.ports, and here is version {VERSION}",
            hint="install a newer headrace, or an older package of the connector",
            site=here(),
        )
    return module


def load_all() -> None:
    """Load every connector, with the error codes that it registers. One that cannot be loaded is reported where a job uses it."""
    for entry in connectors().values():
        with suppress(Exception):
            entry.load()


def names_with(kind: str) -> tuple[str, ...]:
    """The connectors that have a `Source`, a `Sink` or a `Lookup`; one that cannot be loaded is left out."""
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
