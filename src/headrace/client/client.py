"""Runs statements one after the other, and prints their results."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headrace.client.order import ordered
from headrace.client.output import Output
from headrace.engine import Job, collect
from headrace.engine.building import of_script
from headrace.engine.live import endless
from headrace.errors import standing
from headrace.ops.stream import Stream
from headrace.plan.meaning import MEANING, meaning, meant
from headrace.ports.registry import connectors, names_with
from headrace.spark.run.summary import Summary
from headrace.sql.catalogue import EXPIRES, SETTINGS, Catalogue, kind_of_name
from headrace.syntax.script import last_order
from headrace.syntax.statements import (
    CreateFunction,
    CreateLookup,
    CreateSink,
    CreateSource,
    CreateView,
    Describe,
    Explain,
    Insert,
    Part,
    Run,
    Select,
    Set,
    Show,
    Statement,
    lasting,
)


class Client:
    """The objects of a session, and its output. `job` is the name of its job, unless a SET changes it.

    With `talks`, a note confirms each CREATE and INSERT: a person types the statements.
    """

    def __init__(self, output: Output, *, job: str = "sql", talks: bool = False) -> None:
        self.catalogue = Catalogue()
        self.output = output
        self.talks = talks
        self._name = job
        self._ordered = False  # whether the last result was printed in the order of its query

    def run(self, statements: Iterable[Statement]) -> bool:
        """Run statements up to the first that is stopped; return whether none was."""
        return all(self.one(statement) for statement in statements)

    def one(self, statement: Statement) -> bool:
        """Run one statement; return whether it was not stopped."""
        with self._warned(), standing(statement.site):
            if lasting(statement):
                self.catalogue.add(statement)
                if self.talks:
                    self._tell(statement)
                return True
            match statement:
                case Select():
                    return self._select(statement.query)
                case Run():
                    return not self.run_job().stopped
                case Show():
                    self._show(statement.what)
                case Describe():
                    self._describe(statement)
                case Explain():
                    self._explain(statement.query, statement.extended)
                case Set():
                    self._settings(statement.name)
            return True

    def job(self) -> Job:
        """Return the job of the INSERTs so far."""
        return of_script(self._name, self.catalogue)

    def run_job(self, **arguments: Any) -> Summary:
        """Run the job and print its summary."""
        summary = self.job().run(**arguments)
        self.output.note(str(summary))
        return summary

    @contextmanager
    def _warned(self) -> Iterator[None]:
        """Print Python's warnings as the client's own, without a line of a file."""
        self._ordered = False
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for text in (str(warning.message) for warning in caught if issubclass(warning.category, UserWarning | RuntimeWarning)):
            if not (self._ordered and text.startswith("hr.sql: the ORDER BY")):
                self.output.warn(text.removeprefix("hr.sql: "))

    def _tell(self, statement: Statement) -> None:
        name = getattr(statement, "name", None)
        if isinstance(statement, CreateSource | CreateView):
            self.output.note(f"{kind_of_name(statement)} {name}: {self._columns(self.catalogue.streams[str(name)])}")
        elif isinstance(statement, CreateFunction | CreateLookup | CreateSink):
            self.output.note(f"{kind_of_name(statement)} {name}")
        elif isinstance(statement, Insert):
            self.output.note(f"the job writes {', '.join(self.catalogue.inserts)}; RUN runs it")

    def _columns(self, stream: Stream) -> str:
        with meant(self.catalogue.meaning):
            return stream.schema.ddl

    def _select(self, query: Part) -> bool:
        stream = self.catalogue.query(query)
        with standing(query.site), meant(self.catalogue.meaning):
            if not endless(stream):
                rows = collect(stream)
                in_order = ordered(rows, last_order(query.text))
                self._ordered = in_order is not None
                self.output.table(rows if in_order is None else in_order)
                return True
            summary = self.output.live(stream)
            # An endless query must be stopped: for a person at a terminal that is its normal end.
            return self.output.drawn or not summary.stopped

    def _show(self, what: str) -> None:
        created = self.catalogue.created.values()
        match what:
            case "SOURCES":
                rows = [
                    (definition.name, self.catalogue.streams[definition.name]._node.describe())
                    for definition in created
                    if isinstance(definition, CreateSource)
                ]
                self.output.listed(("source", "reads"), rows)
            case "LOOKUPS":
                rows = [
                    (definition.name, str(definition.options.get("connector")))
                    for definition in created
                    if isinstance(definition, CreateLookup)
                ]
                self.output.listed(("lookup", "connector"), rows)
            case "VIEWS":
                rows = [(definition.name, _line(definition.query)) for definition in created if isinstance(definition, CreateView)]
                self.output.listed(("view", "query"), rows)
            case "TABLES":
                rows = [
                    (definition.name, kind_of_name(definition))
                    for definition in created
                    if isinstance(definition, CreateSource | CreateView)
                ]
                self.output.listed(("table", "kind"), rows)
            case "FUNCTIONS":
                rows = [(definition.name, _line(definition.definition)) for definition in created if isinstance(definition, CreateFunction)]
                self.output.listed(("function", "definition"), rows)
            case "SINKS":
                rows = [
                    (definition.name, str(definition.options.get("connector")))
                    for definition in created
                    if isinstance(definition, CreateSink)
                ]
                self.output.listed(("sink", "connector"), rows)
            case "CONNECTORS":
                has = {kind: names_with(kind) for kind in ("Source", "Sink", "Lookup")}
                kinds = [(name, *("yes" if name in names else "" for names in has.values())) for name in connectors()]
                self.output.listed(("connector", "reads", "writes", "lookups"), kinds)
            case _:
                self._settings(None)

    def _settings(self, name: str | None) -> None:
        with meant(self.catalogue.meaning):
            own = {**{key: self.catalogue.settings.get(key, "") for key in SETTINGS}, EXPIRES: self.catalogue.expires}
            values: Mapping[str, str] = {**own, **meaning()}
        shown = [key for key in (*own, *MEANING) if name is None or key.lower() == name.lower()]
        self.output.listed(("setting", "value"), [(key, values[key]) for key in shown])

    def _describe(self, statement: Describe) -> None:
        definition = self.catalogue.find(statement.name, statement.part)
        match definition:
            case CreateFunction():
                self.output.listed(("function", "definition"), [(definition.name, _line(definition.definition))])
            case CreateLookup():
                self.output.listed(("column", "type"), [(field.name, field.type.text) for field in self.catalogue.columns_of(definition)])
            case CreateSink():
                fed = self.catalogue.inserts.get(definition.name)
                rows = [("written", "nothing" if fed is None else _line(fed.part))]
                self.output.listed(("option", "value"), [*((key, str(value)) for key, value in definition.options.items()), *rows])
            case _:
                with meant(self.catalogue.meaning):
                    schema = self.catalogue.streams[definition.name].schema
                self.output.listed(("column", "type"), [(field.name, field.type.text) for field in schema.fields])

    def _explain(self, query: Part | None, extended: bool) -> None:
        if query is None:
            self.output.text(str(self.job().explain(verbose=extended)))
            return
        stream = self.catalogue.query(query)
        with meant(self.catalogue.meaning):
            self.output.text(str(stream.explain(verbose=extended)))


def _line(part: Part) -> str:
    """Return a text in one line, cut for a terminal."""
    text = " ".join(part.text.split())
    return text if len(text) <= 100 or not sys.stdout.isatty() else text[:97] + "..."
