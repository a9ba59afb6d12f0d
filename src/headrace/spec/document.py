"""The contents of a job's files, checked as far as possible without building the job."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.errors import PlanError, Site, standing
from headrace.plan.meaning import MEANING, judged, meant
from headrace.spec import connectors, kinds
from headrace.spec.include import parts
from headrace.spec.kinds import Reference
from headrace.spec.several import Several
from headrace.spec.value import Items, Scalar, Table, Value, fields, items, table, text, unknown, wanted
from headrace.spec.verbs import Step, called, step
from headrace.syntax import tables


@dataclass(frozen=True)
class Source:
    """A source: a connector with its options, and a watermark."""

    name: str
    site: Site
    connector: str
    options: Mapping[str, Any]
    watermark: Step | None = None
    reads: tuple[Reference, ...] = ()


@dataclass(frozen=True)
class Lookup:
    """An external table: a connector with its options."""

    name: str
    site: Site
    connector: str
    options: Mapping[str, Any]
    reads: tuple[Reference, ...] = ()


@dataclass(frozen=True)
class Query:
    """A view as SQL. `reads` is None if only Spark can tell what it reads."""

    name: str
    site: Site
    text: Scalar
    reads: tuple[Reference, ...] | None


@dataclass(frozen=True)
class Chain:
    """A view as verbs on the first stream of `reads`."""

    name: str
    site: Site
    steps: tuple[Step, ...]
    reads: tuple[Reference, ...]


@dataclass(frozen=True)
class Sink:
    """A sink: a connector with its options, and the source or view that it writes."""

    name: str
    site: Site
    connector: str
    options: Mapping[str, Any]
    start: Reference


@dataclass(frozen=True)
class Check:
    """A requirement on a view, a sink or the job."""

    site: Site
    view: Reference | None = None
    sink: Reference | None = None
    require: str | None = None
    schema: Scalar | None = None


Named = Source | Lookup | Query | Chain


@dataclass(frozen=True)
class Document:
    """A job as written in its files. `streams` has sources, external tables and views by name in lower case, as Spark compares names."""

    job: str
    site: Site
    settings: Mapping[str, tuple[str, Site]]
    streams: Mapping[str, Named]
    sinks: tuple[Sink, ...]
    checks: tuple[Check, ...] = field(default=())

    @contextlib.contextmanager
    def in_effect(self) -> Iterator[None]:
        """Apply the job's settings to all that is built inside."""
        settings = {}
        for key, (value, site) in self.settings.items():
            with standing(site):
                settings[key] = judged(key, value)
        with meant(settings):
            yield


def document(file: Path, environment: Mapping[str, str] | None = None) -> Document:
    """Read a file and those it includes. `environment` has the variables, by default those of this process."""
    files = parts(file, os.environ if environment is None else environment)
    own = files[-1].content
    streams: dict[str, Named] = {}
    several = Several()
    for part in files:
        for section, read in _STREAMS.items():
            for name, value, site in _entries(part.content, section):
                with several.gathering():
                    before = streams.get(name.lower())
                    if before is not None:
                        raise _twice(name, before.site, site)
                    streams[name.lower()] = read(name, value, site)
    sinks = []
    for name, value, site in _entries(own, "sinks"):
        with several.gathering():
            sinks.append(_sink(name, value, site))
            if name.lower() in streams:
                raise _twice(name, streams[name.lower()].site, site)
    several.check()
    if not sinks:
        raise PlanError("YAML_KEY", "the job has no sinks", hint="sinks: {out: {from: view, connector: console}}", site=own.keys["sinks"])
    checks = tuple(_check(value) for value in items(own.values["checks"], "`checks`")) if "checks" in own.values else ()
    title = own.values["job"]
    return Document(text(title, "`job`"), title.site, _settings(own), streams, tuple(sinks), checks)


def _entries(part: Table, section: str) -> Iterator[tuple[str, Value, Site]]:
    if section in part.values:
        entries = table(part.values[section], f"`{section}`")
        for name, value in entries.values.items():
            yield name, value, entries.keys[name]


def _twice(name: str, before: Site, site: Site) -> PlanError:
    hint = "give sources, lookups, views and sinks distinct names; case is ignored"
    return PlanError("YAML_NAME", f"`{name}` is defined twice, first at {before}", hint=hint, site=site)


def _settings(own: Table) -> dict[str, tuple[str, Site]]:
    entries = table(own.values["settings"], "`settings`") if "settings" in own.values else None
    for key, site in entries.keys.items() if entries else ():
        if key not in MEANING:
            raise unknown(f"`{key}` is not a setting of a job", key, MEANING, site, has="the settings that change a job's results are")
    return {key: (text(value, f"`{key}`"), entries.keys[key]) for key, value in entries.values.items()} if entries else {}


def _source(name: str, value: Value, site: Site) -> Source:
    what = f"the source {name}"
    entries = table(value, what)
    connector, known = _connector(entries, what, site, connectors.source)
    fields(entries, what, {"connector": True, **{one.name: one.needed for one in known.values()}, "watermark": False}, site)
    mark = None
    if "watermark" in entries.values:
        mark = called("watermark", entries.values["watermark"], entries.keys["watermark"])
    return Source(name, site, connector, kinds.arguments(entries, what, known), mark)


def _lookup(name: str, value: Value, site: Site) -> Lookup:
    what = f"the table {name}"
    entries = table(value, what)
    connector, known = _connector(entries, what, site, connectors.lookup)
    fields(entries, what, {"connector": True, **{one.name: one.needed for one in known.values()}}, site)
    return Lookup(name, site, connector, kinds.arguments(entries, what, known))


def _connector(
    entries: Table, what: str, site: Site, takes: Callable[[str], Mapping[str, kinds.Parameter]]
) -> tuple[str, Mapping[str, kinds.Parameter]]:
    if "connector" not in entries.values:
        raise PlanError("YAML_KEY", f"{what} needs `connector`", hint="name one, for example `connector: files`", site=site)
    value = entries.values["connector"]
    connector = text(value, f"`connector` of {what}")
    with standing(value.site):
        return connector, takes(connector)


def _view(name: str, value: Value, site: Site) -> Query | Chain:
    what = f"the view {name}"
    if isinstance(value, Scalar) and not value.empty:
        read = tables(value.text)
        places = None if read is None else tuple(Reference(one, _place(value, one)) for one in read)
        return Query(name, site, value, places)
    if not isinstance(value, Table):
        raise wanted(what, "a SQL query, or a mapping of `from` and `steps`", value)
    fields(value, what, {"from": True, "steps": True}, site)
    start = Reference(text(value.values["from"], f"`from` of {what}"), value.values["from"].site)
    steps = tuple(step(one) for one in items(value.values["steps"], f"`steps` of {what}"))
    return Chain(name, site, steps, (start, *(one for each in steps for one in each.references)))


def _place(query: Scalar, name: str) -> Site:
    """Return the place of the first use of a name in a query."""
    match = re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", query.text)
    before = query.text[: match.start()] if match else ""
    return query.inside(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def _sink(name: str, value: Value, site: Site) -> Sink:
    what = f"the sink {name}"
    entries = table(value, what)
    connector, known = _connector(entries, what, site, connectors.sink)
    fields(entries, what, {"from": True, "connector": True, **{one.name: one.needed for one in known.values()}}, site)
    start = Reference(text(entries.values["from"], f"`from` of {what}"), entries.values["from"].site)
    return Sink(name, site, connector, kinds.arguments(entries, what, known), start)


def _check(value: Value) -> Check:
    entries = table(value, "a check")
    fields(entries, "a check", {"view": False, "sink": False, "require": False, "schema": False})
    present = {name: one for name, one in entries.values.items() if not (isinstance(one, Scalar) and one.empty)}
    if "view" in present and "sink" in present:
        raise PlanError("YAML_KEY", "a check takes a view or a sink, not both", hint="split it into two checks", site=entries.site)
    if ("require" in present) == ("schema" in present):
        raise PlanError(
            "YAML_KEY", "a check needs either `require` or `schema`", hint="- {view: spend, require: exactly once}", site=entries.site
        )
    if "schema" in present and "view" not in present:
        raise PlanError("YAML_KEY", "a schema check needs a view", hint='- {view: spend, schema: "card string"}', site=entries.site)
    places = {
        name: Reference(text(present[name], f"`{name}` of a check"), present[name].site) for name in ("view", "sink") if name in present
    }
    guarantee = text(present["require"], "`require` of a check") if "require" in present else None
    if guarantee is not None and guarantee not in REQUIRED:
        raise unknown(f"`{guarantee}` cannot be required", guarantee, REQUIRED, present["require"].site, "YAML_TYPE", "it is one of")
    schema = present.get("schema")
    if isinstance(schema, Table | Items):
        raise wanted("`schema` of a check", "a string", schema)
    return Check(entries.site, places.get("view"), places.get("sink"), guarantee, schema)


REQUIRED = ("exactly once", "bounded state")

_STREAMS: Mapping[str, Callable[[str, Value, Site], Named]] = {"sources": _source, "lookups": _lookup, "views": _view}
