"""The query document: everything that the kernel needs to know about a query, as one JSON object."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any

from headrace.jvm.parts import Json
from headrace.ops import Lookup, Sink, Source, cuts_of, kind_of, kinds, turns
from headrace.ops.changes import CHANGE
from headrace.ops.facts.outputs import DEAD_SCHEMA as DEAD
from headrace.ops.inlet import Inlet
from headrace.ops.operator import Consumer, Operator
from headrace.ops.parts import OperatorText, RouteText
from headrace.ops.relational import Stateful
from headrace.plan import Place, Step, Unweigh, order
from headrace.plan.codec import without_sites
from headrace.plan.meaning import MEANING
from headrace.ports.weights import WEIGHT
from headrace.spark.compile.feeds import Feed
from headrace.spark.compile.fields import Document, LookupText, SinkText, SourceText, WatermarkText
from headrace.spark.compile.identity import DEAD_LETTERS, Entry, QueryIdentity, correction_scan, repaired_scan
from headrace.spark.compile.levels import Query
from headrace.spark.compile.lower import Lowering, looked_up, lower, shape
from headrace.spark.compile.placing import deals_out, place_key
from headrace.spark.compile.shapes import LOOKUP, SINK, InputShape, QueryShape, Shape
from headrace.syntax import quote

FORMAT = 1


def shape_of(
    query: Query, at: Lowering, origins: Mapping[str, str], ways: Mapping[str, str], ordered_ways: Mapping[str, str]
) -> QueryShape:
    """Return the shape of a query: what it keeps between epochs. `origins` and the ways identify the rows of its operators and sinks."""

    def read(shape: Shape) -> Shape:
        return replace(shape, origin=origins[shape.name], way=ways[shape.name], ordered_way=ordered_ways[shape.name])

    operators = [read(shape(node, query.level(str(node.name)), at)) for node in query.operators]
    sinks = [read(Shape(str(sink.name), SINK, site=sink.site)) for sink in query.sinks]
    lookups = [Shape(str(node.name), LOOKUP, inputs={"input": InputShape("", (), ())}, site=node.site) for node in query.looked_up]
    dead = Shape(DEAD_LETTERS, SINK)
    sources = tuple(sorted(str(source.name) for source in query.sources))
    return QueryShape(query.name, sources, len(query.levels), query.clock, (*operators, *lookups, *sinks, dead))


def build(
    query: Query,
    identity: QueryIdentity,
    at: Lowering,
    readers: Mapping[str, Mapping[str, Any]],
    stages: Mapping[str, Mapping[str, Any]],
    partitions: int,
    asks: Mapping[str, Mapping[str, Any]] | None = None,
) -> Json:
    """Build the document of a query.

    `readers`: how the kernel reads each source's scan and its repaired rows, and the correction of a sink. `stages`: what tasks do for each
    sink. `asks`: how they query the table of a lookup. All three come from the connectors.
    """
    routes = _Routes(query, identity, at, partitions)
    lookups = tuple(
        tuple(tuple(_lookup(node, identity, at, (asks or {}).get(str(node.name), {}), routes) for node in nodes) for nodes in rounds)
        for rounds in query.lookups
    )
    settings = {**MEANING, **at.plan.settings}
    nodes = order(query.sinks)
    after, cuts = turns(nodes), cuts_of(nodes, settings["spark.sql.session.timeZone"])
    document = Document(
        format=FORMAT,
        job=at.plan.job,
        query=identity.name,
        partitions=partitions,
        clock=query.clock,
        settings=settings,
        sources=(*(_source(source, routes, readers, after, cuts) for source in query.sources), *_corrections(query, at, routes, readers)),
        levels=tuple(tuple(_operator(node, identity, at, routes) for node in level) for level in query.levels),
        retired=tuple(tuple(identity.retired(level)) for level, _ in enumerate(query.levels, 1)),
        sinks=(*(_sink(sink, identity, at, stages) for sink in query.sinks), _dead_sink(query, identity, stages)),
        lookups=lookups if query.looked_up else None,
        placed=True if deals_out(query) else None,
        fingerprint="",
    )
    content = document.to_json()
    del content["fingerprint"]
    text = json.dumps(without_sites(content), sort_keys=True)
    return replace(document, fingerprint=hashlib.sha256(text.encode()).hexdigest()[:32]).to_json()


def _source(
    source: Source,
    routes: _Routes,
    readers: Mapping[str, Mapping[str, Any]],
    after: Mapping[str, tuple[str, ...]],
    cuts: Mapping[str, int],
) -> SourceText:
    name = str(source.name)
    mended = readers.get(repaired_scan(name))
    mark = source.watermark
    return SourceText(
        name=name,
        schema=source.schema,
        reader={"options": {}, **readers[name]},
        repaired=None if mended is None else dict(mended),
        after=after.get(name),
        malformed=source.connect().malformed,
        watermark=None if mark is None else WatermarkText(column=mark.column, delay_ms=mark.delay_ms, before_us=cuts.get(name)),
        routes=routes.of(name, "main"),
        dead=routes.dead(name),
    )


def _corrections(query: Query, at: Lowering, routes: _Routes, readers: Mapping[str, Mapping[str, Any]]) -> Iterator[SourceText]:
    """Yield the scans of corrections: their rows go to their sinks, past all operators."""
    for sink in query.sinks:
        name = correction_scan(str(sink.name))
        if name in readers:
            yield SourceText(
                name=name,
                schema=readers[name]["schema"],
                reader={"kind": readers[name]["kind"], "options": {}},
                malformed="fail",
                watermark=None,
                routes=(routes.correcting(sink),),
                dead=routes.dead(name),
            )


def _operator(node: Stateful, identity: QueryIdentity, at: Lowering, routes: _Routes) -> OperatorText:
    name = str(node.name)
    lowered = lower(node, identity.live()[name], at)
    return replace(lowered, outputs=tuple(replace(output, routes=routes.leaving(name, output.name)) for output in lowered.outputs))


def _lookup(node: Lookup, identity: QueryIdentity, at: Lowering, ask: Mapping[str, Any], routes: _Routes) -> LookupText:
    name = str(node.name)
    lowered = looked_up(node, identity.live()[name].op, ask, DEAD, at)
    return replace(lowered, outputs=tuple(replace(output, routes=routes.leaving(name, output.name)) for output in lowered.outputs))


def _sink(sink: Sink, identity: QueryIdentity, at: Lowering, stages: Mapping[str, Mapping[str, Any]]) -> SinkText:
    name = str(sink.name)
    connected = sink.connect()
    refused = connected.on_refused
    return SinkText(
        op=identity.live()[name].op,
        name=name,
        schema=_sink_schema(sink, at),
        stage=dict(stages[name]),
        refused=refused,
        key=None if refused is None else tuple(connected.key),
        weighted=True if _weighed(sink) else None,
    )


def _sink_schema(sink: Sink, at: Lowering) -> str:
    """Return the columns that a sink gets, followed by the weight if it takes changes."""
    schema = at.schemas.of[str(sink.name)].ddl
    return f"{schema}, {WEIGHT} bigint" if _weighed(sink) else schema


def _weighed(sink: Sink) -> bool:
    return sink.mode != "append"


def _unweighed(sink: Sink) -> tuple[Step, ...]:
    """Return the step that makes the weight of a row its last column."""
    return (Unweigh(unweigh=WEIGHT, change=False, place=Place(node=str(sink.name), site=None)),) if _weighed(sink) else ()


def dead_letters(query: Query) -> str:
    """Return the columns of a query's dead letters. If rows can be retracted, so can their letters, and a column has the kind of change."""
    changing = any(kind == "changes" for kind in kinds(list(query.sinks)).values())
    return f"{DEAD}, {CHANGE} string" if changing else DEAD


def _dead_sink(query: Query, identity: QueryIdentity, stages: Mapping[str, Mapping[str, Any]]) -> SinkText:
    op = identity.live()[DEAD_LETTERS].op
    return SinkText(op=op, name=DEAD_LETTERS, schema=dead_letters(query), stage=dict(stages[DEAD_LETTERS]))


class _Routes:
    """The routes of a query, by the output they leave."""

    def __init__(self, query: Query, identity: QueryIdentity, at: Lowering, partitions: int) -> None:
        self._routes: dict[tuple[str, str], tuple[RouteText, ...]] = {}
        self._partitions = partitions
        letters = dead_letters(query)
        unweighed = () if letters == DEAD else (Unweigh(unweigh=CHANGE, change=True, place=Place(node=DEAD_LETTERS, site=None)),)
        self._dead = replace(_to_sink(identity.live()[DEAD_LETTERS].op, letters), steps=unweighed)
        live = identity.live()
        numbers = {name: entry.op for name, entry in live.items()}
        steady = any(sink.connect().traits.repeatable for sink in query.sinks)
        consumers: tuple[Consumer, ...] = (*query.looked_up, *query.operators)
        for node in consumers:
            for inlet in node.inlets(at, steady):
                self._into(live[str(node.name)], inlet, at, apart=_touches(node, inlet))
        self._to = {sink: _to_sink(numbers[str(sink.name)], _sink_schema(sink, at), place_key(sink)) for sink in query.sinks}
        for sink, route in self._to.items():
            for feed in at.feeds.into(sink.inputs[0]):
                self._add(feed.then(*_unweighed(sink)), route)

    def correcting(self, sink: Sink) -> RouteText:
        """Return the route of rows that are those of the sink already."""
        return replace(self._to[sink], steps=_unweighed(sink))

    def _into(self, entry: Entry, inlet: Inlet, at: Lowering, *, apart: bool) -> None:
        route = RouteText(
            to=entry.op,
            side=inlet.side,
            delivery=inlet.delivery,
            shards=inlet.shards or entry.shards or self._partitions,
            key=inlet.key,
            key_schema=inlet.key_schema,
            time=inlet.time,
            order=inlet.order,
            combines=inlet.combines and not apart,
            schema=inlet.schema,
        )
        for rank, feed in enumerate(at.feeds.into(inlet.stream)):
            self._add(feed.then(*inlet.steps), replace(route, rank=rank if inlet.order == "position" else None))

    def _add(self, feed: Feed, route: RouteText) -> None:
        routes = self.of(feed.producer, feed.output)
        # Of routes that begin with the same steps, only the first one reports rows that fail there, so that each is one dead letter.
        shared = max((_alike(feed.steps, other.steps) for other in routes), default=0)
        steps = tuple(_quiet(step) if place < shared else step for place, step in enumerate(feed.steps))
        self._routes[feed.producer, feed.output] = (*routes, replace(route, steps=steps))

    def of(self, producer: str, output: str) -> tuple[RouteText, ...]:
        return self._routes.get((producer, output), ())

    def dead(self, producer: str) -> tuple[RouteText, ...]:
        """Return the routes of dead letters: to their consumers, else into the checkpoint."""
        return self.of(producer, "dead_letter") or (self._dead,)

    def leaving(self, producer: str, output: str) -> tuple[RouteText, ...]:
        """Return the routes of an output, also of the dead letters."""
        return self.dead(producer) if output == "dead_letter" else self.of(producer, output)


def _touches(node: Operator, inlet: Inlet) -> bool:
    """Return whether a row that comes and goes within an epoch matters to an operator, because its group is then kept for a while."""
    return node.forgets_after is not None and kind_of(inlet.stream) == "changes"


def _to_sink(op: int, schema: str, key: tuple[str, ...] = ()) -> RouteText:
    """Return a route to a sink. With a key, the rows of each key stay together and in order, whatever levels they pass."""
    route = RouteText(to=op, side=0, delivery="none", time=None, order=None, schema=schema)
    return replace(route, delivery="place", key=tuple((name, quote(name)) for name in key), order="position") if key else route


def _quiet(step: Step, quiet: bool | None = True) -> Step:
    return replace(step, place=replace(step.place, quiet=quiet))


def _alike(steps: tuple[Step, ...], others: tuple[Step, ...]) -> int:
    """Return the number of steps that two routes have in common at their beginning."""
    return len(list(takewhile(lambda pair: pair[0] == _quiet(pair[1], None), zip(steps, others, strict=False))))
