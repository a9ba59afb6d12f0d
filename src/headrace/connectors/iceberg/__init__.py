"""Iceberg tables, by the package pyiceberg: no Maven package is needed."""

from headrace.connectors.iceberg.sink import Sink
from headrace.connectors.iceberg.source import Source

PORTS = 1

__all__ = ["PORTS", "Sink", "Source"]
