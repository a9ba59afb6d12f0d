"""What core operators are in a query document, one file per operator.

A core operator registers `inlets`, `shape` and `lower` for its node; a stateless node has none, as it is steps of routes. A lookup keeps
nothing: it has `inlets` and `looked_up`.
"""

from headrace.spark.compile.lower import aggregate, asof, join, partition, program, rows, sessions, upserts
from headrace.spark.compile.lower.lookup import looked_up
from headrace.spark.compile.lower.operator import Inlet, Lowering, inlets, lower, shape

__all__ = [
    "Inlet",
    "Lowering",
    "aggregate",
    "asof",
    "inlets",
    "join",
    "looked_up",
    "lower",
    "partition",
    "program",
    "rows",
    "sessions",
    "shape",
    "upserts",
]
