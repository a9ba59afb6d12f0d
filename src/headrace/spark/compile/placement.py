"""Placement, for explain: the query and level of each operator, and the rows that pass levels untouched."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.plan import Fact
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query
from headrace.spark.compile.placing import how


def placement(job: SparkJob) -> Mapping[str, Fact]:
    """Return the query and level of each operator and lookup, and the levels that the rows for a sink pass."""
    facts: dict[str, Fact] = {}
    for query in job.queries:
        levels = len(query.levels)
        for node in query.operators:
            level = query.level(str(node.name))
            facts[str(node.name)] = Fact({"query": query.name, "level": level}, f"query {query.name}, level {level} of {levels}")
        for level, rounds in enumerate(query.lookups):
            for lookup in (lookup for nodes in rounds for lookup in nodes):
                where = f"before level 1 of {levels}" if level == 0 else f"after level {level} of {levels}"
                text = f"query {query.name}" + (f", {where}" if levels else "")
                facts[str(lookup.name)] = Fact({"query": query.name, "behind": level}, text)
        for sink in query.sinks:
            passed = max((levels - _after(feed.producer, query) for feed in job.at.feeds.into(sink.inputs[0])), default=0)
            text = f"query {query.name}" + (f", its rows pass {passed} level{'' if passed == 1 else 's'} untouched" if passed else "")
            placed = how(sink, query)
            text += f", {placed}" if placed else ""
            facts[str(sink.name)] = Fact({"query": query.name, "passes": passed}, text)
    return facts


def _after(producer: str, query: Query) -> int:
    """Return the level after which a producer's rows appear: 0 for a source."""
    for level, rounds in enumerate(query.lookups):
        if producer in {node.name for nodes in rounds for node in nodes}:
            return level
    return next((number for number, level in enumerate(query.levels, 1) if producer in {node.name for node in level}), 0)
