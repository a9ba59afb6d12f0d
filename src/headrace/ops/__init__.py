"""Verbs and their nodes, one file per operator. This module exports the names that other packages use.

Importing it registers all operators, those of verbs through `Stream`.
"""

from headrace.ops.aggregate import Aggregate
from headrace.ops.asof import AsOf
from headrace.ops.consolidate import Consolidate
from headrace.ops.expect import Expect
from headrace.ops.facts.closing import closing, groups, intervals
from headrace.ops.facts.interval import Interval
from headrace.ops.facts.keys import unique
from headrace.ops.facts.kind import kind_of, kinds
from headrace.ops.facts.time import event_time
from headrace.ops.filter import Filter
from headrace.ops.generate import Generated
from headrace.ops.hybrid import Hybrid, cuts_of, turns
from headrace.ops.join import Join
from headrace.ops.ledger import Ledger
from headrace.ops.lookup import Lookup, lookups_of
from headrace.ops.output import OutputOf, outputs_of
from headrace.ops.partition import Partition
from headrace.ops.program import Program
from headrace.ops.project import Project
from headrace.ops.relational import stateful_of
from headrace.ops.sessions import Sessions
from headrace.ops.single import single
from headrace.ops.sink import Sink, sinks_of
from headrace.ops.source import Source, Watermark, sources_of
from headrace.ops.stream import Stream
from headrace.ops.temporal import Temporal
from headrace.ops.top import Top
from headrace.ops.union import Union
from headrace.ops.upserts import Upserts
from headrace.ops.window import Windows

__all__ = [
    "Aggregate",
    "AsOf",
    "Consolidate",
    "Expect",
    "Filter",
    "Generated",
    "Hybrid",
    "Interval",
    "Join",
    "Ledger",
    "Lookup",
    "OutputOf",
    "Partition",
    "Program",
    "Project",
    "Sessions",
    "Sink",
    "Source",
    "Stream",
    "Temporal",
    "Top",
    "Union",
    "Upserts",
    "Watermark",
    "Windows",
    "closing",
    "cuts_of",
    "event_time",
    "groups",
    "intervals",
    "kind_of",
    "kinds",
    "lookups_of",
    "outputs_of",
    "single",
    "sinks_of",
    "sources_of",
    "stateful_of",
    "turns",
    "unique",
]
