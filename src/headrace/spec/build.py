"""Builds the streams and sinks of a job in the order of their dependencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.errors import HeadraceError, PlanError, standing
from headrace.ops.read import read
from headrace.ops.stream import Stream
from headrace.ops.tables import Table, lookup
from headrace.ops.write import Sink
from headrace.spec.document import Chain, Document, Lookup, Named, Query, Source
from headrace.spec.kinds import Reference
from headrace.spec.several import Several
from headrace.spec.value import unknown
from headrace.spec.verbs import Step
from headrace.sql.query import sql
from headrace.syntax.script import mentioned


@dataclass(frozen=True)
class Built:
    """The streams and external tables of a job by name in lower case, and its sinks."""

    streams: Mapping[str, Stream | Table]
    sinks: tuple[Sink, ...]


def build(document: Document) -> Built:
    """Build a document with the verbs that Python calls. Starts the session if a view is SQL.

    Independent errors are raised together. What reads a view that cannot be built is skipped.
    """
    streams: dict[str, Stream | Table] = {}
    several = Several()
    for named in ordered(document):
        if all(find(document, one).name.lower() in streams for one in reads(named, document)):
            with several.gathering(), standing(named.site):
                streams[named.name.lower()] = _stream(named, streams, document)
    sinks: list[Sink] = []
    for one in document.sinks:
        start = streams.get(find(document, one.start).name.lower())
        if start is not None:
            with several.gathering():
                stream = rows_of(start, one.start)
                with standing(one.site):
                    sinks.append(getattr(stream.write, one.connector)(**one.options, name=one.name))
    for sink in sinks if several.errors else ():
        sink._use()  # no job is built, so a sink without a job is no mistake
    several.check()
    return Built(streams, tuple(sinks))


def find(document: Document, reference: Reference) -> Named:
    """Return the source, lookup or view of a name."""
    named = document.streams.get(reference.name.lower())
    if named is None:
        known = [one.name for one in document.streams.values()]
        message = f"there is no source or view `{reference.name}`"
        raise unknown(message, reference.name, known, reference.site, "YAML_NAME", "there are")
    return named


def ordered(document: Document) -> tuple[Named, ...]:
    """Return all sources, lookups and views, each after those it reads, otherwise in the order of the files."""
    done: dict[str, Named] = {}
    several = Several()
    failed: set[str] = set()
    for named in document.streams.values():
        with several.gathering():
            _visit(named, document, done, failed, ())
    for sink in document.sinks:
        with several.gathering():
            find(document, sink.start)
    several.check()
    return tuple(done.values())


def _visit(named: Named, document: Document, done: dict[str, Named], failed: set[str], above: tuple[Named, ...]) -> None:
    if named.name in done or named.name in failed:
        return
    if named in above:
        circle = [one.name for one in (*above[above.index(named) :], named)]
        hint = "a view cannot read its own result: remove one of them from the cycle"
        raise PlanError("YAML_CYCLE", f"the views read each other in a cycle: {' -> '.join(circle)}", hint=hint, site=named.site)
    try:
        for reference in reads(named, document):
            _visit(find(document, reference), document, done, failed, (*above, named))
    except HeadraceError:
        failed.add(named.name)  # reported once, not again for each view that reads it
        raise
    done[named.name] = named


def reads(named: Named, document: Document) -> tuple[Reference, ...]:
    """Return what a source or view reads: of a query that only Spark can parse, all sources and views whose names are words in it."""
    if named.reads is not None:
        return named.reads
    others = [one.name for one in document.streams.values() if one is not named]
    return tuple(Reference(name, named.site) for name in mentioned(named.text.text, others)) if isinstance(named, Query) else ()


def _stream(named: Named, streams: Mapping[str, Stream | Table], document: Document) -> Stream | Table:
    def stream_of(reference: Reference) -> Stream | Table:
        return streams[find(document, reference).name.lower()]

    if isinstance(named, Lookup):
        outside: Table = getattr(lookup, named.connector)(**named.options, name=named.name)
        return outside

    if isinstance(named, Source):
        stream: Stream = getattr(read, named.connector)(**named.options, name=named.name)
        return stream if named.watermark is None else _done(named.watermark, stream, stream_of)
    if isinstance(named, Query):
        tables = {find(document, one).name: stream_of(one) for one in reads(named, document)}
        with standing(named.text.site, named.text.inside):
            stream = sql(named.text.text, **tables)
    else:
        stream = _chained(named, stream_of)
    # A view that only passes on a named stream keeps the stream's name, so that the stream is read once.
    return stream if stream._node.name is not None else stream.named(named.name)


def _chained(chain: Chain, stream_of: Callable[[Reference], Stream | Table]) -> Stream:
    stream = rows_of(stream_of(chain.reads[0]), chain.reads[0])
    for step in chain.steps:
        stream = _done(step, stream, stream_of)
    return stream


def rows_of(rows: Stream | Table, named: Reference) -> Stream:
    """Return the stream, and refuse an external table, which has no rows to read."""
    if isinstance(rows, Stream):
        return rows
    hint = f"look its rows up: steps: [{{lookup: {{table: {named.name}, on: ...}}}}]"
    raise PlanError("YAML_NAME", f"{named.name} is an external table, whose rows cannot be listed", hint=hint, site=named.site)


def _done(step: Step, stream: Stream, stream_of: Callable[[Reference], Stream | Table]) -> Stream:
    with standing(step.site):
        return step.done(stream, stream_of)
