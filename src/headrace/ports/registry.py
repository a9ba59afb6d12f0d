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
from headrace.spelling import listing, nearest
from headrace.words import CONNECTORS

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
    found = getattr(_module(name, "Source"), "Source", None)
    if found is None:
        raise ConnectorError("UNKNOWN_CONNECTOR", f"{name} can only be written", hint=_those_of("Source"), site=here())
    return found  # type: ignore[no-any-return]  # an entry point says what it is by its name alone


def sink_class(name: str) -> type[Sink]:
    """The class that writes to a connector."""
    found = getattr(_module(name, "Sink"), "Sink", None)
    if found is None:
        raise ConnectorError("UNKNOWN_CONNECTOR", f"{name} can only be read", hint=_those_of("Sink"), site=here())
    return found  # type: ignore[no-any-return]  # an entry point says what it is by its name alone


def lookup_class(name: str) -> type[Lookup]:
    """The class that looks rows up in a connector's tables."""
    found = getattr(_module(name, "Lookup"), "Lookup", None)
    if found is None:
        raise ConnectorError("UNKNOWN_CONNECTOR", f"rows cannot be looked up in {name}", hint=_those_of("Lookup"), site=here())
    return found  # type: ignore[no-any-return]  # an entry point says what it is by its name alone


def unnamed(kind: str) -> ConnectorError:
    """The error for a call of `hr.read`, `.write` or `hr.lookup` itself."""
    example = f'{_PLACES[kind]}.files("folder", format="parquet")'
    message = f"{_PLACES[kind]} was called without the name of a connector"
    return ConnectorError("UNKNOWN_CONNECTOR", message, hint=f"write it with the name: {example}. {_those_of(kind)}", site=here())


def _unknown(name: str, kind: str) -> ConnectorError:
    """The error for a connector that is not there; it may be a format of one that is, or a word of PySpark's."""
    if not connectors():
        hint = 'installed are none: install headrace itself, "pip install -e ." in a copy of its repository'
    else:
        known = names_with(kind)
        calls = [f'{one}(..., format="{name}")' for one in known if name in _formats(one, kind)]
        calls += [call for call in CONNECTORS.get(name.lower(), ()) if call.partition("(")[0] in known]
        near = nearest(name, known)
        meant = f"write {listing(calls, 'or')}. " if calls else f"did you mean `{near}`? " if near else ""
        hint = meant + _those_of(kind)
    return ConnectorError("UNKNOWN_CONNECTOR", f"there is no connector `{name}`", hint=hint, site=here())


_PLACES = {"Source": "hr.read", "Sink": ".write", "Lookup": "hr.lookup"}
"""Where the classes of connectors are called."""


def _those_of(kind: str) -> str:
    return f"{_PLACES[kind]} has: {', '.join(names_with(kind))}"


def _formats(name: str, kind: str) -> tuple[str, ...]:
    """The formats that a class of a connector can be called with."""
    return next((one.among for one in getattr(getattr(_loaded(name), kind), "declared", {}).values() if one.name == "format"), ())


def _module(name: str, kind: str) -> ModuleType:
    if name not in connectors():
        raise _unknown(name, kind)
    return _loaded(name)


@cache
def _loaded(name: str) -> ModuleType:
    """The module of a connector that is installed."""
    entry = connectors()[name]
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
            if hasattr(_loaded(name), kind):
                found.append(name)
        except ConnectorError:
            continue
    return tuple(found)


def packages() -> dict[str, Packages]:
    """What the connectors may need beside Spark, by the names that `headrace packages add` takes; one that cannot be loaded is left out."""
    found: dict[str, Packages] = {}
    for name in connectors():
        try:
            needed: tuple[Packages, ...] = getattr(_loaded(name), "PACKAGES", ())
        except ConnectorError:
            continue
        found |= {one.name or name: one for one in needed}
    return found
