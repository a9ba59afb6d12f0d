"""Services over HTTP: rows are posted to them in batches, and looked up in them."""

from headrace.connectors.http import codes as codes
from headrace.connectors.http.lookup import JVM, Lookup
from headrace.connectors.http.sink import PACKAGES as FOR_SINK
from headrace.connectors.http.sink import Sink

PORTS = 1
PACKAGES = (*FOR_SINK, JVM)

__all__ = ["PACKAGES", "PORTS", "Lookup", "Sink"]
