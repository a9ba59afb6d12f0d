"""The named objects of a script, made with the same verbs as in Python, so that the plan is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.errors import HeadraceError, PlanError, standing
from headrace.ops.expires import expiry
from headrace.ops.feeding import OPTIONS as FEEDING
from headrace.ops.modes import MODES
from headrace.ops.read import read
from headrace.ops.sink import refuse
from headrace.ops.stream import Stream
from headrace.ops.tables import Table, lookup
from headrace.ops.write import Sink
from headrace.plan.meaning import MEANING, judged, meant
from headrace.ports import lookup_class, sink_class, source_class
from headrace.ports.options import build, choice, several
from headrace.ports.registry import names_with
from headrace.schema import Field
from headrace.spelling import suggestion
from headrace.sql.query import check_function, of_script
from headrace.syntax.statements import (
    CreateFunction,
    CreateLookup,
    CreateSink,
    CreateSource,
    CreateView,
    Drop,
    Insert,
    Part,
    Set,
    Statement,
)

SETTINGS = ("job", "checkpoint", "every", "partitions", "metrics_port")
"""The settings of the job and its runs that SET takes, beside Spark's settings that change what texts mean."""

EXPIRES = "state.expires"
"""The setting for the queries after it: how long without rows until their joins and aggregates forget a group; `never` keeps all."""

Creates = CreateSource | CreateLookup | CreateView | CreateFunction | CreateSink


class Catalogue:
    """The objects and settings of a script so far.

    >>> from headrace.syntax.script import statements
    >>> script = "CREATE SOURCE charges (card STRING) WITH (connector = 'files', path = 'in/', format = 'json')"
    >>> catalogue = Catalogue()
    >>> catalogue.add(statements(script)[0])
    >>> catalogue.streams["charges"]
    <Stream charges: card>
    """

    def __init__(self) -> None:
        self.created: dict[str, Creates] = {}
        """The CREATE statements by name, in order."""
        self.streams: dict[str, Stream] = {}
        self.inserts: dict[str, Insert | CreateSink] = {}
        """The statement with the query that a sink writes, by the sink's name."""
        self.settings: dict[str, str] = {}
        """The settings of the job and its runs."""
        self.meaning: dict[str, str] = {}
        """The settings that change what texts mean."""
        self.expires = "never"
        self._sinks: dict[str, Sink] = {}
        self._outside: dict[str, Table] = {}

    def add(self, statement: Statement) -> None:
        """Apply a CREATE, INSERT, DROP or SET."""
        with standing(statement.site), meant(self.meaning):
            match statement:
                case CreateSource():
                    self._check(statement)
                    self._define(statement, _source(statement))
                case CreateLookup():
                    self._check(statement)
                    self._define(statement)
                    self._outside[statement.name] = _outside(statement)
                case CreateView():
                    self._check(statement)
                    self._define(statement, _named(_expected(self._stream(statement.query), statement), statement.name))
                case CreateFunction():
                    self._check(statement)
                    check_function(statement, self._functions())
                    self._define(statement)
                case CreateSink():
                    self._check(statement)
                    self._sink(statement)
                case Insert():
                    self._insert(statement)
                case Drop():
                    self._drop(statement)
                case Set():
                    self._set(statement)
                case _:
                    raise TypeError(f"{type(statement).__name__} defines no name")

    def query(self, query: Part) -> Stream:
        """Return the stream of a SELECT over the script's objects."""
        with standing(query.site), meant(self.meaning):
            return self._stream(query)

    def sinks(self) -> list[Sink]:
        """Return the sinks of the job, and refuse a sink without a query."""
        idle = next(
            (statement for name, statement in self.created.items() if isinstance(statement, CreateSink) and name not in self.inserts),
            None,
        )
        if idle is not None:
            raise _bad(f"nothing is written to the sink {idle.name}", f"INSERT INTO {idle.name} SELECT ..., or drop it", idle.part)
        return list(self._sinks.values())

    def find(self, name: str, part: Part) -> Creates:
        """Return the CREATE statement of a name; case does not matter, as in Spark."""
        key = self._known(name)
        if key is None:
            raise _unknown(name, self.created, part)
        return self.created[key]

    def columns_of(self, statement: CreateLookup) -> tuple[Field, ...]:
        """Return the columns of an external table."""
        return self._outside[statement.name].connected.schema.fields

    def _known(self, name: str) -> str | None:
        return next((known for known in self.created if known.lower() == name.lower()), None)

    def _stream(self, query: Part) -> Stream:
        from headrace.syntax.script import mentioned

        tables = {name: self.streams[name] for name in mentioned(query.text, self.streams)}
        outside = {name: self._outside[name] for name in mentioned(query.text, self._outside)}
        with standing(query.site):
            expires = None if self.expires == "never" else expiry(self.expires, EXPIRES)
            return of_script(query, tables, self._functions(), list(self.streams), expires, outside)

    def _functions(self) -> list[str]:
        return [statement.definition.text for statement in self.created.values() if isinstance(statement, CreateFunction)]

    def _check(self, statement: Creates) -> None:
        """Refuse a name that is taken, unless the statement replaces an object of its kind."""
        known = self._known(statement.name)
        if known is None:
            return
        before = self.created[known]
        if not statement.replace:
            message = f"`{known}` already exists, created at {before.site}"
            raise _bad(message, "choose another name, or write CREATE OR REPLACE", statement.part)
        if type(before) is not type(statement):
            raise _bad(f"`{known}` is a {kind_of_name(before)}, not a {kind_of_name(statement)}", "choose another name", statement.part)

    def _define(self, statement: Creates, stream: Stream | None = None) -> None:
        """Keep a new object, in place of one it replaces."""
        self._forget(self._known(statement.name) or statement.name)
        self.created[statement.name] = statement
        if stream is not None:
            self.streams[statement.name] = stream

    def _forget(self, name: str) -> None:
        for names in (self.created, self.streams, self.inserts, self._sinks, self._outside):
            names.pop(name, None)

    def _sink(self, statement: CreateSink) -> None:
        connector, options = _connector(statement, "Sink")
        # This sink is discarded. It is made so that errors in its options are raised here.
        cls = sink_class(connector)
        mode, refused = options.pop("mode", None), options.pop("on_refused", None)
        connected = build(cls, f"write.{connector}", (), options, ("mode", *(("on_refused",) if cls.on_refused else ())))
        if refused is not None:
            refuse(connected, refused)
        if mode is not None:
            choice(f"write.{connector}", "mode", mode, MODES)
        fed = None if statement.query is None else self._fed(statement, statement.query)
        self._define(statement)
        if fed is not None:
            self._write(statement, statement, fed)

    def _insert(self, statement: Insert) -> None:
        definition = self.find(statement.sink, statement.part)
        if not isinstance(definition, CreateSink):
            raise _bad(
                f"`{statement.sink}` is a {kind_of_name(definition)}, not a sink",
                "insert into a sink that CREATE SINK defines",
                statement.part,
            )
        before = self.inserts.get(definition.name)
        if before is not None:
            message = f"the sink {definition.name} already has a query, at {before.site}"
            raise _bad(message, "only one query can feed a sink: combine the two with UNION ALL", statement.part)
        self._write(definition, statement, self._fed(definition, statement.query))

    def _fed(self, statement: CreateSink, query: Part) -> Sink:
        connector, options = _connector(statement, "Sink")
        sink: Sink = getattr(self._stream(query).write, connector)(name=statement.name, **options)
        # It gets a job at the end of the script, or, typed at a prompt, maybe never.
        sink._use()
        return sink

    def _write(self, definition: CreateSink, statement: Insert | CreateSink, sink: Sink) -> None:
        self._sinks[definition.name] = sink
        self.inserts[definition.name] = statement

    def _drop(self, statement: Drop) -> None:
        known = self._known(statement.name)
        if known is None:
            if not statement.missing_ok:
                raise _unknown(statement.name, self.created, statement.part)
        elif kind_of_name(self.created[known]) != statement.kind.lower():
            kind = kind_of_name(self.created[known])
            raise _bad(f"`{known}` is a {kind}, not a {statement.kind.lower()}", f"DROP {kind.upper()} {known}", statement.part)
        else:
            self._forget(known)

    def _set(self, statement: Set) -> None:
        name, value = str(statement.name), str(statement.value)
        known_as = (*SETTINGS, EXPIRES, *MEANING)
        key = next((known for known in known_as if known.lower() == name.lower()), None)
        if key is None:
            others = "set other Spark settings with hr.session or in spark-defaults.conf"
            hint = suggestion(name, known_as, f"there are: {', '.join(known_as)}; {others}", shown="{}")
            raise HeadraceError("BAD_SETTING", f"a script cannot set {name}", hint=hint, site=statement.site)
        if key in SETTINGS:
            self.settings[key] = value
            return
        if key == EXPIRES:
            if value.lower() != "never":
                expiry(value, EXPIRES)
            self.expires = value.lower()
            return
        if self.meaning.get(key) != value and any(
            isinstance(statement, CreateView | CreateFunction | CreateSink) for statement in self.created.values()
        ):
            hint = "set it before the first view, function and sink: it changes the meaning of their SQL"
            raise HeadraceError("BAD_SETTING", f"{key} is set too late", hint=hint, site=statement.site)
        self.meaning[key] = judged(key, value)


def _source(statement: CreateSource) -> Stream:
    connector, options = _connector(statement, "Source")
    idle = options.pop("idle", None)
    if idle is not None and statement.watermark is None:
        raise _bad("idle needs a watermark", "add WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS", statement.part)
    if statement.columns is not None:
        options["schema"] = statement.columns
    stream: Stream = getattr(read, connector)(name=statement.name, **options)
    if statement.watermark is None:
        return stream
    column, delay = statement.watermark
    return stream.watermark(column, delay, idle=idle)


def _outside(statement: CreateLookup) -> Table:
    connector, options = _connector(statement, "Lookup")
    if statement.columns is not None:
        options["schema"] = statement.columns
    table: Table = getattr(lookup, connector)(name=statement.name, **options)
    return table


def _connector(statement: CreateSource | CreateLookup | CreateSink, kind: str) -> tuple[str, dict[str, Any]]:
    """Return the connector of a source, sink or external table, and its arguments."""
    options = dict(statement.options)
    connector = options.pop("connector", None)
    if not isinstance(connector, str):
        what = "needs a connector" if connector is None else f"cannot have the connector {connector!r}"
        has = ", ".join(names_with(kind))
        raise _bad(f"{statement.name} {what}", f"WITH (connector = 'files', ...); there are: {has}", statement.part)
    cls = _CLASSES[kind](connector)
    listed = several(cls) | (set(FEEDING) & {"key"} if getattr(cls, "feeds", False) else set())
    return connector, {name: _listed(value) if name in listed else value for name, value in options.items()}


_CLASSES: Mapping[str, Callable[[str], type[Any]]] = {"Source": source_class, "Sink": sink_class, "Lookup": lookup_class}


def _listed(value: Any) -> Any:
    """Split `'a, b'` into a list, for options that take several values."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) and "," in value else value


def _expected(stream: Stream, view: CreateView) -> Stream:
    """Return the stream with the expectations of the view."""
    for one in view.constraints:
        with standing(one.condition.site):
            stream = stream.expect(one.condition.text, name=one.name, on_violation=one.on_violation)
    return stream


def _named(stream: Stream, name: str) -> Stream:
    """Name a view's stream. A source or another view that it only passes on keeps its own name."""
    return stream if stream._node.name is not None else stream.named(name)


def kind_of_name(statement: Creates) -> str:
    """Return the kind of object that a statement creates: source, lookup, view, function or sink."""
    return type(statement).__name__.removeprefix("Create").lower()


def _unknown(name: str, known: Iterable[str] | Mapping[str, Any], part: Part) -> PlanError:
    names = list(known)
    return PlanError(
        "UNKNOWN_NAME",
        f"the script has nothing called {name}",
        hint=suggestion(name, names, f"it has: {', '.join(names)}", shown="{}") if names else "CREATE it first",
        site=part.site,
    )


def _bad(message: str, hint: str, part: Part) -> PlanError:
    return PlanError("BAD_STATEMENT", message, hint=hint, site=part.site)
