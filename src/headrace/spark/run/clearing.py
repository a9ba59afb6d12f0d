"""Reasons not to start over, checked before a fresh start empties the checkpoint or any sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query
from headrace.spark.run.outlets import Outlet, at, each
from headrace.spark.run.trial import try_lookup, try_source


def refuse_clearing(job: SparkJob, checkpoint: Checkpoint, names: Mapping[str, str], outlets: Mapping[str, list[Outlet]]) -> None:
    """Refuse sinks that may not be written, and sources and lookups that cannot be read; changes nothing."""
    for query, name in each(job, names):
        for one in outlets[name]:
            if one.node is not None:  # dead letters are cleared with the checkpoint
                with at(one.node):
                    one.sink.may_open(replace(one.context(job, checkpoint, name), fresh=True, unfinished=None))
        _refuse_inputs(job, query)


def _refuse_inputs(job: SparkJob, query: Query) -> None:
    for source in query.sources:
        try_source(job, source)
    # A table that is loaded whole may be large, so lookups come last.
    for lookup in query.looked_up:
        with at(lookup):
            try_lookup(job, lookup)
