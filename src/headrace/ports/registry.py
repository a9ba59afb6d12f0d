"""Connectors by name, registered by entry point. Built-in ones have no more rights than those of other packages."""

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
"""The version of these interfaces. A connector's module declares its version as `PORTS`; a later one keeps all of an earlier one."""

UNSAID = 1
"""The version of a module without `PORTS`: the first, in which it was optional."""


@cache
def connectors() -> dict[str, EntryPoint]:
    """The connectors of all installed packages, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def source_class(name: str) -> type[Source]:
    """The class that reads from a connector."""
    connector_class = getattr(_module(name, "Source"), "Source", None)
    if connector_class is None:
        raise ConnectorError(
            "UNKNOWN_CONNECTOR", f"the connector `{name}` has no source, so it cannot be read", hint=_those_of("Source"), site=here()
        )
    return connector_class  # type: ignore[no-any-return]  # an entry point has no type


def sink_class(name: str) -> type[Sink]:
    """The class that writes to a connector."""
    connector_class = getattr(_module(name, "Sink"), "Sink", None)
    if connector_class is None:
        raise ConnectorError(
            "UNKNOWN_CONNECTOR", f"the connector `{name}` has no sink, so it cannot be written", hint=_those_of("Sink"), site=here()
        )
    return connector_class  # type: ignore[no-any-return]  # an entry point has no type


def lookup_class(name: str) -> type[Lookup]:
    """The class that looks up rows in a connector's tables."""
    connector_class = getattr(_module(name, "Lookup"), "Lookup", None)
    if connector_class is None:
        raise ConnectorError("UNKNOWN_CONNECTOR", f"the connector `{name}` has no lookup table", hint=_those_of("Lookup"), site=here())
    return connector_class  # type: ignore[no-any-return]  # an entry point has no type


def unnamed(kind: str) -> ConnectorError:
    """The error for a call of `hr.read`, `.write` or `hr.lookup` itself."""
    example = f'{_PLACES[kind]}.files("folder", format="parquet")'
    message = f"{_PLACES[kind]} was called without the name of a connector"
    return ConnectorError("UNKNOWN_CONNECTOR", message, hint=f"write it with the name: {example}. {_those_of(kind)}", site=here())


def _unknown(name: str, kind: str) -> ConnectorError:
    """The error for an unknown connector, which may be a format of a known one, or a word of PySpark's."""
    if not connectors():
        hint = 'no connectors are installed: install headrace itself, "pip install -e ." in a copy of its repository'
    else:
        known = names_with(kind)
        calls = [f'{one}(..., format="{name}")' for one in known if name in _formats(one, kind)]
        calls += [call for call in CONNECTORS.get(name.lower(), ()) if call.partition("(")[0] in known]
        near = nearest(name, known)
        meant = (
            f"write {listing([f'{_PLACES[kind]}.{call}' for call in calls], 'or')}. "
            if calls
            else f"did you mean `{near}`? "
            if near
            else ""
        )
        hint = meant + _those_of(kind)
    return ConnectorError("UNKNOWN_CONNECTOR", f"there is no connector `{name}`", hint=hint, site=here())


_PLACES = {"Source": "hr.read", "Sink": "stream.write", "Lookup": "hr.lookup"}
"""The public names that the classes of connectors are called by."""


def _those_of(kind: str) -> str:
    return f"{_PLACES[kind]} has: {', '.join(names_with(kind))}"


def _formats(name: str, kind: str) -> tuple[str, ...]:
    """The formats that a connector's class takes."""
    return next((one.among for one in getattr(getattr(_loaded(name), kind), "declared", {}).values() if one.name == "format"), ())


def _module(name: str, kind: str) -> ModuleType:
    if name not in connectors():
        raise _unknown(name, kind)
    return _loaded(name)


@cache
def _loaded(name: str) -> ModuleType:
    """The module of an installed connector."""
    entry = connectors()[name]
    try:
        module: ModuleType = entry.load()
    except ImportError as cause:
        raise ConnectorError(
            "CONNECTOR_BROKEN",
            f"the connector `{name}` cannot be loaded from {entry.value}: {cause}",
            hint="install what it needs; see the documentation of its package",
            site=here(),
            cause=cause,
        ) from masked_problem(cause)
    required_version = getattr(module, "PORTS", UNSAID)
    if required_version > VERSION:
        raise ConnectorError(
            "CONNECTOR_BROKEN",
            f"the connector `{name}` of {entry.value} requires version {required_version} of headrace.ports, but this headrace "
            f"has version {VERSION}",
            hint="install a newer headrace, or an older version of the connector",
            site=here(),
        )
    return module


def load_all() -> None:
    """Load every connector, with the error codes that it registers. One that fails to load is reported when a job uses it."""
    for entry in connectors().values():
        with suppress(Exception):
            entry.load()


def names_with(kind: str) -> tuple[str, ...]:
    """The connectors that have a `Source`, a `Sink` or a `Lookup`, without those that fail to load."""
    names = []
    for name in connectors():
        try:
            if hasattr(_loaded(name), kind):
                names.append(name)
        except ConnectorError:
            continue
    return tuple(names)


def packages() -> dict[str, Packages]:
    """The packages that connectors may need besides Spark, by the names that `headrace packages add` takes, without connectors that fail to
    load.
    """
    packages_by_name: dict[str, Packages] = {}
    for name in connectors():
        try:
            needed: tuple[Packages, ...] = getattr(_loaded(name), "PACKAGES", ())
        except ConnectorError:
            continue
        packages_by_name |= {one.name or name: one for one in needed}
    return packages_by_name
