"""What core operators are in a query document, one file per operator.

A core operator registers `lower(node, ...)` for its node; a stateless node has none, as it is steps of routes.
"""

from headrace.spark.lower import program
from headrace.spark.lower.operator import Lowering, lower, shape

__all__ = ["Lowering", "lower", "program", "shape"]
