"""Operators and lookups in a query document."""

from headrace.spark.compile.lower.lookup import looked_up
from headrace.spark.compile.lower.operator import Lowering
from headrace.spark.compile.lower.stateful import kept, kept_cell, lower, shape

__all__ = ["Lowering", "kept", "kept_cell", "looked_up", "lower", "shape"]
