"""Verbs and their nodes, one file per operator."""

from headrace.ops.explode import Explode
from headrace.ops.filter import Filter
from headrace.ops.output import OutputOf
from headrace.ops.program import Program
from headrace.ops.project import Project
from headrace.ops.sink import Sink
from headrace.ops.source import Source, Watermark
from headrace.ops.stream import Keyed, Stream
from headrace.ops.time import event_time
from headrace.ops.union import Union

__all__ = [
    "Explode",
    "Filter",
    "Keyed",
    "OutputOf",
    "Program",
    "Project",
    "Sink",
    "Source",
    "Stream",
    "Union",
    "Watermark",
    "event_time",
]
