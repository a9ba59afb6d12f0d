"""The counts of the queries of a run, combined for its summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.plan import Role, nearest
from headrace.ports import aside
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.compile.identity import DEAD_LETTERS
from headrace.spark.run.query import RunningQuery
from headrace.spark.run.summary import (
    ExpectationCounts,
    InputCounts,
    LookupCounts,
    SourceCounts,
    counts_of,
    expectations_of,
    lookups_of,
    source_counts,
)


class Tally:
    """The rows, the epochs and the dead letters of a run, also those of the queries that deploys have replaced. `letters`: the dead letters
    of the checkpoint before the run.
    """

    def __init__(self, queries: Sequence[RunningQuery], letters: int) -> None:
        # one value: another thread never sees half of a switch
        self._counted = (0, 0, tuple(queries))
        self._letters = letters

    def switch(self, queries: Sequence[RunningQuery], letters: int, before: Mapping[str, Any]) -> None:
        """Go on with other queries, whose checkpoint has so many dead letters. `before`: the counts of the queries before."""
        self._letters = letters - self.letters(before)
        self._counted = (self.rows(), self.epochs(), tuple(queries))

    def letters(self, counts: Mapping[str, Any]) -> int:
        """Return the dead letters of the run, given the counts of its queries."""
        letters: Mapping[str, int] = counts["dead_letters"]
        return sum(letters.values()) - self._letters

    def rows(self) -> int:
        """Return the rows read; a source that two queries read counts once."""
        before, _, queries = self._counted
        read: dict[str, int] = {}
        for query in queries:
            for name, n in query.read().items():
                read[name] = max(read.get(name, 0), n)
        return before + sum(read.values())

    def epochs(self) -> int:
        """Return the epochs committed."""
        _, before, queries = self._counted
        return before + sum(query.totals.epoch - query.began.epoch for query in queries)


def counted(queries: Iterable[RunningQuery], checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the counts over the checkpoint's whole life, by the field of `Summary`.

    A source, or an expectation of its rows, that two queries share is counted once.
    """
    sources: dict[str, SourceCounts] = {}
    expected: dict[tuple[str, str], ExpectationCounts] = {}
    sinks: dict[str, int] = {}
    dead: dict[str, int] = {}
    inputs: list[InputCounts] = []
    lookups: list[LookupCounts] = []
    for query in queries:
        totals = query.totals
        for source in query.query.sources:
            name = str(source.name)
            sources.setdefault(name, source_counts(totals, name))
        for one in expectations_of(totals, query.query.sinks):
            expected.setdefault((one.stream, one.name), one)
        for sink in query.query.sinks:
            sinks[str(sink.name)] = totals.rows.get(str(sink.name), 0)
        dead[str(checkpoint.dead_letters(query.identity.name))] = totals.rows.get(DEAD_LETTERS, 0)
        inputs.extend(counts_of(totals, query.programs(), _feeders(query)))
        lookups.extend(lookups_of(totals, query.lookups()))
    return {
        "sources": tuple(sources.values()),
        "expectations": tuple(expected.values()),
        "sinks": sinks,
        "dead_letters": {**dead, **aside.counted(checkpoint.folder)},
        "inputs": tuple(inputs),
        "lookups": tuple(lookups),
    }


def _feeders(query: RunningQuery) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the sources, operators and lookups that send rows to an operator or lookup, by its name and input."""
    live = query.identity.live()
    return {
        (str(node.name), name): tuple(str(one.name) for one in nearest(stream, (Role.SOURCE, Role.LOOKUP, Role.STATEFUL)))
        for node in (*query.query.operators, *query.query.looked_up)
        for name, stream in zip(live[str(node.name)].shape.inputs, node.inputs, strict=True)
    }
