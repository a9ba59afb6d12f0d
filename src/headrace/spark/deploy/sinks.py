"""The sinks of two versions of a job, by name: which of them have the same rows for sure, and which can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from headrace.ops import Sink
from headrace.ops.facts.keys import known_keys, lower
from headrace.ops.operator import operator
from headrace.plan import Plan
from headrace.schema import Field, Struct
from headrace.spark.checkpoint.compare import refuse_other_job, refuse_other_settings, with_frozen_schemas
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.compile.identity import together
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.layout import widens
from headrace.spark.deploy.correction import Form
from headrace.spark.deploy.deployment import DROPPED, NEW, WAITS
from headrace.spark.deploy.diff import Comparison, Version
from headrace.spark.deploy.rebuild import obstacle, shows_changes, unordered
from headrace.spark.deploy.request import compiled
from headrace.spark.deploy.rows_diff import EQUAL, UNKNOWN, SinkRows


@dataclass(frozen=True)
class Pair:
    """A sink in both versions of a job, and the form of its rows in each."""

    old: Sink
    new: Sink
    old_form: Form
    new_form: Form

    @property
    def name(self) -> str:
        return str(self.new.name)

    @cached_property
    def fields(self) -> dict[str, tuple[Field | None, Field | None]]:
        """The column of each name in both versions, None where one lacks it: first those of the new version."""
        was = {field.name: field for field in self.old_form.fields}
        now = {field.name: field for field in self.new_form.fields}
        return {name: (was.get(name), now.get(name)) for name in {**now, **was}}

    @property
    def key(self) -> tuple[str, ...]:
        """A key under which both versions have at most one row: that of the sink, else the smallest; empty if there is none."""
        keys = [tuple(name for name in self.fields if name.lower() in key) for key in _keys(self.old) & _keys(self.new)]
        return min(filter(None, keys), key=lambda names: (len(names), names), default=())

    def obstacle(self, job: SparkJob) -> str | None:
        """Return why the rows of the sink cannot be compared, or None. `job`: the new version."""
        why = obstacle(job, self.new) or self.old.connect().uncomparable(self.old.mode)
        why = why or unordered(Struct(self.old_form.fields)) or unordered(Struct(self.new_form.fields))
        return why or next((_misfit(was, now) for was, now in self.fields.values() if was and now and common(was, now) is None), None)


def _keys(sink: Sink) -> set[frozenset[str]]:
    # with changes as rows, the rows are those before
    rows = sink.input.inputs[0] if shows_changes(sink) else sink.input
    return {lower(operator(sink.input).sole_by), *known_keys(rows)}


def common(was: Field, now: Field) -> str | None:
    """Return the type that has the values of a column in both versions, or None."""
    old, new = str(was.type), str(now.type)
    return new if widens(old, new) else old if widens(new, old) else None


def _misfit(was: Field, now: Field) -> str:
    return f"its column {was.name} is {was.type} in the old version, and {now.type} in the new one"


class Sinks:
    """The sinks of the `stored` version of a job, whose checkpoint is in `home`, and of another `version`."""

    def __init__(self, version: SparkJob, home: Path, stored: Stored) -> None:
        refuse_other_job(version, stored, home)
        self._comparison = Comparison(Version.kept(home, stored), version)
        self.old, self._new = with_frozen_schemas(compiled(Plan.from_json(stored.plan), stored.identity), stored), self._comparison.job
        refuse_other_settings(self._new, stored)
        renamed = self._comparison.renamed_sources()
        if renamed:
            raise together(renamed)
        olds = {str(sink.name): sink for query in self.old.queries for sink in query.sinks}
        news = {str(sink.name): sink for query in self._new.queries for sink in query.sinks}
        # an unnamed sink behind a query operator has another name with each change of that; users see the display name
        shown = {self.old.shown(name): name for name in olds if name not in news}
        same = {name: shown.get(self._new.shown(name), name) for name in news}
        known = [SinkRows(name, NEW, ("only the new version has it",)) for name in news if same[name] not in olds]
        gone = [name for name in olds if name not in same.values()]
        known += [SinkRows(name, DROPPED, ("only the old version has it",)) for name in gone]
        was, now = self.old.schemas.of, self._new.schemas.of
        pairs = [
            Pair(olds[old], news[name], Form(olds[old], was[old]), Form(news[name], now[name])) for name, old in same.items() if old in olds
        ]
        kept = self._comparison.kept_sinks()
        known += [judged for pair in pairs if (judged := self._judged(pair, kept=pair.name in kept)) is not None]
        self._known, self._names = {one.name: one for one in known}, [*news, *gone]
        self.pairs = {pair.name: pair for pair in pairs if pair.name not in self._known}
        """The sinks whose rows have to be compared, by name."""

    @property
    def held(self) -> list[str]:
        """The names that the sinks whose rows have to be compared have in the old version."""
        return [str(pair.old.name) for pair in self.pairs.values()]

    def _judged(self, pair: Pair, *, kept: bool) -> SinkRows | None:
        """Return what is known of a sink of both versions without its rows, or None."""
        if pair.old.name in self._comparison.old.waiting:
            return SinkRows(pair.name, UNKNOWN, (WAITS,))
        if kept:
            return SinkRows(pair.name, EQUAL, ("its rows are computed as before",))
        why = pair.obstacle(self._new)
        return None if why is None else SinkRows(pair.name, UNKNOWN, (f"it cannot be compared: {why}",))

    def report(self, compared: Mapping[str, SinkRows]) -> tuple[SinkRows, ...]:
        """Return the report on all sinks, given that of those which were compared. It has display names."""
        all = {**self._known, **compared}
        reports = tuple(all[name] for name in self._names)
        for shown in (self._new.shown, self.old.shown):
            reports = tuple(replace(one, name=shown(one.name), reasons=tuple(map(shown.text, one.reasons))) for one in reports)
        return reports
