"""Delta tables, by the package deltalake: no Maven package is needed."""

from headrace.connectors.delta.lookup import Lookup
from headrace.connectors.delta.sink import Sink
from headrace.connectors.delta.source import Source

PORTS = 1

__all__ = ["PORTS", "Lookup", "Sink", "Source"]
